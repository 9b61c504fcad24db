import { isMapping } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { absoluteFrom } from "../../world/mod.ts";
import type { KubeEntry, KubeLists } from "./kube_config.ts";
import { type KubeUser, userOf } from "./kube_user.ts";

/** PEM that stands in the kubeconfig or in a file. */
export type PemSource = { readonly pem: string } | { readonly file: string };

/** A context of a kubeconfig with its cluster and its user. */
export interface KubeContext {
  readonly name: string;
  /** The default namespace; `default` where none is set. */
  readonly namespace: string;
  readonly cluster: KubeCluster;
  readonly user: KubeUser;
}

export interface KubeCluster {
  readonly name: string;
  readonly server: URL;
  /** The name to ask for and to check, where it is not the server's. */
  readonly tlsServerName?: string;
  /** Absent trusts the system's certificates. */
  readonly ca?: PemSource;
  /** `insecure-skip-tls-verify`. */
  readonly isUnverified: boolean;
  readonly proxyUrl?: URL;
  /** What a credential plugin may be told: the `exec` extension of the cluster. */
  readonly execConfig?: unknown;
}

/** A context and what it names; `config` says what is wrong and where. */
export function contextOf(name: string, { lists, where }: KubeLists): KubeContext {
  const context = lists.contexts.get(name);
  if (!context) {
    throw new PosternError("config", `Cannot use the context "${name}": ${where} has none of that name`, {
      hint: `take one of: ${[...lists.contexts.keys()].slice(0, 20).join(", ") || "(there is none)"}`,
    });
  }
  const broken = (why: string) =>
    new PosternError("config", `Cannot use the context "${name}" of ${where}: ${why}`, {
      hint: "mend it there, or see what is in it: kubectl config view",
    });
  const read = new EntryReader(context, broken);
  const clusterName = read.text("cluster");
  if (clusterName === undefined) throw broken("it names no cluster");
  const cluster = lists.clusters.get(clusterName);
  if (!cluster) throw broken(`it names the cluster "${clusterName}", which is not there`);
  const userName = read.text("user");
  const user = userName === undefined ? undefined : lists.users.get(userName);
  if (userName !== undefined && !user) throw broken(`it names the user "${userName}", which is not there`);
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
    throw broken(`the server of the cluster "${name}" is no address that begins with https://`);
  }
  const proxy = read.text("proxy-url");
  const proxyUrl = proxy === undefined ? undefined : URL.parse(proxy) ?? undefined;
  if (proxy !== undefined && !(proxyUrl && proxySchemes.includes(proxyUrl.protocol))) {
    throw broken(`the proxy-url of the cluster "${name}" is no address of http, https or socks5`);
  }
  const ca = read.pem("certificate-authority");
  const isUnverified = read.flag("insecure-skip-tls-verify");
  if (isUnverified && ca) {
    throw broken(`the cluster "${name}" has a certificate authority and insecure-skip-tls-verify`);
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

/** As kubectl, which takes a server without a scheme for one of https. */
function urlIn(server: string): URL | undefined {
  if (server === "") return undefined;
  return URL.parse(server.includes("://") ? server : `https://${server}`) ?? undefined;
}

/** Reads the values of one entry; a value of another type is said with its key, and never shown: it may be a secret. */
export class EntryReader {
  readonly #entry: KubeEntry;
  readonly #broken: (why: string) => PosternError;

  constructor(entry: KubeEntry, broken: (why: string) => PosternError) {
    this.#entry = entry;
    this.#broken = broken;
  }

  /** What `key` holds, as it came. */
  value(key: string): unknown {
    return this.#entry.value[key] ?? undefined;
  }

  /** A text that is not empty. */
  text(key: string): string | undefined {
    const value = this.value(key);
    if (value === undefined || value === "") return undefined;
    if (typeof value === "string") return value;
    // YAML makes numbers and dates of texts that nobody quoted; Go's reader does not mind.
    if (typeof value === "number") return String(value);
    throw this.broken(`${key} is not a text`);
  }

  /** Go's reader knows the words of YAML 1.1 too. */
  flag(key: string, value: unknown = this.value(key)): boolean {
    if (value === undefined || typeof value === "boolean") return value === true;
    const [, yes, no] = typeof value === "string" ? flagForm.exec(value) ?? [] : [];
    if (yes !== undefined || no !== undefined) return yes !== undefined;
    throw this.broken(`${key} is neither true nor false`);
  }

  /** A path, made absolute. */
  path(key: string): string | undefined {
    const path = this.text(key);
    return path === undefined ? undefined : this.absolute(path);
  }

  absolute(path: string): string {
    return absoluteFrom(this.#entry.directory, path);
  }

  /** `KEY-data` in base64, else the file that `KEY` names. */
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
    throw this.broken(`${key} is not a list of texts`);
  }

  /** The extension of a name, for those who know it. */
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
