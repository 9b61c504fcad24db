import type { CredentialParts } from "../../src/kube/api/kube_credentials.ts";
import { KubeClient } from "../../src/kube/api/kube_client.ts";
import { readKubeConfig } from "../../src/kube/api/kube_config.ts";
import type { RunOptions, RunResult } from "../../src/world/mod.ts";
import { FakeClock } from "./fake_clock.ts";
import { type FakeAnswer, FakeKubeApi, type FakeRequest } from "./fake_kube_api.ts";
import { MemoryFiles } from "./memory_files.ts";
import { MemoryNetwork } from "./memory_network.ts";

/** A client of a stand-in for an API server, in a world with a fake clock. */
export interface KubeWorld extends AsyncDisposable {
  readonly client: KubeClient;
  readonly api: FakeKubeApi;
  readonly clock: FakeClock;
  readonly files: MemoryFiles;
  /** The credential plugins that ran, with their input. */
  readonly runs: { readonly command: readonly string[]; readonly options: RunOptions }[];
}

export interface KubeWorldOptions {
  readonly answer: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>;
  readonly user?: Readonly<Record<string, unknown>>;
  readonly cluster?: Readonly<Record<string, unknown>>;
  readonly files?: Readonly<Record<string, string>>;
  /** The behavior of a credential plugin. */
  readonly run?: (options: RunOptions) => Promise<RunResult>;
  readonly server?: string;
}

export async function kubeWorld(
  {
    answer,
    user = { token: "secret" },
    cluster = {},
    files: some = {},
    run,
    server = "http://kube.localhost",
  }: KubeWorldOptions,
): Promise<KubeWorld> {
  const clock = new FakeClock();
  const api = new FakeKubeApi(answer);
  const files = new MemoryFiles({ "/kube/config": kubeconfigOf({ server, user, cluster }), ...some });
  const runs: { command: readonly string[]; options: RunOptions }[] = [];
  const process: CredentialParts["process"] = {
    run: (command, options) => {
      runs.push({ command, options });
      return run ? run(options) : Promise.reject(new Error("this test runs no program"));
    },
  };
  const context = (await readKubeConfig(files, ["/kube/config"])).context("lab");
  const client = new KubeClient(context, {
    clock,
    files,
    process,
    network: new MemoryNetwork(),
    dial: api.dial,
    reread: async () => (await readKubeConfig(files, ["/kube/config"])).context("lab").user,
    random: () => 0.5,
  });
  const dispose = async () => {
    await client[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
  };
  return { client, api, clock, files, runs, [Symbol.asyncDispose]: dispose };
}

/** Returns a kubeconfig with one context, `lab`. */
export function kubeconfigOf(
  { server = "https://kube.localhost", user = {}, cluster = {}, context = {} }: {
    readonly server?: string;
    readonly user?: Readonly<Record<string, unknown>>;
    readonly cluster?: Readonly<Record<string, unknown>>;
    readonly context?: Readonly<Record<string, unknown>>;
  },
): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server, ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "lab", context: { cluster: "c", user: "u", ...context } }],
    "current-context": "lab",
  });
}
