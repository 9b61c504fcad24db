import { type Clock, type Conn, relay } from "../../core/mod.ts";
import { controlClient, controlPlaces } from "../../control/mod.ts";
import { formatTarget, isPosternError, PosternError, type Target } from "../../words/mod.ts";
import { waitingHops, type World } from "../../world/mod.ts";

// `postern nc` runs for each ssh connection. This file and its imports are all that it loads when an instance runs.

/** The options of `postern nc`. */
export interface NcRequest {
  readonly target: Target;
  /** The id on the command line: without one, `nc` uses the default instance or the configuration. */
  readonly id: string | undefined;
  /** Time limit for connecting, in seconds. */
  readonly wait: number | undefined;
  /** How long to wait for the target after the end of the input, in seconds. */
  readonly quit: number | undefined;
  /** Whether to end after connecting. */
  readonly isProbe: boolean;
}

/**
 * Connects to the target through the running instance. Returns undefined if it is not running, or runs an older
 * postern that cannot do this.
 */
export async function streamOfInstance(
  world: World,
  { target, id = "default" }: Pick<NcRequest, "target" | "id">,
  { signal }: { readonly signal: AbortSignal },
): Promise<Conn | undefined> {
  for (const place of controlPlaces(world)) {
    let stream: Conn | PosternError | undefined;
    try {
      const client = await controlClient(world, place, { id });
      stream = await client?.stream(target, { hops: waitingHops(world), signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isPosternError(error, "refused") || place.isFormer) continue;
      throw error;
    }
    if (isPosternError(stream, "usage")) return undefined;
    if (stream instanceof PosternError) throw stream;
    if (stream) return stream;
  }
  return undefined;
}

/** How long to wait for a connection without `-w`, in seconds: longer than the limits of any instance in use. */
const mostWait = 120;

/** Runs `work` with a signal that aborts after the time limit of `-w`. */
export async function withPatience<T>(
  { target, wait }: Pick<NcRequest, "target" | "wait">,
  { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal },
  work: (options: { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const seconds = wait || mostWait;
  const late = clock.signalAfter(seconds * 1000);
  try {
    return await work({ signal: signal ? AbortSignal.any([signal, late]) : late });
  } catch (error) {
    if (!late.aborted || error !== late.reason) throw error;
    throw new PosternError("timeout", `Cannot reach ${formatTarget(target)}: no answer within ${seconds} s`, {
      hint: "raise the timeout: -w SECONDS",
    });
  }
}

/** Joins standard input and output with a connection until both have ended. Throws if the target fails. */
export async function relayStdio(
  { clock, terminal }: World,
  conn: Conn,
  { request: { quit, isProbe }, halfCloseLinger, signal }: {
    readonly request: Pick<NcRequest, "quit" | "isProbe">;
    readonly halfCloseLinger: number;
    readonly signal?: AbortSignal;
  },
): Promise<void> {
  if (isProbe) return await conn[Symbol.asyncDispose]();
  let hasQuit = false;
  let timer: Disposable | undefined;
  const inputEnded = () => {
    if (quit === undefined) return;
    timer = clock.after(quit * 1000, () => {
      hasQuit = true;
      conn.abort();
    });
  };
  const tally = { up: 0, down: 0 };
  const stdio = terminal.conn({ inputEnded });
  const { outcome, error } = await relay(stdio, conn, {
    clock,
    tally,
    halfCloseLinger,
    ...(signal && { signal }),
  });
  timer?.[Symbol.dispose]();
  if (hasQuit || outcome === "done") return;
  // A reader such as `head` closes our output when it has enough.
  if (outcome === "client_gone" && error instanceof PosternError && error.detail === "reset") return;
  // The instance closed the connection, or stopped: no signal interrupted us.
  if (isPosternError(error, "cancelled") && !signal?.aborted) {
    throw new PosternError("unreachable", `The connection ended: ${error.message}`, { cause: error });
  }
  throw error;
}
