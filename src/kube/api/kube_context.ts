import { isMapping } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { absoluteFrom } from "../../world/mod.ts";
import type { KubeEntry, KubeLists } from "./kube_config.ts";
import { type KubeUser, userOf } from "./kube_user.ts";

/** PEM from the kubeconfig itself or from a file. */
export type PemSource = { readonly pem: string } | { readonly file: string };

/** A context of a kubeconfig with its cluster and its user. */
export interface KubeContext {
  readonly name: string;
  /** The default namespace; `default` if the kubeconfig sets none. */
  readonly namespace: string;
  readonly cluster: KubeCluster;
  readonly user: KubeUser;
}

export interface KubeCluster {
  readonly name: string;
  readonly server: URL;
  /** The server name for SNI and verification, if it differs from the server's host. */
  readonly tlsServerName?: string;
  /** If absent, the system's certificate authorities are trusted. */
  readonly ca?: PemSource;
  /** `insecure-skip-tls-verify`. */
  readonly isUnverified: boolean;
  readonly proxyUrl?: URL;
  /** The `exec` extension of the cluster, passed to credential plugins. */
  readonly execConfig?: unknown;
}

/** Resolves a context and the entries it names; throws `config` with the cause and the place. */
export function contextOf(name: string, { lists, where }: KubeLists): KubeContext {
  const context = lists.contexts.get(name);
  if (!context) {
    throw new PosternError("config", `Cannot use the context "${name}": ${where} has no such context`, {
      hint: `use one of: ${[...lists.contexts.keys()].slice(0, 20).join(", ") || "(there are none)"}`,
    });
  }
  const broken = (why: string) =>
    new PosternError("config", `Cannot use the context "${name}" of ${where}: ${why}`, {
      hint: "correct the kubeconfig, or show its contents: kubectl config view",
    });
  const read = new EntryReader(context, broken);
  const clusterName = read.text("cluster");
  if (clusterName === undefined) throw broken("it names no cluster");
  const cluster = lists.clusters.get(clusterName);
  if (!cluster) throw broken(`it names the cluster "${clusterName}", which does not exist`);
  const userName = read.text("user");
  const user = userName === undefined ? undefined : lists.users.get(userName);
  if (userName !== undefined && !user) throw broken(`it names the user "${userName}", which does not exist`);
  return {
    name,
    namespace: read.text("namespace") ?? "default",
    cluster: clusterOf(clusterName, new EntryReader(cluster, broken), broken),
    user: userOf(userName ?? "", user && new EntryReader(user, broken)),
  };
}

function clusterOf(name: string, read: EntryReader, broken: (why: string) => PosternError): KubeCluster {
  const server = urlIn(read.text("server") ?? "");
  if (!server || !["https:", "http:"].includes(server.protocol)) {
    throw broken(`the server of the cluster "${name}" is not a URL that begins with https://`);
  }
  const proxy = read.text("proxy-url");
  const proxyUrl = proxy === undefined ? undefined : URL.parse(proxy) ?? undefined;
  if (proxy !== undefined && !(proxyUrl && proxySchemes.includes(proxyUrl.protocol))) {
    throw broken(`the proxy-url of the cluster "${name}" is not an http, https or socks5 URL`);
  }
  const ca = read.pem("certificate-authority");
  const isUnverified = read.flag("insecure-skip-tls-verify");
  if (isUnverified && ca) {
    throw broken(`the cluster "${name}" has both a certificate authority and insecure-skip-tls-verify`);
  }
  const tlsServerName = read.text("tls-server-name");
  const execConfig = read.extension("client.authentication.k8s.io/exec");
  return {
    name,
    server,
    isUnverified,
    ...(tlsServerName !== undefined && { tlsServerName }),
    ...(ca && { ca }),
    ...(proxyUrl && { proxyUrl }),
    ...(execConfig !== undefined && { execConfig }),
  };
}

const flagForm = /^(?:([yY]|yes|Yes|YES|on|On|ON)|([nN]|no|No|NO|off|Off|OFF))$/;

const proxySchemes = ["http:", "https:", "socks5:", "socks5h:"];

/** Parses a server URL; like kubectl, assumes https if the scheme is missing. */
function urlIn(server: string): URL | undefined {
  if (server === "") return undefined;
  return URL.parse(server.includes("://") ? server : `https://${server}`) ?? undefined;
}

/**
 * Reads the values of one entry. An error about a value of the wrong type names its key but not the value,
 * which may be secret.
 */
export class EntryReader {
  readonly #entry: KubeEntry;
  readonly #broken: (why: string) => PosternError;

  constructor(entry: KubeEntry, broken: (why: string) => PosternError) {
    this.#entry = entry;
    this.#broken = broken;
  }

  /** The raw value of `key`. */
  value(key: string): unknown {
    return this.#entry.value[key] ?? undefined;
  }

  /** A non-empty text. */
  text(key: string): string | undefined {
    const value = this.value(key);
    if (value === undefined || value === "") return undefined;
    if (typeof value === "string") return value;
    // YAML turns unquoted texts into numbers and dates; Go's parser accepts those as texts.
    if (typeof value === "number") return String(value);
    throw this.broken(`${key} is not a string`);
  }

  /** A boolean; like Go's parser, accepts the YAML 1.1 words such as `yes` and `off`. */
  flag(key: string, value: unknown = this.value(key)): boolean {
    if (value === undefined || typeof value === "boolean") return value === true;
    const [, yes, no] = typeof value === "string" ? flagForm.exec(value) ?? [] : [];
    if (yes !== undefined || no !== undefined) return yes !== undefined;
    throw this.broken(`${key} is neither true nor false`);
  }

  /** An absolute path; a relative one is resolved against the kubeconfig's directory. */
  path(key: string): string | undefined {
    const path = this.text(key);
    return path === undefined ? undefined : this.absolute(path);
  }

  absolute(path: string): string {
    return absoluteFrom(this.#entry.directory, path);
  }

  /** The base64 text of `KEY-data`, otherwise the file that `KEY` names. */
  pem(key: string): PemSource | undefined {
    const data = this.text(`${key}-data`);
    if (data === undefined) {
      const file = this.path(key);
      return file === undefined ? undefined : { file };
    }
    try {
      return { pem: atob(data.replace(/\s+/g, "")) };
    } catch {
      throw this.broken(`${key}-data is not base64`);
    }
  }

  texts(key: string): readonly string[] {
    const value = this.value(key);
    if (value === undefined) return [];
    if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
    throw this.broken(`${key} is not a list of strings`);
  }

  extension(name: string): unknown {
    const list = this.value("extensions");
    if (!Array.isArray(list)) return undefined;
    const found = list.find((entry) => isMapping(entry) && entry["name"] === name);
    return isMapping(found) ? found["extension"] : undefined;
  }

  broken(why: string): PosternError {
    return this.#broken(why);
  }
}
