import { describe, PosternError } from "../words/mod.ts";
import { directoryOf, type World } from "../world/mod.ts";
import { pause, within } from "../core/mod.ts";
import { clustersOf } from "./clusters_of_status.ts";
import { checkedId, connectInstance, isUntrusted, logFile } from "./instance_lock.ts";
import { keptKubeconfigs } from "../plan/mod.ts";

export interface BackgroundInstanceOptions {
  readonly id: string;
  /** The command line of the instance in the foreground, from `proxy` on. */
  readonly arguments: readonly string[];
}

export interface BackgroundStarted {
  readonly id: string;
  readonly pid: number;
  readonly addresses: readonly string[];
  /** The clusters that its transports reach: `context lab of FILE`. */
  readonly clusters: readonly string[];
  readonly log: string;
}

const patience = 30_000;
/** How many bytes of a failed instance's log to read. */
const mostSaid = 256 * 1024;

/**
 * Starts an instance in the background and resolves when it is ready. On failure, ends it and throws its
 * error.
 */
export async function startInBackground(
  world: World,
  { id, arguments: args }: BackgroundInstanceOptions,
  { signal }: { signal: AbortSignal },
): Promise<BackgroundStarted> {
  checkedId(id);
  const log = logFile(world, id);
  await world.files.privateDirectory(directoryOf(log));
  const before = (await world.files.info(log))?.size ?? 0;
  const ending = new AbortController();
  const kubeconfigs = keptKubeconfigs(world);
  const started = await world.process.background([...world.process.self, ...args, `--log-file=${log}`], {
    log,
    signal: ending.signal,
    ...(kubeconfigs !== undefined && { env: { KUBECONFIG: kubeconfigs } }),
  });
  const ended = started.ended.then((code) => ({ code }));
  try {
    const reached = await within({
      clock: world.clock,
      ms: patience,
      signal,
      error: () =>
        new PosternError("timeout", `Cannot start "${id}": it was not ready within ${patience / 1000} s`, {
          hint: `postern stopped it; check its log: ${log}`,
        }),
    }, (signal) => readyAddresses(world, id, { pid: started.pid, ended, signal }));
    if ("code" in reached) throw await failure(world, { id, log, before, code: reached.code });
    return { id, pid: started.pid, ...reached, log };
  } catch (error) {
    // An instance that becomes ready later would surprise the user.
    ending.abort(error);
    await started.ended;
    throw error;
  } finally {
    started.release();
  }
}

async function readyAddresses(
  world: World,
  id: string,
  { pid, ended, signal }: { pid: number; ended: Promise<{ code: number }>; signal: AbortSignal },
): Promise<Pick<BackgroundStarted, "addresses" | "clusters"> | { code: number }> {
  while (true) {
    const end = await Promise.race([ended, pause(world.clock, 25, { signal })]);
    if (end) return end;
    try {
      const client = await connectInstance(world, id, { signal });
      const status = await client.status({ signal });
      const { state, listeners, pid: answering } = status;
      // Another instance may hold the id: ours will end and report that.
      if (state === "ready" && answering === pid) {
        const addresses = listeners.filter(({ kind }) => kind !== "admin")
          .map(({ kind, address }) => kind === "dns" || kind === "forward" ? `${kind}:${address}` : address);
        return { addresses, clusters: clustersOf(status) };
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (!(error instanceof PosternError) || isUntrusted(error)) throw error;
    }
  }
}

/** The error that the instance logged before it ended. */
async function failure(
  world: World,
  { id, log, before, code }: { id: string; log: string; before: number; code: number },
): Promise<PosternError> {
  const said = await world.files.readFrom(log, before, mostSaid).then(
    (bytes) => new TextDecoder().decode(bytes),
    (error) => describe(error),
  );
  const lines = said.trim().split("\n");
  const at = lines.findLastIndex((line) => line.startsWith("postern: error: "));
  // A running instance with the same id writes to the same log.
  const end = at < 0
    ? -1
    : lines.findIndex((line, index) => index > at && line.startsWith("postern: hint: "));
  const sentence = at < 0
    ? lines.slice(-3).join("\n")
    : lines.slice(at, end < 0 ? undefined : end).join("\n").replace("postern: error: ", "");
  const hint = lines[end]?.replace("postern: hint: ", "");
  return new PosternError("internal", sentence || `Cannot start "${id}": it ended with exit code ${code}`, {
    exit: code === 0 ? 1 : code,
    hint: hint ?? `check its log: ${log}`,
  });
}
