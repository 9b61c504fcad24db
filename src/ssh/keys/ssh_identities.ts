import { type Clock, isSameBytes } from "../../core/mod.ts";
import { describe, PosternError } from "../../words/mod.ts";
import type { Files, Network } from "../../world/mod.ts";
import { rsaSizeProblem } from "./rsa_size.ts";
import { SshAgent } from "./ssh_agent.ts";
import { blobType, isCertificateType, keyOfCertificate, readPublicLine } from "./ssh_certificate.ts";
import type { SshHost } from "../config/ssh_host.ts";
import type { UnlockedKeys } from "./unlocked_keys.ts";
import { inspectPrivateKey, openPrivateKey, type PrivateKey } from "./ssh_private_key.ts";

/** A key for signing in. */
export interface Identity {
  /** The key's origin, for messages. */
  readonly label: string;
  /** The public key or certificate; absent when only the passphrase reveals it. */
  readonly blob?: Uint8Array<ArrayBuffer> | undefined;
  /** Set for a file that needs its passphrase before it can sign. */
  readonly lock?: Lock;
  /** Signs, in ssh's format. `algorithm` is the one of the plain key, also for a certificate. */
  sign(
    data: Uint8Array,
    options: { algorithm: string; signal: AbortSignal },
  ): Promise<Uint8Array<ArrayBuffer>>;
}

/** An encrypted key. */
export interface Lock {
  readonly path: string;
  /** The opened key, if it was opened meanwhile. */
  opened(): Identity | undefined;
  /** Opens the key; rejects with `auth` for a wrong passphrase. */
  open(passphrase: string): Promise<Identity>;
}

/** The keys of a host in the order to offer them, and the problems found. */
export interface Identities {
  readonly all: readonly Identity[];
  /** Messages about an agent or files that could not be used. */
  readonly notes: readonly string[];
}

export interface IdentitiesDeps {
  readonly network: Pick<Network, "connect">;
  readonly clock: Clock;
  readonly files: Pick<Files, "readTextIfThere">;
  /** Absent when each sign-in asks for passphrases again. */
  readonly unlocked?: UnlockedKeys;
}

/**
 * Collects keys in OpenSSH's order: agent keys that the configuration names, other agent keys (unless
 * IdentitiesOnly), then files whose key is in no agent. Likely keys come first because a server limits the
 * offers.
 */
export async function collectIdentities(
  host: SshHost,
  deps: IdentitiesDeps,
  { signal }: { readonly signal: AbortSignal },
): Promise<Identities> {
  const notes: string[] = [];
  const note = (error: unknown) => void notes.push(describe(error));
  const [agentKeys, files] = await Promise.all([
    agentIdentities(host, deps, signal).catch((error) => {
      signal.throwIfAborted();
      note(error);
      return [];
    }),
    fileIdentities(host, deps, note),
  ]);
  const certificates = await readCertificates(host, deps, note);
  const isFile = (key: Identity) => files.some((file) => isSame(file, key));
  const named = files.flatMap((file) => agentKeys.filter((key) => isSame(key, file)));
  const others = host.identitiesOnly ? [] : agentKeys.filter((key) => !isFile(key));
  const rest = files.filter((file) => !agentKeys.some((key) => isSame(key, file)));
  const all = [...named, ...others, ...rest].filter(({ blob, label }) => {
    const problem = blob && rsaSizeProblem(blob, host);
    if (problem !== undefined) notes.push(`Cannot use ${label}: ${problem}`);
    return problem === undefined;
  });
  return { all: all.flatMap((key) => [...certified(key, certificates), key]), notes };
}

async function agentIdentities(
  host: SshHost,
  deps: IdentitiesDeps,
  signal: AbortSignal,
): Promise<Identity[]> {
  if (host.identityAgent === undefined) return [];
  const agent = new SshAgent(host.identityAgent, deps);
  const keys = await agent.keys({ signal });
  return keys.map(({ blob, comment }) => ({
    label: `${comment || "a key"} of the agent`,
    blob,
    sign: (data, { algorithm, signal }) => agent.sign(blob, data, { algorithm, signal }),
  }));
}

