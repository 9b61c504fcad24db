import { jsonIn } from "../core/mod.ts";
import { isMapping } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import { sha256Hex } from "./aws_signature.ts";

/** Maximum number of messages in an object: one for each person on duty. */
const mostSecrets = 5000;

/** The name of the object with a cluster's emergency credentials. */
export async function emergencyObjectName(clusterId: string): Promise<string> {
  return `em-${await sha256Hex(clusterId)}`;
}

/**
 * The OpenPGP messages of an object: `{ "secrets": [{ "data": "-----BEGIN PGP MESSAGE-----…" }] }`. `from`
 * names the object in messages.
 */
export function readSecrets(bytes: Uint8Array, { from }: { from: string }): readonly string[] {
  const value = valueIn(bytes, from);
  const secrets = isMapping(value) ? value.secrets : undefined;
  if (!Array.isArray(secrets)) throw damaged(from, "it has no list of secrets");
  if (secrets.length > mostSecrets) throw damaged(from, `it has more than ${mostSecrets} secrets`);
  const messages = secrets.flatMap((secret: unknown) => {
    const data = isMapping(secret) ? secret.data : undefined;
    return typeof data === "string" && data.trim() !== "" ? [data] : [];
  });
  if (messages.length === 0) throw damaged(from, "it has no secret with data");
  return messages;
}

function valueIn(bytes: Uint8Array, from: string): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw damaged(from, "it is not text");
  }
  const value = jsonIn(text);
  if (value !== undefined) return value;
  const what = /^\s*</.test(text) ? "a web page" : text.trim() === "" ? "empty" : "incomplete or not JSON";
  throw damaged(from, `it is ${what}`);
}

function damaged(from: string, why: string): PosternError {
  return new PosternError("protocol", `Cannot read the emergency credentials in ${from}: ${why}`, {
    hint: "ask the cluster's administrator to write them again",
  });
}
