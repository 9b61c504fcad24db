import { percentDecoded } from "../core/mod.ts";
import { isMapping } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import { placeOf } from "../http/mod.ts";
import { shownText } from "../clusters/mod.ts";
import type { PassboltSession } from "./passbolt_session.ts";
import { encryptedFor, type PrivateKeys } from "./private_keys.ts";

export interface PassboltSignInOptions {
  readonly keys: PrivateKeys;
  /** The server's own key, which it has to prove; it is not asked where it is not known. */
  readonly fingerprint?: string | undefined;
  readonly signal: AbortSignal;
}

/** What is encrypted on both sides; anything else is not decrypted for anybody. */
const challenge = /^gpgauthv1\.3\.0\|36\|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\|gpgauthv1\.3\.0$/i;

/**
 * Signs in with an OpenPGP key (GPGAuth): the server encrypts something for the key, and whoever can say what it was is
 * its owner. This way needs the key alone; that with tokens (JWT) wants the id of the user besides.
 */
export async function signInToPassbolt(
  session: PassboltSession,
  { keys, fingerprint, signal }: PassboltSignInOptions,
): Promise<void> {
  if (fingerprint !== undefined) await verifyServer(session, { keys, fingerprint, signal });
  const path = "/auth/login.json";
  const keyid = keys.fingerprint;
  const asked = await session.ask("POST", path, { body: { data: { gpg_auth: { keyid } } }, signal });
  const encrypted = asked.http.fields.get("x-gpgauth-user-auth-token");
  if (encrypted === undefined) {
    const said = asked.http.fields.get("x-gpgauth-debug") ?? asked.message;
    throw failed(session, /no user/i.test(said) ? `it knows nobody with the key ${keyid}` : shownText(said));
  }
  const opened = await keys.open(unescaped(encrypted));
  if (!("text" in opened) || !challenge.test(opened.text)) {
    throw new PosternError("protocol", `Cannot sign in to ${placeOf(session.url)}: its challenge is none`, {
      hint: "check emergency.passbolt.url",
    });
  }
  const body = { data: { gpg_auth: { keyid, user_token_result: opened.text } } };
  const answered = await session.ask("POST", path, { body, signal });
  if (answered.http.fields.get("x-gpgauth-progress") !== "complete") {
    throw failed(session, shownText(answered.message));
  }
}

/** Lets the server prove that it has its key (stage 0): a seized name has not. */
async function verifyServer(
  session: PassboltSession,
  { keys, fingerprint, signal }: Required<PassboltSignInOptions> & { readonly fingerprint: string },
): Promise<void> {
  const path = "/auth/verify.json";
  const { body } = await session.ask("GET", path, { signal });
  const key = isMapping(body) && typeof body.keydata === "string" ? body.keydata : "";
  const token = `gpgauthv1.3.0|36|${crypto.randomUUID()}|gpgauthv1.3.0`;
  const encrypted = await encryptedFor(key, token);
  if (encrypted?.fingerprint !== fingerprint.toUpperCase()) {
    throw failed(session, "its key is not the one of emergency.passbolt.fingerprint");
  }
  const asked = { data: { gpg_auth: { keyid: keys.fingerprint, server_verify_token: encrypted.message } } };
  const answer = await session.ask("POST", path, { body: asked, signal });
  if (answer.http.fields.get("x-gpgauth-verify-response") !== token) {
    throw failed(session, "it cannot prove that it has the key of emergency.passbolt.fingerprint");
  }
}

/** As PHP's `quotemeta(urlencode(…))` has written it. */
function unescaped(field: string): string {
  const text = field.replaceAll("\\", "").replaceAll("+", " ");
  // What encodes nothing will turn out to be no message.
  return percentDecoded(text) ?? text;
}

function failed(session: PassboltSession, why: string): PosternError {
  return new PosternError("auth", `Cannot sign in to ${placeOf(session.url)}: ${why}`, {
    hint: "the private key has to be the one that your Passbolt knows you by",
  });
}
