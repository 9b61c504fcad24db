import { isLoopbackHost, parseTarget, PosternError } from "../../words/mod.ts";
import type { PageSource } from "../../listeners/mod.ts";
import type { ProxyEnvironment, ReloadReport } from "../../control/mod.ts";
import { environmentFor, pacFile, shellLines } from "../../routing/mod.ts";
import type { Instance } from "../instance.ts";
import { lentForwards } from "../listening/lent_forwards.ts";
import { randomToken } from "../../instances/mod.ts";
import { listenerOf } from "../environment/environment_text.ts";
import { proxyEnvironment } from "../environment/proxy_environment.ts";

export interface InstanceActions {
  readonly reload: () => Promise<ReloadReport>;
  /** Asks the instance to stop; `drain` in ms. */
  readonly stop: (drain?: number) => void;
}

/** Gives the pages and the control socket access to an instance. */
export function instanceSource(instance: Instance, { reload, stop }: InstanceActions): PageSource {
  return {
    token: randomToken(),
    health: () => instance.phase,
    metrics: () => instance.collect(),
    status: () => instance.status(),
    connections: () => instance.connections.list(),
    watch: () => instance.watch.watch(),
    sharesToken: (local) => isOpenAt(instance, local),
    forward: (forwards) => lentForwards(() => instance.lend(forwards), instance.clock),
    endForward: (id) => instance.endLent(id),
    hosts: (names, options) => instance.hosts(names, options),
    closeConnection: (id) => instance.connections.close(id),
    reload,
    stop: ({ drain }) => {
      stop(drain);
      return drain ?? instance.plan.limits.drain;
    },
    explain: (target, options) => instance.explain(target, options),
    pac: (authority, local = authority) =>
      pacFile(instance.plan.router, {
        listener: authority,
        hasAuth: asksAt(instance, local),
        isHttpOnly: at(instance, local).some(({ kind }) => kind === "http"),
      }),
    env: (options) => environmentOf(instance, options),
    sshHosts: () => instance.transports.sshHosts(),
    environmentLines: (shell) => {
      const environment = environmentOf(instance, { credentials: false });
      const { noProxy } = environment;
      const { changes } = environmentFor({ ...listenerOf(environment), noProxy, current: () => undefined });
      return shellLines(changes, shell);
    },
  };
}

function environmentOf(
  instance: Instance,
  options: { readonly credentials: boolean; readonly client?: string },
): ProxyEnvironment {
  const told = instance.told();
  if (told) return proxyEnvironment(instance.plan, told, options);
  throw new PosternError("config", "Cannot derive proxy settings: no listener has a TCP port", {
    hint: "add a listener: listen.mixed",
  });
}

/** Whether a client of this local address is on this machine and needs no password. */
function isOpenAt(instance: Instance, local: string | undefined): boolean {
  if (local === undefined || local.startsWith("unix:")) {
    return !instance.listeners.some(({ endpoint, hasAuth }) => "path" in endpoint && hasAuth);
  }
  return isLoopbackHost(parseTarget(local).host) && !asksAt(instance, local);
}

/** Whether the listener on the port of an authority requires a password. */
function asksAt(instance: Instance, authority: string): boolean {
  return at(instance, authority).some(({ hasAuth }) => hasAuth);
}

/** The listeners on the port of an authority. */
function at({ listeners }: Instance, authority: string): Instance["listeners"] {
  const port = /:([0-9]+)$/.exec(authority)?.[1];
  return listeners.filter(({ address }) => port !== undefined && address.endsWith(`:${port}`));
}
