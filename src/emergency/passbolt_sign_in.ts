import { percentDecoded } from "../core/mod.ts";
import { isMapping } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import { placeOf } from "../http/mod.ts";
import { shownText } from "../clusters/mod.ts";
import type { PassboltSession } from "./passbolt_session.ts";
import { encryptedFor, type PrivateKeys } from "./private_keys.ts";

export interface PassboltSignInOptions {
  readonly keys: PrivateKeys;
  /** The fingerprint of the server's key, which the server must prove; without it, this check is skipped. */
  readonly fingerprint?: string | undefined;
  readonly signal: AbortSignal;
}

/** The form of a challenge; postern decrypts nothing else for the server. */
const challenge = /^gpgauthv1\.3\.0\|36\|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\|gpgauthv1\.3\.0$/i;

/**
 * Signs in with an OpenPGP key (GPGAuth): the server encrypts a random challenge, and only the owner of the
 * key can return it. This method needs only the key; the JWT method also needs the user's id.
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
    throw failed(session, /no user/i.test(said) ? `no user has the key ${keyid}` : shownText(said));
  }
  const opened = await keys.open(unescaped(encrypted));
  if (!("text" in opened) || !challenge.test(opened.text)) {
    throw new PosternError(
      "protocol",
      `Cannot sign in to ${placeOf(session.url)}: its challenge is invalid`,
      {
        hint: "check emergency.passbolt.url",
      },
    );
  }
  const body = { data: { gpg_auth: { keyid, user_token_result: opened.text } } };
  const answered = await session.ask("POST", path, { body, signal });
  if (answered.http.fields.get("x-gpgauth-progress") !== "complete") {
    throw failed(session, shownText(answered.message));
  }
}

/** Makes the server prove that it has its key (stage 0), which an impostor at the same address cannot. */
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
    throw failed(session, "its key does not match emergency.passbolt.fingerprint");
  }
  const asked = { data: { gpg_auth: { keyid: keys.fingerprint, server_verify_token: encrypted.message } } };
  const answer = await session.ask("POST", path, { body: asked, signal });
  if (answer.http.fields.get("x-gpgauth-verify-response") !== token) {
    throw failed(session, "it does not have the private key for emergency.passbolt.fingerprint");
  }
}

/** Reverses PHP's `quotemeta(urlencode(…))`. */
function unescaped(field: string): string {
  const text = field.replaceAll("\\", "").replaceAll("+", " ");
  // An invalid encoding is not an OpenPGP message, which the caller reports.
  return percentDecoded(text) ?? text;
}

function failed(session: PassboltSession, why: string): PosternError {
  return new PosternError("auth", `Cannot sign in to ${placeOf(session.url)}: ${why}`, {
    hint: "use the private key that you registered in your Passbolt",
  });
}
