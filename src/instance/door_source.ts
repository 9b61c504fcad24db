import { isLoopbackHost, parseTarget, PosternError } from "../words/mod.ts";
import type { PageSource } from "../listeners/mod.ts";
import type { ProxyEnvironment, ReloadReport } from "../control/mod.ts";
import { environmentFor, pacFile, shellLines } from "../routing/mod.ts";
import type { Door } from "./door/door.ts";
import { randomToken } from "../instances/mod.ts";
import { doorOf } from "./settings/environment_text.ts";
import { proxyEnvironment } from "./settings/proxy_environment.ts";

export interface DoorActions {
  readonly reload: () => Promise<ReloadReport>;
  /** Asks the door to end; `drain` in ms. */
  readonly stop: (drain?: number) => void;
}

/** What the pages and the control socket see of a door. */
export function doorSource(door: Door, { reload, stop }: DoorActions): PageSource {
  return {
    token: randomToken(),
    health: () => door.phase,
    metrics: () => door.collect(),
    status: () => door.status(),
    connections: () => door.connections.list(),
    watch: () => door.watch.watch(),
    sharesToken: (local) => isOpenAt(door, local),
    closeConnection: (id) => door.connections.close(id),
    reload,
    stop: ({ drain }) => {
      stop(drain);
      return drain ?? door.plan.limits.drain;
    },
    explain: (target, options) => door.explain(target, options),
    pac: (authority, local = authority) =>
      pacFile(door.plan.router, {
        door: authority,
        hasAuth: asksAt(door, local),
        isHttpOnly: at(door, local).some(({ kind }) => kind === "http"),
      }),
    env: (options) => environmentOf(door, options),
    environmentLines: (shell) => {
      const environment = environmentOf(door, { credentials: false });
      const { noProxy } = environment;
      const { changes } = environmentFor({ ...doorOf(environment), noProxy, current: () => undefined });
      return shellLines(changes, shell);
    },
  };
}

function environmentOf(
  door: Door,
  options: { readonly credentials: boolean; readonly client?: string },
): ProxyEnvironment {
  const told = door.told();
  if (told) return proxyEnvironment(door.plan, told, options);
  throw new PosternError("config", "Cannot tell programs about this door: it listens on no TCP port", {
    hint: "add a listener: listen.mixed",
  });
}

/** Whether whoever asks at an address of ours may use the door there without a password, and does so from this machine. */
function isOpenAt(door: Door, local: string | undefined): boolean {
  if (local === undefined || local.startsWith("unix:")) {
    return !door.listeners.some(({ endpoint, hasAuth }) => "path" in endpoint && hasAuth);
  }
  return isLoopbackHost(parseTarget(local).host) && !asksAt(door, local);
}

/** Whether the door asks for a password on the port of an authority. */
function asksAt(door: Door, authority: string): boolean {
  return at(door, authority).some(({ hasAuth }) => hasAuth);
}

/** The listeners on the port of an authority. */
function at({ listeners }: Door, authority: string): Door["listeners"] {
  const port = /:([0-9]+)$/.exec(authority)?.[1];
  return listeners.filter(({ address }) => port !== undefined && address.endsWith(`:${port}`));
}
