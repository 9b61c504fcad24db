import { isMapping, parseDocument } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import {
  type AuthInfo,
  authorityInFacts,
  type KubeconfigCluster,
  type MadeKubeconfig,
  readAuthInfo,
} from "../kube/mod.ts";
import { addressesOf, certificateData, type Cluster, shownText } from "../clusters/mod.ts";

export interface EmergencyKubeconfigOptions {
  /** The cluster's name, for the entries and for messages. */
  readonly name: string;
  /** The cluster in the catalogue, if there is a catalogue. */
  readonly cluster?: Cluster | undefined;
  readonly proxyUrl: string;
  /** The programs that the kubeconfig may start. */
  readonly allowExec: readonly string[];
  /**
   * The certificate authority that the API server had on first use, in PEM, if the user chose to trust it.
   */
  readonly authorityOf: (api: URL) => Promise<string | undefined>;
}

/** The decrypted content, before it becomes a kubeconfig. */
interface Parts {
  readonly cluster: Omit<KubeconfigCluster, "proxy-url">;
  readonly user: AuthInfo;
  readonly namespace?: string;
  readonly notes: readonly string[];
}

/**
 * Builds a kubeconfig from decrypted credentials: the current context of a kubeconfig, or a bearer token. It
 * connects through the instance's proxy, and its entry names differ from those of the cluster's usual
 * kubeconfig.
 */
export async function emergencyKubeconfig(
  text: string,
  options: EmergencyKubeconfigOptions,
): Promise<MadeKubeconfig> {
  const token = text.trim();
  const isToken = /^[A-Za-z0-9\-._~+/]{8,}=*$/.test(token);
  const parts = await (isToken ? partsOfToken(token, options) : partsOfKubeconfig(text, options));
  const name = `emergency-credentials/${options.name}`;
  return {
    kubeconfig: {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name, cluster: { ...parts.cluster, "proxy-url": options.proxyUrl } }],
      contexts: [{
        name,
        context: {
          cluster: name,
          user: name,
          ...(parts.namespace !== undefined && { namespace: parts.namespace }),
        },
      }],
      users: [{ name, user: parts.user }],
      "current-context": name,
    },
    notes: parts.notes,
  };
}

async function partsOfToken(token: string, options: EmergencyKubeconfigOptions): Promise<Parts> {
  const api = options.cluster && addressesOf(options.cluster).api;
  if (!api) {
    throw unusable(options, "they are a token, but no fact contains the URL of its API", {
      hint: "fetch the catalogue: postern update",
    });
  }
  const ca = await knownAuthority(api, options);
  return {
    cluster: {
      server: api.href.replace(/\/$/, ""),
      ...(ca !== undefined && { "certificate-authority-data": ca }),
    },
    user: { token },
    notes: [],
  };
}

async function partsOfKubeconfig(text: string, options: EmergencyKubeconfigOptions): Promise<Parts> {
  const { value, problems } = await parseDocument(text, { name: "kubeconfig" });
  if (problems.length > 0 || !isMapping(value)) {
    throw unusable(options, "they are neither a kubeconfig nor a token");
  }
  const contexts = named(value.contexts, "context");
  const current = value["current-context"];
  const [only] = contexts;
  const chosen = contexts.find(({ name }) => name === current) ?? (contexts.length === 1 ? only : undefined);
  if (!chosen) throw unusable(options, "their kubeconfig has several contexts and no current-context");
  const { cluster, user, namespace } = chosen.value;
  const foundCluster = named(value.clusters, "cluster").find(({ name }) => name === cluster);
  const foundUser = named(value.users, "user").find(({ name }) => name === user);
  if (!foundCluster || !foundUser) {
    throw unusable(options, `their kubeconfig has no ${foundCluster ? "user" : "cluster"} for its context`);
  }
  const read = readAuthInfo(foundUser.value, { allowExec: options.allowExec });
  if ("problems" in read) {
    throw new PosternError(
      "not_allowed",
      `Cannot use the emergency credentials of ${options.name}: their user is invalid: ${
        read.problems.join("; ")
      }`,
      { hint: "add the program to allowExec of the catalogue" },
    );
  }
  const ofCluster = await clusterOf(foundCluster.value, options);
  const left = contexts.length - 1;
  return {
    ...ofCluster,
    user: read.user,
    ...(typeof namespace === "string" && /^[a-z0-9-]{1,63}$/.test(namespace) && { namespace }),
    notes: [
      ...ofCluster.notes,
      ...(left > 0 ? [`other contexts left out: ${left}`] : []),
    ],
  };
}

/** The known certificate authority of an API server, as in the cluster's usual kubeconfig. */
async function knownAuthority(
  api: URL,
  { cluster, authorityOf }: EmergencyKubeconfigOptions,
): Promise<string | undefined> {
  return (cluster && authorityInFacts(cluster)) ?? certificateData(await authorityOf(api));
}

async function clusterOf(
  value: Readonly<Record<string, unknown>>,
  options: EmergencyKubeconfigOptions,
): Promise<Pick<Parts, "cluster" | "notes">> {
  const { server } = value;
  const url = typeof server === "string" && server.length <= 2000 ? URL.parse(server) : null;
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "") {
    throw unusable(options, "the server of their kubeconfig is not a URL that begins with https://");
  }
  for (const key of ["insecure-skip-tls-verify", "certificate-authority"]) {
    if (value[key] && !value["certificate-authority-data"]) {
      const why = key === "certificate-authority"
        ? "the file is on another machine"
        : "any server could pose as the cluster";
      throw unusable(options, `the cluster of their kubeconfig has ${key}: ${why}`);
    }
  }
  const written = value["certificate-authority-data"] ?? undefined;
  const ca = written === undefined ? await knownAuthority(url, options) : certificateData(written);
  if (written !== undefined && ca === undefined) {
    throw unusable(options, "certificate-authority-data of their kubeconfig is not base64-encoded PEM");
  }
  const serverName = value["tls-server-name"];
  const known = options.cluster && addressesOf(options.cluster).api;
  const isOther = known !== undefined && known.host !== url.host;
  return {
    cluster: {
      server: url.href.replace(/\/$/, ""),
      ...(typeof serverName === "string" && /^[A-Za-z0-9.-]{1,253}$/.test(serverName) &&
        { "tls-server-name": serverName }),
      ...(ca !== undefined && { "certificate-authority-data": ca }),
    },
    notes: isOther
      ? [
        `they are for ${shownText(url.origin)}, but the facts of ${options.name} contain ${
          shownText(known.origin)
        }`,
      ]
      : [],
  };
}

/** The entries of one of a kubeconfig's lists: `{ name, cluster: { … } }`. */
function named(
  list: unknown,
  key: string,
): { readonly name: unknown; readonly value: Readonly<Record<string, unknown>> }[] {
  return (Array.isArray(list) ? list : []).flatMap((entry: unknown) => {
    const value = isMapping(entry) ? entry[key] : undefined;
    return isMapping(entry) && isMapping(value) ? [{ name: entry.name, value }] : [];
  });
}

function unusable(
  { name }: EmergencyKubeconfigOptions,
  why: string,
  { hint }: { readonly hint?: string } = {},
): PosternError {
  return new PosternError("protocol", `Cannot use the emergency credentials of ${name}: ${why}`, { hint });
}
