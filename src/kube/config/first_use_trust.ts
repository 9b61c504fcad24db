import { type Conn, hexText, sha256, within } from "../../core/mod.ts";
import { PosternError, targetOf, withContext } from "../../words/mod.ts";
import type { Dialer, SecureOptions, ShownCertificate, World } from "../../world/mod.ts";

export interface FirstUseParts {
  readonly world: Pick<World, "clock" | "files" | "network" | "places">;
  /** How API servers are reached. */
  readonly dial: Dialer;
}

/** An authority that has just been taken for the one of an API server. */
export interface LearntAuthority {
  readonly pem: string;
  /** Of the certificate, as `openssl x509 -fingerprint -sha256` shows it. */
  readonly fingerprint: string;
}

/** How long an API server may take to show its certificates, in ms. */
const limit = 15_000;

/** The authority that an API server had when it was first used, as its owner wanted it; PEM. */
export async function trustedAuthority(
  { files, places }: Pick<World, "files" | "places">,
  api: URL,
): Promise<string | undefined> {
  return await files.readTextIfThere(pathOf(places.state, api), { limit: 100_000 });
}

/**
 * Asks an API server which authority has signed its certificate, and takes its word for it this once: from then on it
 * has to be that one. Undefined where the system trusts it anyhow, and nothing has to be remembered.
 */
export async function learnAuthority(
  api: URL,
  parts: FirstUseParts,
  { signal }: { signal: AbortSignal },
): Promise<LearntAuthority | undefined> {
  const { clock } = parts.world;
  const error = () =>
    new PosternError("timeout", `Cannot see the certificate of ${api.host}: none within ${limit / 1000} s`);
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
      `Cannot tell who has signed the certificate of ${api.host}: it does not show it`,
      {
        hint: "have its authority written into the facts of the cluster",
      },
    );
  }
  // Its name has to be right, and everything signed as it should be.
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
    // A certificate that is not trusted is what this is about; a server that cannot be reached is not.
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
  const what =
    `Cannot trust ${api.host}: it is not signed by the authority that it had when it was first used`;
  return withContext(what, cause, {
    hint: `where that is as it should be, forget the former one: remove "${path}"`,
  });
}

/** A name that a person can read and remove. */
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
