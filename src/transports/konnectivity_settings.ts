import { choice, type Context, described, file, optional, record, text, transformed } from "../config/mod.ts";
import { checkSocketPath } from "../world/mod.ts";
import type { KonnectivityMode, KonnectivitySettings, NamesSettings } from "../konnectivity/mod.ts";
import { parseTarget, PosternError } from "../words/mod.ts";
import { namesSettings } from "./names_settings.ts";

const written = record({
  server: optional(
    described(text({ max: 300 }), "The server's frontend as HOST:PORT; postern connects to it over TLS."),
  ),
  uds: optional(described(file(), "The frontend's unix socket, instead of `server`; without TLS.")),
  mode: optional(
    described(choice("grpc", "http-connect"), "The protocol of the frontend, as in the server's `--mode`."),
    "grpc" as const,
  ),
  ca: optional(described(file(), "A PEM file with the frontend's certificate authorities.")),
  cert: optional(described(file(), "A PEM file with the client certificate for the frontend.")),
  key: optional(described(file(), "A PEM file with the key of the client certificate.")),
  serverName: optional(
    described(text({ max: 253 }), "The name in the server's certificate (default: the host of `server`)."),
  ),
  names: optional(
    described(
      namesSettings,
      "How postern resolves names before it asks the server (default: the agent resolves them).",
    ),
  ),
}, { describe: "a mapping with server or uds, mode, ca, cert, key, serverName, names" });

/** `konnectivity: { server | uds, mode, ca, cert, key, serverName, names }`. */
export const konnectivitySettings = described(
  transformed(written, readSettings),
  "Connects through a Konnectivity server and one of its agents in a cluster.",
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
      "must be set: cert and key belong together",
    );
    return undefined;
  }
  if (uds !== undefined) {
    const needless = (["ca", "cert", "key", "serverName"] as const).filter((name) => tls[name] !== undefined);
    for (const name of needless) {
      context.at(name).report("cannot be used with uds, which has no TLS");
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
