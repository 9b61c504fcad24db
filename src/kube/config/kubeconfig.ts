import { type AuthInfo, readAuthInfo } from "./auth_info.ts";
import {
  addressesOf,
  certificateData,
  type Cluster,
  factOf,
  type KnownCluster,
  textOf,
} from "../../clusters/mod.ts";

/** A kubeconfig (`kubeconfig.v1.Config`), its keys in the order in which they are written. */
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

/** What a catalogue's settings say of how its clusters are signed in to. */
export interface SignInRules {
  /** The fact that holds a user. */
  readonly authInfoFact?: string | undefined;
  readonly allowExec: readonly string[];
}

export interface KubeconfigOptions {
  /** The door: `socks5://127.0.0.1:12000`. */
  readonly proxyUrl: string;
  /** Whether tokens, passwords and keys that facts hold are written too. */
  readonly credentials: boolean;
  /** Certificate authorities of which no fact tells: PEM by the name of the cluster. */
  readonly authorities?: ReadonlyMap<string, string>;
  /** The command line that starts postern: the plugin that signs in to OpenShift is a part of it. */
  readonly self: readonly string[];
  /** By the name of the catalogue. */
  readonly rulesFor: (catalogue: string) => SignInRules;
}

const authorityFact = "talosAPICertificateAuthorityData";

/** The certificate authority of which the facts of a cluster tell, as a kubeconfig has it. */
export function authorityInFacts(cluster: Cluster): string | undefined {
  return certificateData(factOf(cluster, authorityFact));
}

/** A kubeconfig, and what a person should know of it. */
export interface MadeKubeconfig {
  readonly kubeconfig: Kubeconfig;
  readonly notes: readonly string[];
}

/**
 * One kubeconfig for some clusters: cluster, context and user are all called as the cluster is, in the order of the
 * alphabet; the first cluster that has an API is the current one. Clusters without an API are left out.
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
    notes.push(`${name} is left out: no fact has an address of its API that begins with https://`);
    return undefined;
  }
  const written = factOf(cluster, authorityFact);
  const ca = authorityInFacts(cluster) ?? certificateData(options.authorities?.get(name));
  if (ca === undefined && textOf(written) !== undefined) {
    notes.push(
      `${name} has no certificate authority: the fact ${authorityFact} is not PEM in base64`,
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
      return { note: `the fact ${authInfoFact} cannot be used: ${read.problems.join("; ")}` };
    }
    if (!read.isSecret || credentials) return { user: read.user };
    return { note: `the fact ${authInfoFact} holds credentials: add --with-credentials` };
  }
  if (addressesOf(cluster).platform === "openshift") return { user: openShiftUser(api, self) };
  const issuer = textOf(factOf(cluster, "oidcIssuer"));
  const client = textOf(factOf(cluster, "oidcClientId"));
  if (issuer !== undefined && client !== undefined) return kubeloginUser(issuer, client, allowExec);
  return { note: "no fact says how to sign in" };
}

/** The user of an OpenShift cluster: our own plugin, told of the cluster by whoever starts it. */
function openShiftUser(api: URL, [command = "", ...before]: readonly string[]): AuthInfo {
  return {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command,
      args: [...before, "exec-credential", `--server=${api.origin}`],
      // Certificate authority and door stand in the kubeconfig only.
      provideClusterInfo: true,
      // It has a browser to ask with: what kubectl reads is kubectl's.
      interactiveMode: "Never",
    },
  };
}

/** The user of a cluster that signs in with OpenID Connect, as the plugin kubelogin does it. */
function kubeloginUser(issuer: string, client: string, allowExec: readonly string[]): FoundUser {
  const url = URL.parse(issuer);
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "" || issuer.length > 2000) {
    return { note: "the fact oidcIssuer is not an address that begins with https://" };
  }
  if (!/^[\x21-\x7e]{1,500}$/.test(client)) return { note: "the fact oidcClientId is not one word" };
  if (!allowExec.includes("kubelogin")) return { note: "allowExec does not name kubelogin" };
  return {
    user: {
      exec: {
        apiVersion: "client.authentication.k8s.io/v1",
        command: "kubelogin",
        args: [
          "get-token",
          // An issuer is compared letter by letter.
          `--oidc-issuer-url=${issuer}`,
          `--oidc-client-id=${client}`,
          // What API servers tell people by. kubelogin asks for neither, and not every provider gives them unasked.
          "--oidc-extra-scope=email",
          "--oidc-extra-scope=profile",
        ],
        installHint: "kubelogin is needed to sign in: https://github.com/int128/kubelogin",
        provideClusterInfo: false,
        interactiveMode: "IfAvailable",
      },
    },
  };
}
