import { isMapping } from "../config/mod.ts";
import { jsonIn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";

/** The versions of the credential plugins' protocol that are spoken here. */
const versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"] as const;
export type ExecVersion = typeof versions[number];

/** What a Kubernetes client asks a credential plugin (`ExecCredential`, its `spec`). */
export interface ExecInfo {
  readonly apiVersion: ExecVersion;
  /** The cluster as the kubeconfig has it; absent where the client does not tell. */
  readonly cluster?: ExecCluster;
}

export interface ExecCluster {
  readonly server: string;
  /** PEM. */
  readonly ca?: string;
  readonly proxyUrl?: string;
}

/** The most characters of what a client asks. */
const longest = 1_000_000;

/** Reads `KUBERNETES_EXEC_INFO`; what is not set asks for version 1 of no cluster. */
export function readExecInfo(text: string | undefined): ExecInfo {
  if (text === undefined || text === "") return { apiVersion: versions[0] };
  const info = text.length > longest ? undefined : jsonIn(text);
  if (!isMapping(info) || info["kind"] !== "ExecCredential") throw unreadable("it is no ExecCredential");
  const apiVersion = versions.find((version) => version === info["apiVersion"]);
  if (!apiVersion) throw unreadable("its version is neither v1 nor v1beta1");
  const { cluster } = isMapping(info["spec"]) ? info["spec"] : {};
  return { apiVersion, ...(isMapping(cluster) && { cluster: clusterOf(cluster) }) };
}

/** The answer that a Kubernetes client reads on stdout. */
export function execCredential(
  apiVersion: ExecVersion,
  { token, expires }: { readonly token: string; readonly expires?: Date | undefined },
): string {
  const expirationTimestamp = expires?.toISOString().replace(/\.\d+Z$/, "Z");
  const status = { token, ...(expirationTimestamp !== undefined && { expirationTimestamp }) };
  return `${JSON.stringify({ apiVersion, kind: "ExecCredential", status })}\n`;
}

function clusterOf(cluster: Readonly<Record<string, unknown>>): ExecCluster {
  const { server, "certificate-authority-data": ca, "proxy-url": proxyUrl } = cluster;
  if (typeof server !== "string" || server === "") throw unreadable("it has no server");
  if (cluster["insecure-skip-tls-verify"] === true) {
    throw new PosternError("not_allowed", `Cannot sign in to ${shown(server)}: TLS is not to be checked`, {
      hint: "take insecure-skip-tls-verify out of the kubeconfig: anybody on the way could have the token",
    });
  }
  if (cluster["tls-server-name"]) {
    throw new PosternError("config", `Cannot sign in to ${shown(server)}: it has a tls-server-name`, {
      hint: "name the API server as its certificate does",
    });
  }
  return {
    server,
    ...(typeof ca === "string" && ca !== "" && { ca: pemIn(ca) }),
    ...(typeof proxyUrl === "string" && proxyUrl !== "" && { proxyUrl }),
  };
}

function pemIn(data: string): string {
  try {
    return atob(data);
  } catch {
    throw unreadable("its certificate-authority-data is not base64");
  }
}

function shown(server: string): string {
  return URL.parse(server)?.origin ?? "this cluster";
}

function unreadable(why: string): PosternError {
  return new PosternError("config", `Cannot read KUBERNETES_EXEC_INFO: ${why}`, {
    hint: "a Kubernetes client sets it, such as kubectl; by hand: postern exec-credential --server URL",
  });
}
