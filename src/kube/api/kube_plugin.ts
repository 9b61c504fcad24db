import { isMapping } from "../../config/mod.ts";
import { type Clock, jsonIn, within } from "../../core/mod.ts";
import { isPosternError, PosternError } from "../../words/mod.ts";
import type { Process } from "../../world/mod.ts";
import type { KubeCluster } from "./kube_context.ts";
import type { ExecPlugin } from "./kube_user.ts";

/** What a credential plugin gave. */
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
  /** The cluster's certificate authority in PEM, where it has one. */
  readonly ca?: string | undefined;
  readonly signal: AbortSignal;
}

/** How long a plugin may take, in ms: some have a person sign in with a browser. */
const patience = 60_000;
/** The most bytes that a plugin may print. */
const limit = 1024 * 1024;

/** Runs a credential plugin, which cannot ask at a terminal, and reads the ExecCredential that it prints. */
export async function runPlugin(plugin: ExecPlugin, run: PluginRun): Promise<PluginCredentials> {
  const what = `the credential plugin "${plugin.command}"`;
  if (plugin.interactiveMode === "Always") {
    throw new PosternError("auth", `Cannot use ${what}: it wants to ask at a terminal, and there is none`, {
      hint: 'set interactiveMode: "IfAvailable" in the kubeconfig if it can do without',
    });
  }
  const { process, clock, signal } = run;
  const error = () =>
    new PosternError("timeout", `Cannot sign in with ${what}: no answer within ${patience / 1000} s`, {
      detail: "sign_in",
      hint: `run it by hand: ${[plugin.command, ...plugin.args.slice(0, 1)].join(" ")} …`,
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
    if (isPosternError(error, "protocol")) throw unusable(what, `it printed more than ${limit} bytes`);
    const isRefused = isPosternError(error, "not_allowed");
    if (!isRefused && !isPosternError(error, "config")) throw error;
    throw new PosternError(error.code, `${error.message}, which the kubeconfig names to sign in`, {
      cause: error,
      detail: error.detail,
      hint: (isRefused ? undefined : plugin.installHint) ?? error.hint ?? "install it",
    });
  });
  if (ended.code !== 0) {
    throw new PosternError(
      "auth",
      `Cannot sign in with ${what}: it ended with ${ended.code}${last(ended)}`,
      { detail: "sign_in", hint: plugin.installHint },
    );
  }
  return credentialsIn(ended.stdout, plugin, what);
}

/** `ExecCredential` as it is asked for in KUBERNETES_EXEC_INFO. */
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

/** PEM is ASCII; what stands beside it for people is no certificate, and may be of any script. */
function plain(pem: string): string {
  return pem.replace(/[^\0-\x7f]/g, "?");
}

/** The last line that it said of its failure: shown, since it is often all that helps. */
function last({ stderr }: { readonly stderr: string }): string {
  const line = stderr.trimEnd().split("\n").at(-1)?.replace(/\p{C}/gu, "?").trim() ?? "";
  return line === "" ? "" : `: ${line.slice(0, 300)}`;
}

function credentialsIn(stdout: string, { apiVersion }: ExecPlugin, what: string): PluginCredentials {
  const wrong = (why: string) => unusable(what, why);
  const answer = jsonIn(stdout);
  if (!isMapping(answer) || answer["kind"] !== "ExecCredential") {
    throw wrong("it printed no ExecCredential");
  }
  if (answer["apiVersion"] !== apiVersion) {
    throw wrong(`it answered with another version than the kubeconfig's ${apiVersion}`);
  }
  const status = isMapping(answer["status"]) ? answer["status"] : {};
  const token = textIn(status["token"]);
  const certificate = textIn(status["clientCertificateData"]);
  const key = textIn(status["clientKeyData"]);
  if (!certificate !== !key) throw wrong("it gave only one of certificate and key");
  if (token === undefined && certificate === undefined) throw wrong("it gave neither token nor certificate");
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) throw wrong("its token is not one word");
  const expires = expiryIn(status["expirationTimestamp"]);
  if (expires === "unreadable") throw wrong("its expirationTimestamp is no time");
  return {
    token,
    ...(certificate !== undefined && key !== undefined && { certificate, key }),
    expires,
  };
}

function unusable(what: string, why: string): PosternError {
  return new PosternError("auth", `Cannot sign in with ${what}: ${why}`, {
    detail: "sign_in",
    hint: "run it by hand and look at what it prints: the kubeconfig names it below exec",
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
