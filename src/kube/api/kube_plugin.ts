import { isMapping } from "../../config/mod.ts";
import { type Clock, jsonIn, within } from "../../core/mod.ts";
import { isPosternError, PosternError } from "../../words/mod.ts";
import type { Process } from "../../world/mod.ts";
import type { KubeCluster } from "./kube_context.ts";
import type { ExecPlugin } from "./kube_user.ts";

/** The credentials that a plugin printed. */
export interface PluginCredentials {
  readonly token?: string | undefined;
  /** PEM. */
  readonly certificate?: string;
  readonly key?: string;
  readonly expires?: Date | undefined;
}

export interface PluginRun {
  readonly process: Pick<Process, "run">;
  readonly clock: Clock;
  readonly cluster: KubeCluster;
  /** The certificate authority of the cluster in PEM, if it has one. */
  readonly ca?: string | undefined;
  readonly signal: AbortSignal;
}

/** Timeout of a plugin in ms; some open a browser for the user to sign in. */
const patience = 60_000;
/** Maximum size of a plugin's output in bytes. */
const limit = 1024 * 1024;

/** Runs a credential plugin without a terminal and reads the ExecCredential that it prints. */
export async function runPlugin(plugin: ExecPlugin, run: PluginRun): Promise<PluginCredentials> {
  const what = `the credential plugin "${plugin.command}"`;
  if (plugin.interactiveMode === "Always") {
    throw new PosternError("auth", `Cannot use ${what}: it requires a terminal`, {
      hint: 'set interactiveMode: "IfAvailable" in the kubeconfig if it works without a terminal',
    });
  }
  const { process, clock, signal } = run;
  const error = () =>
    new PosternError("timeout", `Cannot sign in with ${what}: no answer within ${patience / 1000} s`, {
      detail: "sign_in",
      hint: `run the plugin by hand: ${[plugin.command, ...plugin.args.slice(0, 1)].join(" ")} …`,
    });
  const ended = await within(
    { clock, ms: patience, signal, error },
    (signal) =>
      process.run([plugin.command, ...plugin.args], {
        signal,
        env: { ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(askedOf(plugin, run)) },
        limit,
      }),
  ).catch((error) => {
    if (isPosternError(error, "protocol")) throw unusable(what, `its output exceeds ${limit} bytes`);
    const isRefused = isPosternError(error, "not_allowed");
    if (!isRefused && !isPosternError(error, "config")) throw error;
    throw new PosternError(error.code, `${error.message}; the kubeconfig uses it to sign in`, {
      cause: error,
      detail: error.detail,
      hint: (isRefused ? undefined : plugin.installHint) ?? error.hint ?? "install the plugin",
    });
  });
  if (ended.code !== 0) {
    throw new PosternError(
      "auth",
      `Cannot sign in with ${what}: it exited with status ${ended.code}${last(ended)}`,
      { detail: "sign_in", hint: plugin.installHint },
    );
  }
  return credentialsIn(ended.stdout, plugin, what);
}

/** The `ExecCredential` request for KUBERNETES_EXEC_INFO. */
function askedOf(plugin: ExecPlugin, { cluster, ca }: PluginRun): unknown {
  const info = plugin.providesClusterInfo && {
    cluster: {
      server: cluster.server.href.replace(/\/$/, ""),
      ...(cluster.tlsServerName !== undefined && { "tls-server-name": cluster.tlsServerName }),
      ...(cluster.isUnverified && { "insecure-skip-tls-verify": true }),
      ...(ca !== undefined && { "certificate-authority-data": btoa(plain(ca)) }),
      ...(cluster.proxyUrl && { "proxy-url": cluster.proxyUrl.href }),
      ...(cluster.execConfig !== undefined && { config: cluster.execConfig }),
    },
  };
  return { apiVersion: plugin.apiVersion, kind: "ExecCredential", spec: { ...info, interactive: false } };
}

/** PEM is ASCII; comments around the certificates may use any script. */
function plain(pem: string): string {
  return pem.replace(/[^\0-\x7f]/g, "?");
}

/** The last line of stderr, often the only clue for the user. */
function last({ stderr }: { readonly stderr: string }): string {
  const line = stderr.trimEnd().split("\n").at(-1)?.replace(/\p{C}/gu, "?").trim() ?? "";
  return line === "" ? "" : `: ${line.slice(0, 300)}`;
}

function credentialsIn(stdout: string, { apiVersion }: ExecPlugin, what: string): PluginCredentials {
  const wrong = (why: string) => unusable(what, why);
  const answer = jsonIn(stdout);
  if (!isMapping(answer) || answer["kind"] !== "ExecCredential") {
    throw wrong("its output is not an ExecCredential");
  }
  if (answer["apiVersion"] !== apiVersion) {
    throw wrong(`its output has a different apiVersion than the kubeconfig (${apiVersion})`);
  }
  const status = isMapping(answer["status"]) ? answer["status"] : {};
  const token = textIn(status["token"]);
  const certificate = textIn(status["clientCertificateData"]);
  const key = textIn(status["clientKeyData"]);
  if (!certificate !== !key) throw wrong("it printed only one of certificate and key");
  if (token === undefined && certificate === undefined) {
    throw wrong("it printed neither a token nor a certificate");
  }
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) throw wrong("its token is not a single word");
  const expires = expiryIn(status["expirationTimestamp"]);
  if (expires === "unreadable") throw wrong("its expirationTimestamp is not a valid time");
  return {
    token,
    ...(certificate !== undefined && key !== undefined && { certificate, key }),
    expires,
  };
}

function unusable(what: string, why: string): PosternError {
  return new PosternError("auth", `Cannot sign in with ${what}: ${why}`, {
    detail: "sign_in",
    hint: "run the command under exec in the kubeconfig and check its output",
  });
}

function expiryIn(value: unknown): Date | undefined | "unreadable" {
  const text = textIn(value);
  if (text === undefined) return undefined;
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "unreadable" : at;
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