async function fileIdentities(
  host: SshHost,
  { files, unlocked }: IdentitiesDeps,
  note: (error: unknown) => void,
): Promise<Identity[]> {
  const found = await Promise.all(host.identityFiles.map(async (path): Promise<Identity | undefined> => {
    const text = await readKey(path, files, note);
    const publicText = await readKey(`${path}.pub`, files, note);
    const inspected = text === undefined ? undefined : inspectPrivateKey(text);
    // If IdentityFile names a public key, it only selects that key in the agent.
    const publicBlob = readPublicLine(publicText ?? "") ?? readPublicLine(text ?? "");
    if (!inspected || text === undefined) {
      if (text !== undefined && !readPublicLine(text)) {
        note(new Error(`${path} holds no key of a known kind`));
      }
      return publicBlob && { label: path, blob: publicBlob, sign: () => cannotSign(path) };
    }
    const before = unlocked?.of(text);
    if (before) return withoutLock(before, path);
    if (!inspected.isEncrypted) {
      const key = await openPrivateKey(text, { path }).catch((error) => void note(error));
      return key && withoutLock(key, path);
    }
    const blob = inspected.blob ?? publicBlob;
    const lock: Lock = {
      path,
      opened() {
        const key = unlocked?.of(text);
        return key && withoutLock(key, path);
      },
      async open(passphrase) {
        const key = await openPrivateKey(text, { path, passphrase });
        const problem = rsaSizeProblem(key.blob, host);
        if (problem !== undefined) {
          throw new PosternError("auth", `Cannot use ${path}: ${problem}`, {
            hint: "create a longer key, or an ed25519 key: ssh-keygen -t ed25519",
          });
        }
        unlocked?.keep(text, key);
        return withoutLock(key, path);
      },
    };
    return { label: path, blob, lock, sign: () => cannotSign(path) };
  }));
  return found.filter((identity) => identity !== undefined);
}

function withoutLock({ blob, sign }: PrivateKey, path: string): Identity {
  return { label: path, blob, sign: (data, { algorithm }) => Promise.try(() => sign(data, algorithm)) };
}

function cannotSign(path: string): Promise<never> {
  return Promise.reject(new Error(`${path} has a passphrase, and no agent holds it`));
}

async function readKey(
  path: string,
  files: IdentitiesDeps["files"],
  note: (error: unknown) => void,
): Promise<string | undefined> {
  try {
    return await files.readTextIfThere(path, { limit: mostBytes });
  } catch (error) {
    note(error);
    return undefined;
  }
}

async function readCertificates(
  host: SshHost,
  { files }: IdentitiesDeps,
  note: (error: unknown) => void,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const paths = [...host.certificateFiles, ...host.identityFiles.map((path) => `${path}-cert.pub`)];
  const texts = await Promise.all(paths.map((path) => readKey(path, files, note)));
  const blobs = texts.map((text) => readPublicLine(text ?? ""));
  return blobs.filter((blob) => blob !== undefined && isCertificateType(blobType(blob) ?? ""))
    .filter((blob) => blob !== undefined);
}

/** Returns the certificates of a key as identities that sign with the key. */
function certified(key: Identity, certificates: readonly Uint8Array<ArrayBuffer>[]): Identity[] {
  return certificates.filter((certificate) => {
    const inside = keyOfCertificate(certificate);
    return inside && key.blob && isSameBytes(inside, key.blob);
  }).map((blob) => withCertificate(key, blob));
}

function withCertificate(key: Identity, blob: Uint8Array<ArrayBuffer>): Identity {
  const { lock } = key;
  const certified = (key: Identity): Identity => ({ ...key, label: `the certificate of ${key.label}`, blob });
  if (!lock) return certified(key);
  return {
    ...certified(key),
    lock: {
      path: lock.path,
      opened() {
        const key = lock.opened();
        return key && certified(key);
      },
      open: async (passphrase) => certified(await lock.open(passphrase)),
    },
  };
}

function isSame(a: Identity, b: Identity): boolean {
  return a.blob !== undefined && b.blob !== undefined && isSameBytes(a.blob, b.blob);
}

const mostBytes = 64 * 1024;
