import assert from "node:assert/strict";
import { readKubeConfig } from "../../src/kube/api/kube_config.ts";
import { instanceKubeconfigs } from "../../src/plan/kubeconfigs.ts";
import { writtenKubeconfigs } from "../../src/plan/mod.ts";
import { PosternError } from "../../src/words/mod.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { MemoryWorld } from "../support/memory_world.ts";
import { peerTest } from "../support/peers.ts";

/** The files of the lists; each has contexts, clusters and users that others have too. */
const kubeconfigs: Readonly<Record<string, unknown>> = {
  "home/.kube/config": config("usual", "lab", ["lab", "other"]),
  "a.yaml": config("a", undefined, ["lab"]),
  "b/b.yaml": config("b", "other", ["lab", "other"]),
  "c.yaml": {
    "current-context": "gone",
    contexts: [{ name: "gone", context: { cluster: "none", user: "u" } }],
  },
  "d.yaml": config("d", "lab", ["only"]),
  "e/users.yaml": { users: [{ name: "u", user: { token: "of users" } }] },
  "empty.yaml": {},
};

const lists = [
  undefined,
  "",
  "a.yaml",
  "b/b.yaml",
  "a.yaml:b/b.yaml",
  "b/b.yaml:a.yaml",
  "missing.yaml:b/b.yaml:missing/too",
  ":b/b.yaml::a.yaml:",
  "empty.yaml:d.yaml:a.yaml",
  "d.yaml:b/b.yaml",
  "a.yaml:d.yaml:b/b.yaml:a.yaml",
  "./b/../b/b.yaml:a.yaml",
  "c.yaml:a.yaml",
  "e/users.yaml:b/b.yaml",
  "missing.yaml:none",
];

peerTest(
  "an instance merges a list of kubeconfigs into the same context, cluster and user as kubectl",
  ["kubectl"],
  async ({ kubectl }, t) => {
    const directory = await Deno.realPath(await Deno.makeTempDir({ prefix: "lists-" }));
    try {
      for (const [path, value] of Object.entries(kubeconfigs)) {
        const below = `${directory}/${path}`.replace(/\/[^/]*$/, "");
        await Deno.mkdir(below, { recursive: true });
        await Deno.writeTextFile(`${directory}/${path}`, JSON.stringify(value));
        await Deno.writeTextFile(`${below}/ca.crt`, `of ${below}`);
      }
      for (const list of lists) {
        await t.step(list ?? "nothing", async () => {
          const theirs = await ofKubectl(kubectl, list, directory);
          assert.deepEqual(await ofPostern(list, directory), theirs);
        });
      }
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
);

peerTest(
  "writtenKubeconfigs() starts with the file that kubectl writes to",
  ["kubectl"],
  async ({ kubectl }, t) => {
    for (const existing of [["b"], ["a", "c"], ["b", "c"], []]) {
      await t.step(existing.join(" ") || "no file", async () => {
        const directory = await Deno.makeTempDir({ prefix: "lists-" });
        try {
          for (const name of existing) await Deno.writeTextFile(`${directory}/${name}`, "{}");
          const env = { KUBECONFIG: ["a", "b", "c"].map((name) => `${directory}/${name}`).join(":") };
          const { process, places } = new MemoryWorld({ env });
          const [written] = await writtenKubeconfigs({ process, places, files: createFiles(systemClock) });
          const args = ["config", "set-credentials", "robot", "--token=t"];
          const { code } = await new Deno.Command(kubectl, { args, env, clearEnv: true }).output();
          assert.equal(code, 0);
          const has = [...Deno.readDirSync(directory)].filter(({ name }) =>
            Deno.readTextFileSync(`${directory}/${name}`).includes("robot")
          );
          assert.deepEqual(has.map(({ name }) => `${directory}/${name}`), [written]);
        } finally {
          await Deno.remove(directory, { recursive: true });
        }
      });
    }
  },
);

/** The user and server of the sign-in. */
interface Used {
  readonly context: string;
  readonly server: string;
  readonly ca: string;
  readonly token: string | undefined;
  readonly namespace: string;
}

async function ofPostern(list: string | undefined, directory: string): Promise<Used | "unusable"> {
  const { process, places } = new MemoryWorld({ env: list === undefined ? {} : { KUBECONFIG: list } });
  const paths = instanceKubeconfigs({
    process: { ...process, directory },
    places: { ...places, home: `${directory}/home` },
  });
  try {
    const read = await readKubeConfig(createFiles(systemClock), paths);
    const context = read.currentContext ?? "";
    const { cluster, user, namespace } = read.context(context);
    const ca = cluster.ca && "file" in cluster.ca ? await Deno.readTextFile(cluster.ca.file) : "";
    return { context, server: cluster.server.host, ca, token: user.token, namespace };
  } catch (error) {
    if (error instanceof PosternError && error.code === "config") return "unusable";
    throw error;
  }
}

async function ofKubectl(
  kubectl: string,
  list: string | undefined,
  directory: string,
): Promise<Used | "unusable"> {
  const { code, stdout } = await new Deno.Command(kubectl, {
    args: ["config", "view", "--raw", "--minify", "--flatten", "-o", "json"],
    env: { HOME: `${directory}/home`, ...(list !== undefined && { KUBECONFIG: list }) },
    clearEnv: true,
    cwd: directory,
  }).output();
  if (code !== 0) return "unusable";
  const shown = JSON.parse(new TextDecoder().decode(stdout));
  const [{ cluster }, { context }, { user }] = [shown.clusters[0], shown.contexts[0], shown.users[0]];
  return {
    context: shown["current-context"],
    server: new URL(cluster.server).host,
    ca: atob(cluster["certificate-authority-data"]),
    token: user.token,
    namespace: context.namespace,
  };
}

/** A kubeconfig whose contexts, clusters and users contain the name of their file. */
function config(file: string, current: string | undefined, contexts: readonly string[]): unknown {
  return {
    ...(current !== undefined && { "current-context": current }),
    contexts: contexts.map((name) => ({
      name,
      context: { cluster: "c", user: "u", namespace: `${name}-${file}` },
    })),
    clusters: [{
      name: "c",
      cluster: { server: `https://${file}.localhost:6443`, "certificate-authority": "ca.crt" },
    }],
    users: [{ name: "u", user: { token: `of ${file}` } }],
  };
}
