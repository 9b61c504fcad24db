import { parseAllDocuments } from "yaml";
import { type EgressKindsOptions, makeEgressKinds } from "./egress_kinds.ts";
import { KubeCluster, type KubeClusterOptions, type KubeUser } from "./kube_cluster.ts";
import type { KubeObject } from "./kube_objects.ts";
import type { KubeRule } from "./kube_role.ts";
import { eventually } from "./peer_program.ts";
import { Household, type Instance } from "./postern_process.ts";

/** The fields of `Proxy/cluster` that tests read. */
export interface ProxyView {
  readonly metadata: { readonly generation: number; readonly resourceVersion: string };
  readonly status?: {
    readonly httpProxy?: string;
    readonly httpsProxy?: string;
    readonly noProxy?: string;
    readonly conditions?: readonly ConditionView[];
  };
}

export interface ConditionView {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
}

/** The contents of the report. */
export interface ReportView {
  readonly accepted: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly conditions: readonly ConditionView[];
  readonly endpoints: readonly {
    readonly url: string;
    readonly isReady: boolean;
    readonly attempts: number;
    readonly message: string;
  }[];
}

/** The entries that every platform adds, for the networks of the lab. */
export const baseNoProxy =
  ".cluster.local,.svc,10.0.0.0/16,10.128.0.0/14,127.0.0.1,172.30.0.0/16,api-int.c.example.com,localhost";

const namespace = "postern-egress";
const proxies = "/apis/config.openshift.io/v1/proxies";

/** A real cluster of platform `None` with OpenShift's proxy kinds, and controllers for them. */
export class EgressLab implements AsyncDisposable {
  readonly cluster: KubeCluster;
  readonly home: Household;
  readonly #kubeconfig: string;

  private constructor(cluster: KubeCluster, home: Household, kubeconfig: string) {
    this.cluster = cluster;
    this.home = home;
    this.#kubeconfig = kubeconfig;
  }

  static async start(
    kubernetes: string,
    options: EgressKindsOptions & KubeClusterOptions = {},
  ): Promise<EgressLab> {
    await using started = new AsyncDisposableStack();
    const cluster = started.use(await KubeCluster.start(kubernetes, options));
    await makeEgressKinds(cluster, options);
    for (const name of ["openshift-config", "openshift-config-managed", namespace]) {
      await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    }
    const home = started.use(await Household.open());
    const lab = new EgressLab(cluster, home, await cluster.writeKubeconfig());
    await lab.platform();
    await lab.#expectReached();
    started.move();
    return lab;
  }

