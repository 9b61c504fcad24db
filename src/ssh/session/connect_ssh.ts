import { type Conn, type DialOptions, type Log, whenAborted } from "../../core/mod.ts";
import {
  formatTarget,
  isOfTarget,
  isPosternError,
  pathFailure,
  PosternError,
  type Target,
} from "../../words/mod.ts";
import type { OpenSshSessionDeps } from "./open_ssh_session.ts";
import { SshDeadline } from "./ssh_deadline.ts";
import type { SshHost } from "../config/ssh_host.ts";
import { sshLabel } from "../ssh_label.ts";
import type { SshSession } from "./ssh_session.ts";

export interface SshHopDeps extends OpenSshSessionDeps {
  readonly log: Log;
  /** Timeout in milliseconds for connecting and signing in, unless the host's configuration sets one. */
  readonly connectTimeout: number;
}

/** How to connect to a host: from the hop before it, or as the transport connects. */
export interface SshReach {
  readonly host: SshHost;
  readonly below:
    | {
      ready(options: DialOptions): Promise<void>;
      dial(target: Target, options: DialOptions): Promise<Conn>;
    }
    | undefined;
  readonly reach: (options: DialOptions) => Promise<Conn>;
  readonly deps: SshHopDeps;
}

/** Connects and signs in within ConnectTimeout, not counting the time of the hops before it. */
export async function connectSsh(reach: SshReach, { signal, onStep }: DialOptions): Promise<SshSession> {
  await reach.below?.ready({ signal, onStep });
  const { host, deps: { clock, connectTimeout } } = reach;
  const ms = host.connectTimeout ?? connectTimeout;
  let last: string | undefined;
  const note = (step: string) => {
    last = step;
    onStep?.(step);
  };
  const own = new AbortController();
  using _pass = whenAborted(signal, () => own.abort(signal.reason));
  using deadline = new SshDeadline(ms, { clock, onPassed: () => own.abort(tooSlow(host, ms, last)) });
  return await signedIn(reach, { deadline, signal: own.signal, onStep: note });
}

async function signedIn(
  reach: SshReach,
  { deadline, ...options }: DialOptions & { readonly deadline: SshDeadline },
): Promise<SshSession> {
  const { prompt } = reach.deps;
  const ask: typeof prompt = prompt &&
    ((question, options) => deadline.outside(() => prompt(question, options)));
  const deps = { ...reach.deps, prompt: ask };
  // The node modules for ssh take 0.1 s to load; a program without ssh does not load them.
  const loading = import("./open_ssh_session.ts");
  loading.catch(() => {});
  for (let left = mostSignIns;; left--) {
    const conn = await reached(reach, options);
    options.onStep?.(`reached ${sshLabel(reach.host)}`);
    const { openSshSession } = await loading;
    try {
      return await openSshSession(conn, reach.host, { deps, ...options });
    } catch (error) {
      // Retry once when the server was restarting or the connection broke; any answer ends the attempts.
      if (left <= 1 || options.signal.aborted || !isPosternError(error, "unreachable")) throw error;
    }
  }
}

async function reached({ host, below, reach }: SshReach, options: DialOptions): Promise<Conn> {
  try {
    return await (below ? below.dial({ host: host.hostName, port: host.port }, options) : reach(options));
  } catch (error) {
    if (options.signal.aborted) throw options.signal.reason;
    throw error instanceof PosternError ? named(host, error) : error;
  }
}

function named(host: SshHost, error: PosternError): PosternError {
  const address = formatTarget({ host: host.hostName, port: host.port });
  return pathFailure(`Cannot reach ${sshLabel(host)} (${address})`, error, {
    hint: error.hint ?? `see what ssh does: ssh -v ${host.alias}`,
    ...(isOfTarget(error) && { detail: "host" }),
  });
}

function tooSlow(host: SshHost, ms: number, last: string | undefined): PosternError {
  const where = last === undefined ? "" : `, the last step: ${last}`;
  const says = `no session within ${ms / 1000} s${where}`;
  return new PosternError("timeout", `Cannot reach ${sshLabel(host)}: ${says}`, {
    hint: "check whether the host answers, or raise ConnectTimeout",
  });
}

const mostSignIns = 2;
