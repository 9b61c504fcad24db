import { parse } from "yaml";
import { Dex } from "../support/dex.ts";
import { makeEgressKinds } from "../support/egress_kinds.ts";
import { makePlatform } from "../support/egress_lab.ts";
import { KubeCluster } from "../support/kube_cluster.ts";
import { NamedServer } from "../support/kube_door.ts";
import { pod, service } from "../support/kube_objects.ts";
import { Lieutenant, type SynCluster } from "../support/lieutenant.ts";
import type { PeerPaths } from "../support/peers.ts";
import { startMicrosocks, startTinyproxy } from "../support/real_proxies.ts";
import { signInTurn } from "../support/sign_in_port.ts";
import { SshLab, sshPeers, underHosts } from "../support/sshd.ts";
import { tlsFront } from "../support/target_server.ts";
import { testTls } from "../support/tls_files.ts";
import type { Surroundings } from "./document_run.ts";

/** The real programs that documents talk about. */
export const surroundingPeers = [
  ...sshPeers,
  "dex",
  "dig",
  "kubectl",
  "kubelogin",
  "kubernetes",
  "lieutenant",
  "microsocks",
  "tinyproxy",
] as const;

type Paths = PeerPaths<typeof surroundingPeers[number]>;

/** What documents may ask for. */
type Kind = "cluster" | "egress" | "fleet" | "proxies" | "ssh";

/** What is there as well. */
const besides: Readonly<Record<string, readonly string[]>> = { egress: ["cluster"], fleet: ["ssh"] };

/** Real servers around the examples of documents: each kind is started for the first document that asks for it. */
export class RealSurroundings implements AsyncDisposable {
  readonly #paths: Paths;
  readonly #started = new AsyncDisposableStack();
  readonly #kinds = new Map<string, Promise<Surroundings>>();
  /** The cluster, once there is one. */
  readonly #kube = Promise.withResolvers<KubeCluster>();
  readonly #start: Readonly<Record<Kind, () => Promise<Surroundings>>> = {
    cluster: () => this.#cluster(),
    egress: () => this.#egress(),
    fleet: () => this.#fleet(),
    proxies: () => this.#proxies(),
    ssh: () => this.#ssh(),
  };

  constructor(paths: Paths) {
    this.#paths = paths;
  }

  /** Everything of these kinds together. */
  async of(needs: readonly string[]): Promise<Surroundings> {
    const kinds = new Set(needs.flatMap((name) => [...besides[name] ?? [], name]));
    const all = await Promise.all([...kinds].map((kind) => this.#one(kind)));
    return all.reduce((one, other) => ({
      files: { ...one.files, ...other.files },
      env: { ...one.env, ...other.env },
      hosts: [...one.hosts ?? [], ...other.hosts ?? []],
      stands: { ...one.stands, ...other.stands },
      programs: { ...one.programs, ...other.programs },
    }));
  }

  #one(kind: string): Promise<Surroundings> {
    const known = this.#kinds.get(kind);
    if (known) return known;
    if (!isKind(kind, this.#start)) throw new Error(`a document asks for "${kind}"`);
    const started = this.#start[kind]();
    this.#kinds.set(kind, started);
    return started;
  }

  /** Two hosts, one behind the other, and what only the second one knows. */
  async #ssh(): Promise<Surroundings> {
    const lab = this.#started.use(await SshLab.create(this.#paths));
    const known = (...names: string[]) => ({
      hosts: Object.fromEntries(names.map((name) => [name, "127.0.0.1"])),
    });
    const [near, second] = await Promise.all([
      lab.start("jump1", known("management4.example.net", "intranet.corp.example.net")),
      lab.start(
        "management4",
        known("intranet.management.example.net", "db.management.example.net", ...prodNames),
      ),
    ]);
    const site = this.#started.use(new NamedServer("hello from the intranet\n"));
    const port = site.address.split(":")[1];
    for (const { name, port, keys: [key] } of [near, second]) {
      await lab.know(`[${name}.example.net]:${port}`, `${key}.pub`);
    }
    const lines = [
      `Host jump1.example.net\n  Port ${near.port}`,
      `Host management4.example.net\n  Port ${second.port}\n  ProxyJump jump1.example.net`,
      "Host *",
      `  User ${lab.user}`,
      `  IdentityFile ${lab.key}`,
      "  IdentitiesOnly yes",
      `  UserKnownHostsFile ${lab.knownHosts}`,
      "  GlobalKnownHostsFile none",
    ];
    return {
      files: { ".ssh/config": `${lines.join("\n")}\n` },
      hosts: ["jump1.example.net"],
      stands: {
        "//intranet.management.example.net/": `//intranet.management.example.net:${port}/`,
        "db.management.example.net:5432": `db.management.example.net:${port}`,
        "//198.18.0.1/": `//198.18.0.1:${port}/`,
      },
      programs: { dig: `'${this.#paths.dig}'` },
    };
  }

  /** A cluster with a few Services, and a kubeconfig that knows it by three names. */
  async #cluster(): Promise<Surroundings> {
    const cluster = this.#started.use(await KubeCluster.start(this.#paths.kubernetes));
    const site = this.#started.use(new NamedServer("hello from a pod\n"));
    for (const [namespace, name, port] of services) {
      if (namespace !== "default") await cluster.namespace(namespace);
      const labels = { app: name };
      await cluster.apply(
        pod({ name, namespace, labels, targets: { 8080: site.address } }),
        service({ name, namespace, selector: labels, ports: [{ port, targetPort: 8080 }] }),
      );
      await cluster.untilReady(namespace, name);
    }
    this.#kube.resolve(cluster);
    const kubeconfig = parse(cluster.kubeconfig());
    const [{ context }] = kubeconfig.contexts;
    kubeconfig.contexts.push(...["here", "there"].map((name) => ({ name, context })));
    const text = JSON.stringify(kubeconfig);
    return {
      files: { ".kube/config": text, "admin.kubeconfig": text },
      env: { KUBECONFIG_TEXT: text },
      programs: { kubectl: `'${this.#paths.kubectl}'` },
    };
  }

  /** The kinds of a cluster's outbound proxy, and what an installer writes of a cluster. */
  async #egress(): Promise<Surroundings> {
    const cluster = await this.#kube.promise;
    await makeEgressKinds(cluster);
    for (const name of ["openshift-config", "openshift-config-managed", "postern-egress"]) {
      await cluster.namespace(name);
    }
    await makePlatform(cluster);
    return {};
  }

  /** A list of two clusters behind the second ssh host, whoever signs in to it, and somebody at a browser. */
  async #fleet(): Promise<Surroundings> {
    const paths = this.#paths;
    const directory = await Deno.makeTempDir({ prefix: "fleet-" });
    this.#started.defer(() => Deno.remove(directory, { recursive: true }));
    this.#started.use(await turnAsync());
    const { issuer, discoveryUrl } = this.#started.use(await Dex.start(paths.dex, directory));
    const lieutenant = this.#started.use(
      await Lieutenant.start({
        ...paths,
        clusters: (kubernetes) => prodNames.map((name) => prodCluster(name, { kubernetes, issuer })),
        oidc: { issuer, clientId: "lieutenant", discoveryUrl },
      }),
    );
    const script = new URL("./browse.ts", import.meta.url).pathname;
    const tests = new URL("../", import.meta.url).pathname;
    const browser =
      `'${Deno.execPath()}' run --no-prompt --quiet --no-lock --allow-net --allow-env --allow-read='${tests}' '${script}'`;
    return {
      files: { token: Lieutenant.tokens.alice },
      env: { SSL_CERT_FILE: authority, POSTERN_BROWSER: "xdg-open" },
      stands: { "https://api.syn.example.com": lieutenant.url.origin },
      programs: {
        kubectl: `'${paths.kubectl}'`,
        kubelogin: `'${paths.kubelogin}'`,
        "xdg-open": browser,
      },
    };
  }

  /** A company's proxy that wants a password, and one that stands behind it. */
  async #proxies(): Promise<Surroundings> {
    const directory = await Deno.makeTempDir({ prefix: "proxies-" });
    this.#started.defer(() => Deno.remove(directory, { recursive: true }));
    const { tinyproxy, microsocks } = this.#paths;
    const account = { user: "me", password: "secret-of-me" };
    const behind = async (...names: string[]) => ({
      under: await underHosts(
        `${directory}/${names[0]}`,
        Object.fromEntries(names.map((name) => [name, "127.0.0.1"])),
      ),
    });
    const lab = this.#started.use(
      await startMicrosocks(microsocks, undefined, await behind("git.lab.corp.example")),
    );
    const own = await behind("gate.lab.corp.example", "wiki.corp.example");
    const corp = this.#started.use(await startTinyproxy(tinyproxy, directory, account, own));
    const open = this.#started.use(
      await startTinyproxy(tinyproxy, directory, undefined, await behind("site.example.net")),
    );
    const site = this.#started.use(new NamedServer("hello from the company\n"));
    const secure = this.#started.use(tlsFront(site.address, testTls.server));
    const port = site.address.split(":")[1];
    return {
      files: { ".config/postern/corp-password": account.password },
      env: { SSL_CERT_FILE: authority },
      hosts: ["proxy.corp.example", "site.example.net"],
      stands: {
        "=http://proxy.corp.example:3128": `=http://proxy.corp.example:${open.port}`,
        "https://console.example.net/": `https://site.example.net:${secure.port}/`,
        "proxy.corp.example:3128": `proxy.corp.example:${corp.port}`,
        "gate.lab.corp.example:1080": `gate.lab.corp.example:${lab.port}`,
        "//wiki.corp.example/": `//wiki.corp.example:${port}/`,
        "--dial git.lab.corp.example ": `--dial git.lab.corp.example:${port} `,
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started.disposeAsync();
  }
}