  /** Fails early if the program cannot reach the cluster. */
  async #expectReached(): Promise<void> {
    const { code, stderr } = await this.home.run(["egress", "no-proxy", "--kubeconfig", this.#kubeconfig]);
    if (code !== 0) throw new Error(stderr);
  }

  /** Creates Infrastructure, Network and install-config like an installer. */
  platform(): Promise<void> {
    return makePlatform(this.cluster);
  }

  map(
    namespace: string,
    name: string,
    data: Readonly<Record<string, string>>,
    more: object = {},
  ): KubeObject {
    return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name, ...more }, data };
  }

  /** Starts a replica. `system` is its SSL_CERT_FILE; by default it ignores the system's authorities. */
  async controller(
    args: readonly string[] = [],
    { system = "omit", as = "admin" }: { readonly system?: string; readonly as?: KubeUser } = {},
  ): Promise<Instance> {
    const env: Record<string, string> = system === "omit" ? {} : { SSL_CERT_FILE: system };
    const kubeconfig = as === "admin"
      ? this.#kubeconfig
      : await this.cluster.writeKubeconfig({ name: `${as}.kubeconfig`, token: this.cluster.token(as) });
    const controller = this.home.start([
      "egress",
      "controller",
      `--kubeconfig=${kubeconfig}`,
      `--namespace=${namespace}`,
      "--health-host=127.0.0.1",
      "--health-port=0",
      "--lease-duration=6s",
      ...(system === "omit" ? ["--system-trust=omit"] : []),
      ...args,
    ], { env });
    await controller.ready;
    return controller;
  }

  /** Reads a replica's metrics, by names with labels. */
  async metrics(controller: Instance): Promise<ReadonlyMap<string, number>> {
    const text = await (await fetch(`http://${await controller.address()}/metrics`)).text();
    return new Map(
      [...text.matchAll(/^([a-z]\S+) (\S+)$/gm)].map(([, name = "", value]) => [name, Number(value)]),
    );
  }

  /** Grants a user exactly the controller's rights of the manifests. */
  async allow(user: KubeUser): Promise<void> {
    for (const { namespace, rules } of await roles()) await this.cluster.allow(user, namespace, rules);
  }

  /** Returns the controller's cluster-wide rules in the manifests. */
  async rules(): Promise<readonly KubeRule[]> {
    return (await roles()).filter(({ namespace }) => namespace === undefined).flatMap(({ rules }) => rules);
  }

  /** Writes the spec like an administrator, retries after a conflict, and returns its generation. */
  async edit(spec: Readonly<Record<string, unknown>>, name = "cluster"): Promise<number> {
    let written: ProxyView | undefined;
    await eventually(`the spec of ${name} is stored`, async () => {
      written = await this.#tryEdit(spec, name);
      return written !== undefined;
    });
    return written?.metadata.generation ?? 0;
  }

  async #tryEdit(spec: Readonly<Record<string, unknown>>, name: string): Promise<ProxyView | undefined> {
    const answer = await this.cluster.ask("GET", `${proxies}/${name}`);
    const before = await answer.json();
    const kind = { apiVersion: "config.openshift.io/v1", kind: "Proxy", metadata: { name } };
    const written = answer.ok
      ? await this.cluster.ask("PUT", `${proxies}/${name}?fieldManager=tests`, { ...before, spec })
      : await this.cluster.ask("POST", `${proxies}?fieldManager=tests`, { ...kind, spec });
    const text = await written.text();
    if (written.ok) return JSON.parse(text);
    if (written.status === 409) return undefined;
    throw new Error(`Cannot write the spec of ${name}: ${written.status} ${text}`);
  }

  async proxy(): Promise<ProxyView> {
    return await this.cluster.json("GET", `${proxies}/cluster`) as ProxyView;
  }

  /** Returns the three accepted settings; empty if not set. */
  async status(): Promise<readonly string[]> {
    const { status = {} } = await this.proxy();
    return [status.httpProxy ?? "", status.httpsProxy ?? "", status.noProxy ?? ""];
  }

  /** Reads the text of a bundle. */
  async bundle(
    namespace = "openshift-config-managed",
    name = "trusted-ca-bundle",
  ): Promise<string | undefined> {
    return (await this.mapOf(namespace, name))?.data?.["ca-bundle.crt"];
  }

  async mapOf(
    namespace: string,
    name: string,
  ): Promise<
    | {
      readonly metadata: { readonly resourceVersion: string };
      readonly data?: Readonly<Record<string, string>>;
    }
    | undefined
  > {
    const answer = await this.cluster.ask("GET", `/api/v1/namespaces/${namespace}/configmaps/${name}`);
    const map = await answer.json();
    return answer.ok ? map : undefined;
  }

  async report(): Promise<ReportView | undefined> {
    const data = (await this.mapOf(namespace, "postern-egress-status"))?.data;
    if (!data) return undefined;
    return {
      accepted: data["accepted"] ?? "",
      reason: data["reason"] ?? "",
      message: data["message"] ?? "",
      observedGeneration: Number(data["observedGeneration"]),
      conditions: JSON.parse(data["conditions"] ?? "[]"),
      endpoints: JSON.parse(data["endpoints"] ?? "[]"),
    };
  }

  /** Waits for the controller's report on a generation and returns it. */
  async verdict(
    generation: number,
    about: (report: ReportView) => boolean = () => true,
  ): Promise<ReportView> {
    let last: ReportView | undefined;
    await eventually(`the report has generation ${generation}`, async () => {
      last = await this.report();
      return last?.observedGeneration === generation && about(last);
    }).catch((error) => {
      throw new Error(`${error.message}: ${JSON.stringify(last)}`);
    });
    if (!last) throw new Error("no report");
    return last;
  }

  /** Edits the spec and waits for the report on it. */
  async tried(spec: Readonly<Record<string, unknown>>): Promise<ReportView> {
    return await this.verdict(await this.edit(spec));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }
}

/** Creates Infrastructure, Network and install-config like an installer. */
export async function makePlatform(cluster: KubeCluster): Promise<void> {
  const apiVersion = "config.openshift.io/v1";
  const metadata = { name: "cluster" };
  await cluster.apply(
    { apiVersion, kind: "Infrastructure", metadata, spec: {} },
    {
      apiVersion,
      kind: "Network",
      metadata,
      spec: {},
      status: { serviceNetwork: ["172.30.0.0/16"], clusterNetwork: [{ cidr: "10.128.0.0/14" }] },
    },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "kube-system", name: "cluster-config-v1" },
      data: { "install-config": "networking:\n  machineNetwork:\n  - cidr: 10.0.0.0/16\n" },
    },
  );
  const status = {
    apiServerInternalURI: "https://api-int.c.example.com:6443",
    platformStatus: { type: "None" },
  };
  const path = "/apis/config.openshift.io/v1/infrastructures/cluster/status";
  await cluster.json("PATCH", path, { status }, "application/merge-patch+json");
}

/** Reads the roles of the manifests. */
async function roles(): Promise<
  { readonly namespace: string | undefined; readonly rules: readonly KubeRule[] }[]
> {
  const file = new URL("../../deploy/egress/controller/rights.yaml", import.meta.url);
  return parseAllDocuments(await Deno.readTextFile(file)).flatMap((document) => {
    const { kind, metadata, rules } = document.toJS() as {
      kind: string;
      metadata: { namespace?: string };
      rules: readonly KubeRule[];
    };
    return kind === "ClusterRole" || kind === "Role" ? [{ namespace: metadata.namespace, rules }] : [];
  });
}
