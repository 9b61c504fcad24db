import { directoryOf, type World } from "../world/mod.ts";
import { isPosternError, PosternError } from "../words/mod.ts";
import { within } from "../core/mod.ts";
import {
  delegatesSince,
  type DnsDelegation,
  dnsDirectories,
  dnsMark,
  type DnsSystemFile,
  dnsSystemFiles,
  readDnsSystemFile,
} from "./dns_system.ts";

/** What a change of the system's files did, a line each. */
export interface DnsChange {
  readonly written: readonly string[];
  readonly removed: readonly string[];
}

/** Stands in the files of a directory that was made for them, and that goes with the last of them. */
const madeLine = "# Its directory was made for it.";

/** The names of what `Files.replace` had no time to finish. */
const halfWritten = /\.[0-9a-f]{8}\.tmp$/;

/** Files of ours that are in force: `dns --apply` wrote them, or was killed meanwhile. */
export async function appliedDnsFiles(
  { files, places }: Pick<World, "files" | "places">,
): Promise<DnsSystemFile[]> {
  const found: DnsSystemFile[] = [];
  for (const directory of Object.values(dnsDirectories)) {
    const path = `${places.system ?? ""}${directory}`;
    if (!await files.info(path)) continue;
    for (const name of await files.list(path)) {
      const content = await files.readTextIfThere(`${path}/${name}`, { limit: 1_000_000 }).catch((error) => {
        // Others may keep there what is not for us to read.
        if (isPosternError(error, "not_allowed") || isPosternError(error, "config")) return undefined;
        throw error;
      });
      const isHalf = content !== undefined && halfWritten.test(name) && dnsMark.startsWith(content);
      if (isHalf || content?.startsWith(dnsMark)) found.push({ path: `${directory}/${name}`, content });
    }
  }
  return found;
}

/** What the files in force ask for; undefined without any. */
export function appliedDelegation(files: readonly DnsSystemFile[]): DnsDelegation | undefined {
  const whole = files.filter(({ path }) => !halfWritten.test(path));
  const delegations = whole.flatMap((file) => readDnsSystemFile(file) ?? []);
  const [first] = delegations;
  return first && { server: first.server, domains: delegations.flatMap(({ domains }) => domains) };
}

/** Has the system ask us for names. What was in force before and is not wanted any more goes. */
export async function applyDns(
  world: World,
  delegation: DnsDelegation,
  { signal }: { signal: AbortSignal },
): Promise<DnsChange> {
  const { files, process } = world;
  if (process.platform === "windows") {
    throw new PosternError("usage", "Cannot apply rules of NRPT: postern only prints them", {
      hint: "run as administrator what this prints: postern dns --print nrpt",
    });
  }
  const before = await appliedDnsFiles(world);
  const wanted = process.platform === "darwin"
    ? dnsSystemFiles("macos", delegation)
    : dnsSystemFiles("systemd-resolved", delegation, { version: await usedVersion(world, before, signal) });
  await demandOurs(world, wanted);
  const made = madeDirectories(before);
  const written: string[] = [];
  for (const { path, content } of wanted) {
    const directory = directoryOf(path);
    const isMade = await world.files.publicDirectory(inSystem(world, directory)) || made.has(directory);
    if (isMade) made.add(directory);
    const text = isMade ? content.replace(dnsMark, `${dnsMark}\n${madeLine}`) : content;
    if (before.some((file) => file.path === path && file.content === text)) continue;
    await files.replace(inSystem(world, path), text, { mode: 0o644 });
    written.push(path);
  }
  const removed = await removeFiles(
    world,
    before.filter(({ path }) => !wanted.some((file) => file.path === path)),
  );
  if (written.length > 0 || removed.length > 0) await tellResolved(world, [...written, ...removed], signal);
  return { written, removed };
}

/** Takes away what `applyDns` has written, all of it and nothing else. */
export async function undoDns(world: World, { signal }: { signal: AbortSignal }): Promise<DnsChange> {
  const removed = await removeFiles(world, await appliedDnsFiles(world));
  if (removed.length > 0) await tellResolved(world, removed, signal);
  return { written: [], removed };
}

/** Somebody may have a file of that name. */
async function demandOurs(world: World, wanted: readonly DnsSystemFile[]): Promise<void> {
  for (const { path } of wanted) {
    const text = await world.files.readTextIfThere(inSystem(world, path), { limit: 1_000_000 });
    if (text === undefined || text.startsWith(dnsMark)) continue;
    throw new PosternError("config", `Cannot write "${path}": it is there, and postern has not written it`, {
      exit: 1,
      hint: "look what it is for, and move it away",
    });
  }
}

function madeDirectories(files: readonly DnsSystemFile[]): Set<string> {
  return new Set(
    files.filter(({ content }) => content.includes(madeLine)).map(({ path }) => directoryOf(path)),
  );
}

async function removeFiles(world: World, found: readonly DnsSystemFile[]): Promise<string[]> {
  const { files } = world;
  for (const { path } of found) await files.remove(inSystem(world, path));
  for (const directory of madeDirectories(found)) {
    const path = inSystem(world, directory);
    if (await files.info(path) && (await files.list(path)).length === 0) await files.remove(path);
  }
  return found.map(({ path }) => path);
}

/** How long systemctl may take to restart systemd-resolved, and to say its version, in ms. */
const restartsWithin = 60_000;
const saysWithin = 5000;

/** systemd-resolved reads its files at its start. */
async function tellResolved(
  { process, places, clock }: World,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  if (places.system !== undefined || !paths.some((path) => path.startsWith("/etc/systemd/"))) return;
  const command = ["systemctl", "try-reload-or-restart", "systemd-resolved.service"];
  const failure = (why: string, cause?: unknown) =>
    new PosternError("internal", `Cannot have systemd-resolved read its files: ${why}`, {
      cause,
      hint: `the files are as they should be; run: ${command.join(" ")}`,
    });
  let result: { readonly code: number; readonly stderr: string };
  try {
    const error = () => failure(`no end within ${restartsWithin / 1000} s`);
    result = await within(
      { clock, ms: restartsWithin, signal, error },
      (signal) => process.run(command, { signal }),
    );
  } catch (error) {
    if (signal.aborted || isPosternError(error, "internal")) throw error;
    throw failure("systemctl cannot be run", error);
  }
  if (result.code !== 0) {
    throw failure(result.stderr.trim().slice(0, 300) || `systemctl ended with ${result.code}`);
  }
}

/** A door that may not start systemctl goes by what is there. */
async function usedVersion(
  world: World,
  before: readonly DnsSystemFile[],
  signal: AbortSignal,
): Promise<number> {
  const version = await systemdVersion(world, signal);
  const hasDelegate = before.some(({ path }) => path.startsWith(dnsDirectories.delegates));
  return version === 0 && hasDelegate ? delegatesSince : version;
}

/** The version of systemd; 0 where it cannot be told. */
export async function systemdVersion(
  { process, clock }: Pick<World, "process" | "clock">,
  signal: AbortSignal,
): Promise<number> {
  const error = () => new PosternError("timeout", "Cannot tell the version of systemd: no answer in time");
  try {
    const { stdout } = await within(
      { clock, ms: saysWithin, signal, error },
      (signal) => process.run(["systemctl", "--version"], { signal }),
    );
    return Number(/^systemd ([0-9]+)/.exec(stdout)?.[1] ?? 0);
  } catch (error) {
    if (signal.aborted) throw error;
    // A machine without systemctl has its version told by nobody; the older files work with every version.
    return 0;
  }
}

function inSystem({ places }: Pick<World, "places">, path: string): string {
  return `${places.system ?? ""}${path}`;
}