/** Who vouches for the servers here. */
const authority = new URL("../support/tls/ca.crt", import.meta.url).pathname;

/** Services of the cluster: namespace, name, port. */
const services = [
  ["default", "productpage", 9080],
  ["shop", "api", 80],
  ["shop", "web", 80],
] as const;

/** Where the APIs of the fleet's clusters are, by names that the certificate of the tests has. */
const prodNames = ["c-prod01", "c-prod02"].map((id) => `${id}.apps.example.net`);

function prodCluster(
  name: string,
  { kubernetes, issuer }: { kubernetes: string; issuer: string },
): SynCluster {
  const [id = ""] = name.split(".");
  return {
    id,
    tenant: "t-a",
    displayName: id.replace("c-prod", "Production "),
    facts: {
      cloud: "exoscale",
      jumphost: "management4.example.net",
      login: JSON.stringify({ token: Lieutenant.tokens.alice }),
    },
    dynamicFacts: {
      talosBaseDomain: name,
      talosApiURL: `https://${name}:${kubernetes.split(":")[1]}`,
      talosAPICertificateAuthorityData: btoa(testTls.ca),
      oidcIssuer: issuer,
      oidcClientId: "lieutenant",
    },
  };
}

function isKind<Name extends string>(name: string, known: Readonly<Record<Name, unknown>>): name is Name {
  return Object.hasOwn(known, name);
}

/** Nobody else signs in meanwhile. */
async function turnAsync(): Promise<AsyncDisposable> {
  const turn = await signInTurn();
  return { [Symbol.asyncDispose]: () => Promise.resolve(turn[Symbol.dispose]()) };
}
