import type { Conn } from "../../core/mod.ts";
import type { Dialer, Network } from "../../world/mod.ts";
import { formatTarget, pathFailure, PosternError, type Target, targetOf } from "../../words/mod.ts";
import { HttpConnection } from "../../http/mod.ts";
import type { KubeContext } from "./kube_context.ts";
import type { Credentials } from "./kube_credentials.ts";

export interface Opening {
  readonly network: Pick<Network, "secure">;
  readonly dial: Dialer;
  readonly context: KubeContext;
  readonly credentials: Credentials;
  /** PEM; if absent, the system's certificate authorities are trusted. */
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
}

/** Connects to the API server of a context, with the client certificate of the credentials. */
export async function openConnection(opening: Opening): Promise<HttpConnection> {
  const { context, credentials: { identity, certificate }, ca, signal } = opening;
  const { server, tlsServerName, isUnverified } = context.cluster;
  const target = targetOf(server);
  let conn: Conn | undefined;
  try {
    conn = await opening.dial(target, { signal });
    if (server.protocol === "https:") {
      conn = await opening.network.secure(conn, {
        serverName: tlsServerName ?? target.host,
        trust: isUnverified ? "any" : ca === undefined ? "system" : "ca",
        ca,
        ...certificate,
        alpn: ["http/1.1"],
        signal,
      });
    }
    return new HttpConnection(conn, { key: identity, from: serverLabel(context.name) });
  } catch (error) {
    conn?.abort(error);
    signal.throwIfAborted();
    throw notReached(error, context, target);
  }
}

/** The name of an API server in messages. */
export function serverLabel(context: string): string {
  return `the API server of the cluster "${context}"`;
}

function notReached(error: unknown, { name }: KubeContext, target: Target): unknown {
  if (!(error instanceof PosternError)) return error;
  const hint = error.code === "auth" ? "check certificate-authority in the kubeconfig" : undefined;
  return pathFailure(`Cannot reach ${serverLabel(name)} (${formatTarget(target)})`, error, { hint });
}
