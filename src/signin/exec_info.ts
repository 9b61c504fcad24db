import { isMapping } from "../config/mod.ts";
import { jsonIn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";

/** The supported versions of the credential plugin protocol. */
const versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"] as const;
export type ExecVersion = typeof versions[number];

/** The request of a Kubernetes client to a credential plugin (`ExecCredential`, its `spec`). */
export interface ExecInfo {
  readonly apiVersion: ExecVersion;
  /** The cluster from the kubeconfig; absent if the client does not provide it. */
  readonly cluster?: ExecCluster;
}

export interface ExecCluster {
  readonly server: string;
  /** PEM. */
  readonly ca?: string;
  readonly proxyUrl?: string;
}

/** Maximum length of the request in characters. */
const longest = 1_000_000;

/** Parses `KUBERNETES_EXEC_INFO`; if unset, the request has version 1 and no cluster. */
export function readExecInfo(text: string | undefined): ExecInfo {
  if (text === undefined || text === "") return { apiVersion: versions[0] };
  const info = text.length > longest ? undefined : jsonIn(text);
  if (!isMapping(info) || info["kind"] !== "ExecCredential") throw unreadable("it is not an ExecCredential");
  const apiVersion = versions.find((version) => version === info["apiVersion"]);
  if (!apiVersion) throw unreadable("its version is neither v1 nor v1beta1");
  const { cluster } = isMapping(info["spec"]) ? info["spec"] : {};
  return { apiVersion, ...(isMapping(cluster) && { cluster: clusterOf(cluster) }) };
}

/** The response on stdout for a Kubernetes client. */
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
    throw new PosternError(
      "not_allowed",
      `Cannot sign in to ${shown(server)}: the kubeconfig disables TLS verification`,
      {
        hint:
          "remove insecure-skip-tls-verify from the kubeconfig; without verification, an attacker could get the token",
      },
    );
  }
  if (cluster["tls-server-name"]) {
    throw new PosternError(
      "config",
      `Cannot sign in to ${shown(server)}: the kubeconfig sets tls-server-name`,
      {
        hint: "use the API server's name from its certificate as the server, and remove tls-server-name",
      },
    );
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
    hint: "let kubectl set it, or run by hand: postern exec-credential --server URL",
  });
}
