import assert from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import { copyTree } from "../../scripts/copy_tree.ts";
import type { KubeObject } from "./kube_objects.ts";
import { type PeerOptions, runPeer } from "./peer_program.ts";
import { Household } from "./postern_process.ts";

/** The fields of a rendered container that tests read. */
export interface ManifestContainer {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  readonly [probe: string]: unknown;
}

/** The pod template of a Deployment or DaemonSet. */
export interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly ManifestContainer[];
    readonly initContainers?: readonly ManifestContainer[];
    readonly volumes?: readonly {
      readonly name: string;
      readonly secret?: { readonly secretName: string };
    }[];
    readonly [field: string]: unknown;
  };
}

/** A copy of the manifests of `deploy/`, with the certificates and files that their examples need. */
export class Manifests implements AsyncDisposable {
  readonly directory: string;
  readonly #kubectl: string;
  readonly #home: Household;

  private constructor(kubectl: string, home: Household) {
    this.#kubectl = kubectl;
    this.#home = home;
    this.directory = `${home.directory}/deploy`;
  }

  static async create(kubectl: string, { guest = "{}" } = {}): Promise<Manifests> {
    const manifests = new Manifests(kubectl, await Household.open());
    try {
      await manifests.#fill(guest);
      return manifests;
    } catch (error) {
      await manifests[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Writes a kustomization next to the others and returns its directory. */
  async write(name: string, text: string): Promise<string> {
    await Deno.mkdir(`${this.directory}/${name}`, { recursive: true });
    await Deno.writeTextFile(`${this.directory}/${name}/kustomization.yaml`, text);
    return name;
  }

  /** Renders the objects of a kustomization. */
  async render(name: string): Promise<KubeObject[]> {
    const text = await this.run(["kustomize", `${this.directory}/${name}`]);
    return parseAllDocuments(text).map((document) => document.toJS());
  }

  /** Runs kubectl, which must neither fail nor warn. */
  async run(args: readonly string[], options: PeerOptions & { stdin?: string } = {}): Promise<string> {
    const env = { HOME: this.#home.directory };
    const { code, stdout, stderr } = await runPeer(this.#kubectl, args, { env, ...options });
    assert.equal(code, 0, `kubectl ${args.join(" ")}: ${stderr}`);
    assert.equal(stderr, "", `kubectl ${args.join(" ")}`);
    return stdout;
  }

  async #fill(guest: string): Promise<void> {
    await copyTree(new URL("../../deploy", import.meta.url).pathname, this.directory);
    const servers = `${this.directory}/konnectivity/examples/servers`;
    const certs = `${servers}/certs`;
    const { code, stderr } = await this.#home.run([
      "konnectivity",
      "certs",
      certs,
      "--san",
      "servers.example",
    ]);
    assert.equal(code, 0, stderr);
    await Deno.writeTextFile(`${servers}/guest.kubeconfig`, guest);
    // Exactly the files that the examples require.
    await this.#copyCerts("agents", [
      "agent/issued/ca.crt",
      "agent/issued/proxy-agent.crt",
      "agent/private/proxy-agent.key",
    ]);
    const client = ["issued/ca.crt", "issued/proxy-client.crt", "private/proxy-client.key"];
    await this.#copyCerts("sidecar", client.map((path) => `frontend/${path}`));
    await Deno.writeTextFile(`${this.directory}/konnectivity/examples/sidecar/sidecar.kubeconfig`, guest);
  }

  async #copyCerts(example: string, paths: readonly string[]): Promise<void> {
    const [from, to] = ["servers", example].map((name) =>
      `${this.directory}/konnectivity/examples/${name}/certs`
    );
    for (const path of paths) {
      await Deno.mkdir(`${to}/${path.replace(/\/[^/]*$/, "")}`, { recursive: true });
      await Deno.copyFile(`${from}/${path}`, `${to}/${path}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#home[Symbol.asyncDispose]();
  }
}

/** Returns the pod template of an object. */
export function templateOf(object: KubeObject): PodTemplate | undefined {
  const { spec } = object as { spec?: { template?: PodTemplate } };
  return spec?.template;
}

/** Returns all postern containers of a template. */
export function containersOf({ spec }: PodTemplate): ManifestContainer[] {
  return [...spec.containers, ...spec.initContainers ?? []].filter(({ image }) =>
    /(^|\/)postern:/.test(image)
  );
}
