import { choice, type Context, described, file, optional, record, text, transformed } from "../config/mod.ts";
import { checkSocketPath } from "../world/mod.ts";
import type { KonnectivityMode, KonnectivitySettings, NamesSettings } from "../konnectivity/mod.ts";
import { parseTarget, PosternError } from "../words/mod.ts";
import { namesSettings } from "./names_settings.ts";

const written = record({
  server: optional(
    described(text({ max: 300 }), "The server's frontend as HOST:PORT; it is spoken to by TLS"),
  ),
  uds: optional(described(file(), "The frontend's unix socket, in place of `server`; without TLS")),
  mode: optional(
    described(choice("grpc", "http-connect"), "What the frontend speaks, as its own `--mode` says"),
    "grpc" as const,
  ),
  ca: optional(described(file(), "PEM certificates of the CA of the frontend")),
  cert: optional(described(file(), "The client certificate that the frontend wants")),
  key: optional(described(file(), "Its key")),
  serverName: optional(
    described(text({ max: 253 }), "The name in the server's certificate, if not the host"),
  ),
  names: optional(
    described(namesSettings, "How names are resolved before the server is asked; by the agent when absent."),
  ),
}, { describe: "a mapping with server or uds, mode, ca, cert, key, serverName, names" });

/** `konnectivity: { server | uds, mode, ca, cert, key, serverName, names }`. */
export const konnectivitySettings = described(
  transformed(written, readSettings),
  "Goes through a Konnectivity server and one of its agents into a cluster.",
);

function readSettings(
  { server, uds, mode, names, ...tls }: {
    readonly names?: NamesSettings;
    readonly server?: string;
    readonly uds?: string;
    readonly mode: KonnectivityMode;
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly serverName?: string;
  },
  context: Context,
): KonnectivitySettings | undefined {
  if ((server === undefined) === (uds === undefined)) {
    context.report("must have either server or uds");
    return undefined;
  }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    context.at(tls.cert === undefined ? "cert" : "key").report(
      "must be given too: cert and key belong together",
    );
    return undefined;
  }
  if (uds !== undefined) {
    const needless = (["ca", "cert", "key", "serverName"] as const).filter((name) => tls[name] !== undefined);
    for (const name of needless) {
      context.at(name).report("must not stand beside uds: there is no TLS on a socket");
    }
    if (needless.length > 0 || !isSocketPath(uds, context)) return undefined;
    return { mode, server: { path: uds }, ...(names && { names }) };
  }
  try {
    return { mode, server: { target: parseTarget(server ?? "", 8090) }, ...tls, ...(names && { names }) };
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    context.at("server").report("must be HOST:PORT");
    return undefined;
  }
}

function isSocketPath(path: string, context: Context): boolean {
  try {
    checkSocketPath(path, "linux");
    return true;
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    context.at("uds").report(`must be shorter: ${error.message}`);
    return false;
  }
}
