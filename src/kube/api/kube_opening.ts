import type { Conn } from "../../core/mod.ts";
import type { Dialer, Network } from "../../world/mod.ts";
import { formatTarget, PosternError, type Target } from "../../words/mod.ts";
import { KubeConnection } from "./kube_connection.ts";
import type { KubeContext } from "./kube_context.ts";
import type { Credentials } from "./kube_credentials.ts";

export interface Opening {
  readonly network: Pick<Network, "secure">;
  readonly dial: Dialer;
  readonly context: KubeContext;
  readonly credentials: Credentials;
  /** PEM; absent trusts the system's. */
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
}

/** Connects to the API server of a context, with the certificate of whoever signs in. */
export async function openConnection(opening: Opening): Promise<KubeConnection> {
  const { context, credentials: { identity, certificate }, ca, signal } = opening;
  const { server, tlsServerName, isUnverified } = context.cluster;
  const target = serverTarget(server);
  let conn: Conn | undefined;
  try {
    conn = await opening.dial(target, { signal });
    if (server.protocol === "https:") {
      conn = await opening.network.secure(conn, {
        serverName: tlsServerName ?? target.host,
        trust: isUnverified ? "anybody" : ca === undefined ? "system" : "ca",
        ...(ca !== undefined && { ca }),
        ...certificate,
        alpn: ["http/1.1"],
        signal,
      });
    }
    return new KubeConnection(conn, { identity, from: serverLabel(context.name) });
  } catch (error) {
    conn?.abort(error);
    signal.throwIfAborted();
    throw notReached(error, context, target);
  }
}

/** Where an API server is to be dialled. */
export function serverTarget(server: URL): Target {
  const port = server.port === "" ? (server.protocol === "https:" ? 443 : 80) : Number(server.port);
  return { host: server.hostname.replace(/^\[(.*)\]$/, "$1"), port };
}

/** How messages name an API server. */
export function serverLabel(context: string): string {
  return `the API server of the cluster "${context}"`;
}

function notReached(error: unknown, { name }: KubeContext, target: Target): unknown {
  if (!(error instanceof PosternError)) return error;
  // "refused" and "unknown name" would be taken for an answer about what a client asked for.
  const isOfServer = error.code === "refused" || error.code === "name_not_found";
  const hint = error.code === "auth" ? "see certificate-authority in the kubeconfig" : error.hint;
  const what = `Cannot reach ${serverLabel(name)} (${formatTarget(target)})`;
  return new PosternError(isOfServer ? "unreachable" : error.code, `${what}: ${error.message}`, {
    cause: error,
    ...(error.detail && { detail: error.detail }),
    ...(hint !== undefined && { hint }),
  });
}
