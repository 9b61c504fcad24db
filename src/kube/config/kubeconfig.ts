import { type AuthInfo, readAuthInfo } from "./auth_info.ts";
import {
  addressesOf,
  certificateData,
  type Cluster,
  factOf,
  type KnownCluster,
  textOf,
} from "../../clusters/mod.ts";

/** A kubeconfig (`kubeconfig.v1.Config`), with the keys in the order in which they are written. */
export interface Kubeconfig {
  readonly apiVersion: "v1";
  readonly kind: "Config";
  readonly clusters: readonly { readonly name: string; readonly cluster: KubeconfigCluster }[];
  readonly contexts: readonly { readonly name: string; readonly context: KubeconfigContext }[];
  readonly users: readonly { readonly name: string; readonly user: AuthInfo }[];
  readonly "current-context": string;
}

export interface KubeconfigCluster {
  readonly server: string;
  readonly "tls-server-name"?: string;
  readonly "certificate-authority-data"?: string;
  readonly "proxy-url": string;
}

export interface KubeconfigContext {
  readonly cluster: string;
  readonly user?: string;
  readonly namespace?: string;
}

/** The settings of a catalogue for the sign-in to its clusters. */
export interface SignInRules {
  /** The fact that contains a user. */
  readonly authInfoFact?: string | undefined;
  readonly allowExec: readonly string[];
}

export interface KubeconfigOptions {
  /** The instance's proxy: `socks5://127.0.0.1:12000`. */
  readonly proxyUrl: string;
  /** Whether to write tokens, passwords and keys from facts. */
  readonly credentials: boolean;
  /** Certificate authorities that no fact contains: PEM by cluster name. */
  readonly authorities?: ReadonlyMap<string, string>;
  /** The command line of postern, which is also the credential plugin for OpenShift. */
  readonly self: readonly string[];
  /** The rules of a catalogue, by its name. */
  readonly rulesFor: (catalogue: string) => SignInRules;
}

const authorityFact = "talosAPICertificateAuthorityData";

/** The certificate authority from a cluster's facts, in the form of a kubeconfig. */
export function authorityInFacts(cluster: Cluster): string | undefined {
  return certificateData(factOf(cluster, authorityFact));
}

/** A kubeconfig, with notes for the user. */
export interface MadeKubeconfig {
  readonly kubeconfig: Kubeconfig;
  readonly notes: readonly string[];
}

/**
 * Builds one kubeconfig for several clusters in alphabetical order; cluster, context and user have the
 * cluster's name. The first cluster with an API is the current context. Omits clusters without an API.
 */
export function kubeconfigOf(known: readonly KnownCluster[], options: KubeconfigOptions): MadeKubeconfig {
  const notes: string[] = [];
  const entries = known.flatMap((one) => {
    const entry = entryOf(one, options, notes);
    return entry ? [entry] : [];
  });
  const [first] = entries;
  const sorted = [...entries].sort((a, b) => a.name < b.name ? -1 : 1);
  return {
    kubeconfig: {
      apiVersion: "v1",
      kind: "Config",
      clusters: sorted.map(({ name, cluster }) => ({ name, cluster })),
      contexts: sorted.map(({ name, user }) => ({
        name,
        context: { cluster: name, ...(user && { user: name }) },
      })),
      users: sorted.flatMap(({ name, user }) => user ? [{ name, user }] : []),
      "current-context": first?.name ?? "",
    },
    notes,
  };
}

interface Entry {
  readonly name: string;
  readonly cluster: KubeconfigCluster;
  readonly user: AuthInfo | undefined;
}

function entryOf(known: KnownCluster, options: KubeconfigOptions, notes: string[]): Entry | undefined {
  const { name, cluster } = known;
  const { api } = addressesOf(cluster);
  if (!api) {
    notes.push(`${name} is omitted: no fact contains an API URL that begins with https://`);
    return undefined;
  }
  const written = factOf(cluster, authorityFact);
  const ca = authorityInFacts(cluster) ?? certificateData(options.authorities?.get(name));
  if (ca === undefined && textOf(written) !== undefined) {
    notes.push(
      `${name} has no certificate authority: the fact ${authorityFact} is not base64-encoded PEM`,
    );
  }
  const user = userOf(known, api, options);
  if ("note" in user) notes.push(`${name} has no user: ${user.note}`);
  return {
    name,
    cluster: {
      server: api.href.replace(/\/$/, ""),
      ...(ca !== undefined && { "certificate-authority-data": ca }),
      "proxy-url": options.proxyUrl,
    },
    user: "user" in user ? user.user : undefined,
  };
}

type FoundUser = { readonly user: AuthInfo } | { readonly note: string };

function userOf(
  { cluster, catalogue }: KnownCluster,
  api: URL,
  { credentials, self, rulesFor }: KubeconfigOptions,
): FoundUser {
  const { authInfoFact, allowExec } = rulesFor(catalogue.name);
  const fact = authInfoFact === undefined ? undefined : factOf(cluster, authInfoFact);
  if (fact !== undefined && fact !== null && fact !== "") {
    const read = readAuthInfo(fact, { allowExec });
    if ("problems" in read) {
      return { note: `postern cannot use the fact ${authInfoFact}: ${read.problems.join("; ")}` };
    }
    if (!read.isSecret || credentials) return { user: read.user };
    return { note: `the fact ${authInfoFact} contains credentials; to write them, add --with-credentials` };
  }
  if (addressesOf(cluster).platform === "openshift") return { user: openShiftUser(api, self) };
  const issuer = textOf(factOf(cluster, "oidcIssuer"));
  const client = textOf(factOf(cluster, "oidcClientId"));
  if (issuer !== undefined && client !== undefined) return kubeloginUser(issuer, client, allowExec);
  return { note: "no fact describes a sign-in" };
}

/** The user of an OpenShift cluster: postern itself as the plugin, which gets the cluster from its caller. */
function openShiftUser(api: URL, [command = "", ...before]: readonly string[]): AuthInfo {
  return {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command,
      args: [...before, "exec-credential", `--server=${api.origin}`],
      // The plugin gets certificate authority and proxy from the kubeconfig only.
      provideClusterInfo: true,
      // It signs in with a browser; stdin belongs to kubectl.
      interactiveMode: "Never",
    },
  };
}

/** The user of a cluster with OpenID Connect, for the plugin kubelogin. */
function kubeloginUser(issuer: string, client: string, allowExec: readonly string[]): FoundUser {
  const url = URL.parse(issuer);
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "" || issuer.length > 2000) {
    return { note: "the fact oidcIssuer is not a URL that begins with https://" };
  }
  if (!/^[\x21-\x7e]{1,500}$/.test(client)) return { note: "the fact oidcClientId is not a single word" };
  if (!allowExec.includes("kubelogin")) return { note: "kubelogin is not in allowExec" };
  return {
    user: {
      exec: {
        apiVersion: "client.authentication.k8s.io/v1",
        command: "kubelogin",
        args: [
          "get-token",
          // API servers compare the issuer byte by byte.
          `--oidc-issuer-url=${issuer}`,
          `--oidc-client-id=${client}`,
          // API servers identify users by these claims. kubelogin does not request them, and not every
          // provider includes them by default.
          "--oidc-extra-scope=email",
          "--oidc-extra-scope=profile",
        ],
        installHint: "install kubelogin to sign in: https://github.com/int128/kubelogin",
        provideClusterInfo: false,
        interactiveMode: "IfAvailable",
      },
    },
  };
}
