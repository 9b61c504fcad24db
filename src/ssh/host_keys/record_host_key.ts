import { type Clock, pause } from "../../core/mod.ts";
import type { Files } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { formatKnownHost } from "./known_hosts.ts";
import { isPlainKnownHost } from "./known_host_names.ts";
import type { SshPublicKey } from "../keys/ssh_keys.ts";
import { loadHmacSha1 } from "./known_hosts_files.ts";

export interface RecordHostKeyOptions {
  readonly path: string;
  readonly name: string;
  readonly key: SshPublicKey;
  /** The value of HashKnownHosts. */
  readonly hashes: boolean;
  readonly files: Files;
  readonly clock: Clock;
  /** Called under the lock: another session may have recorded a key of this host meanwhile. */
  readonly isStillNew: () => Promise<boolean>;
}

/**
 * Appends a line to a known_hosts file with one write, under a lock; returns false if the host is already in
 * the file.
 */
export async function recordHostKey(
  options: RecordHostKeyOptions,
  { signal }: { signal: AbortSignal },
): Promise<boolean> {
  const { path, files, isStillNew } = options;
  await makeDirectory(path, files);
  using _lock = await locked(options, { signal });
  if (!await isStillNew()) return false;
  const line = await lineFor(options);
  // An editor may have left the last line without a newline.
  const needsEnd = await endsInside(path, files);
  using file = await files.append(path);
  await file.write(needsEnd ? `\n${line}` : line);
  return true;
}

async function lineFor({ name, key, hashes }: RecordHostKeyOptions): Promise<string> {
  // A plain alias such as "*" would trust the key for every host; a hashed one matches itself only.
  if (!hashes && isPlainKnownHost(name)) return formatKnownHost({ name, key });
  const salt = crypto.getRandomValues(new Uint8Array(20));
  return formatKnownHost({ name, key, hash: { salt, hmacSha1: await loadHmacSha1() } });
}

/** Creates the directory; keeps the mode of an existing one. */
async function makeDirectory(path: string, files: Files): Promise<void> {
  const cut = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  const directory = path.slice(0, cut);
  if (cut > 0 && !await files.info(directory)) await files.privateDirectory(directory);
}

/** Locks the file itself, and creates it with private permissions; no separate lock file stays behind. */
async function locked(
  { path, files, clock }: RecordHostKeyOptions,
  { signal }: { signal: AbortSignal },
): Promise<Disposable> {
  const end = clock.now() + patience;
  while (true) {
    const lock = await files.lock(path, { isTheirs: true });
    if (lock) return lock;
    if (clock.now() >= end) {
      throw new PosternError("timeout", `Cannot lock "${path}": another program has held the lock for 2 s`);
    }
    await pause(clock, 50, { signal });
  }
}

const patience = 2000;

async function endsInside(path: string, files: Files): Promise<boolean> {
  const size = (await files.info(path))?.size ?? 0;
  if (size === 0) return false;
  const [last] = await files.readFrom(path, size - 1, 1);
  return last !== 10;
}
