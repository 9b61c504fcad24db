import { type Conn, hexText, sha256, within } from "../../core/mod.ts";
import { PosternError, targetOf, withContext } from "../../words/mod.ts";
import type { Dialer, SecureOptions, ShownCertificate, World } from "../../world/mod.ts";

export interface FirstUseParts {
  readonly world: Pick<World, "clock" | "files" | "network" | "places">;
  /** Connects to API servers. */
  readonly dial: Dialer;
}

/** A certificate authority that postern now trusts for an API server. */
export interface LearntAuthority {
  readonly pem: string;
  /** SHA-256 of the certificate, as `openssl x509 -fingerprint -sha256` prints it. */
  readonly fingerprint: string;
}

/** Timeout of the TLS handshake with an API server, in ms. */
const limit = 15_000;

/** The certificate authority that an API server had on first use, in PEM, if the user chose to trust it. */
export async function trustedAuthority(
  { files, places }: Pick<World, "files" | "places">,
  api: URL,
): Promise<string | undefined> {
  return await files.readTextIfThere(pathOf(places.state, api), { limit: 100_000 });
}

/**
 * Fetches the certificate authority of an API server and trusts it on this first use; later connections
 * require the same one. Undefined if the system trusts the server's certificate, so that nothing needs to be
 * stored.
 */
export async function learnAuthority(
  api: URL,
  parts: FirstUseParts,
  { signal }: { signal: AbortSignal },
): Promise<LearntAuthority | undefined> {
  const { clock } = parts.world;
  const error = () =>
    new PosternError(
      "timeout",
      `Cannot get the certificate of ${api.host}: no answer within ${limit / 1000} s`,
    );
  return await within({ clock, ms: limit, signal, error }, (signal) => learn(api, parts, signal));
}

async function learn(
  api: URL,
  { world, dial }: FirstUseParts,
  signal: AbortSignal,
): Promise<LearntAuthority | undefined> {
  const { files, places } = world;
  const shake = (options: Partial<SecureOptions>) => shakeHands(api, { dial, world, options }, signal);
  const path = pathOf(places.state, api);
  const former = await trustedAuthority(world, api);
  if (former !== undefined) {
    try {
      await shake({ trust: "ca", ca: former });
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      throw changed(error, api, path);
    }
  }
  if (await isTrusted(() => shake({}), signal)) return undefined;
  let chain: readonly ShownCertificate[] = [];
  await shake({ trust: "any", onChain: (shown) => chain = shown });
  const top = chain.at(-1);
  if (!top?.isAuthority) {
    throw new PosternError(
      "auth",
      `Cannot identify the certificate authority of ${api.host}: the server does not send its certificate`,
      {
        hint: "add the certificate authority to the facts of the cluster",
      },
    );
  }
  // The server name and every signature must be valid under this authority.
  await shake({ trust: "ca", ca: top.pem });
  await files.privateDirectory(places.state);
  await files.privateDirectory(directoryIn(places.state));
  await files.replace(path, top.pem);
  return { pem: top.pem, fingerprint: await fingerprintOf(top.pem) };
}

async function isTrusted(shake: () => Promise<void>, signal: AbortSignal): Promise<boolean> {
  try {
    await shake();
    return true;
  } catch (error) {
    signal.throwIfAborted();
    // An untrusted certificate is the expected case; an unreachable server is an error.
    if (error instanceof PosternError && error.code === "auth") return false;
    throw error;
  }
}

async function shakeHands(
  api: URL,
  { world, dial, options }: FirstUseParts & { readonly options: Partial<SecureOptions> },
  signal: AbortSignal,
): Promise<void> {
  const target = targetOf(api);
  const conn: Conn = await dial(target, { signal });
  await using _secured = await world.network.secure(conn, { serverName: target.host, ...options, signal });
}

function changed(cause: unknown, api: URL, path: string): unknown {
  if (!(cause instanceof PosternError) || cause.code !== "auth") return cause;
  const what = `Cannot trust ${api.host}: its certificate authority differs from the one on first use`;
  return withContext(what, cause, {
    hint: `if this change is expected, remove "${path}"`,
  });
}

/** A file name that a user can recognize and remove. */
function pathOf(state: string, { hostname, port }: URL): string {
  return `${directoryIn(state)}/${hostname.replaceAll(/[^a-z0-9.-]/g, "_")}_${port || "443"}.pem`;
}

function directoryIn(state: string): string {
  return `${state}/first-use`;
}

async function fingerprintOf(pem: string): Promise<string> {
  const der = Uint8Array.from(
    atob(pem.replaceAll(/-----[A-Z ]+-----|\s/g, "")),
    (char) => char.charCodeAt(0),
  );
  return (hexText(await sha256(der)).toUpperCase().match(/../g) ?? []).join(":");
}
