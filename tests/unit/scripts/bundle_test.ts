import assert from "node:assert/strict";
import { bundleEntry, bundleProgram, runDeno } from "../../../scripts/bundle.ts";

/** Everything that is loaded on first use only. A new line here is a decision about start-up time. */
const loadedLater = [
  "@optique/core/completion",
  "src/app/mod.ts",
  "src/cli/all_commands.ts",
  "src/cli/mod.ts",
  "src/cli/yaml_text.ts",
  "src/clusters/emergency/open_pgp_library.ts",
  "src/clusters/kube/kube_yaml.ts",
  "src/clusters/kubeconfig/kubeconfig_text.ts",
  "src/clusters/kube/kubernetes.ts",
  "src/clusters/mod.ts",
  "src/clusters/sign_in/oauth_library.ts",
  "src/config/yaml_library.ts",
  "src/core/mod.ts",
  "src/demo/mod.ts",
  "src/egress/controller/mod.ts",
  "src/listeners/konnectivity/mod.ts",
  "src/listeners/live_page.ts",
  "src/runtime/datagrams.ts",
  "src/runtime/mod.ts",
  "src/runtime/tls.ts",
  "src/runtime/tls_server.ts",
  "src/runtime/trusted_certificates.ts",
  "src/transports/konnectivity/connect_frontend.ts",
  "src/transports/konnectivity/grpc_frontend.ts",
  "src/transports/konnectivity/target_names.ts",
  "src/transports/kubernetes/open_clusters.ts",
  "src/transports/ssh/open_ssh_session.ts",
  "src/transports/ssh/ssh_identities.ts",
  "src/transports/ssh/ssh_private_key.ts",
  "ssh2/lib/keygen.js",
  "ssh2/lib/protocol/Protocol.js",
  "ssh2/lib/protocol/constants.js",
  "ssh2/lib/protocol/crypto.js",
  "ssh2/lib/protocol/crypto/poly1305.js",
  "ssh2/lib/protocol/keyParser.js",
  "ssh2/lib/protocol/utils.js",
  "ssh2/lib/server.js",
];

Deno.test("bundleProgram() gives each dynamic import a chunk of its own", async (t) => {
  const directory = await Deno.makeTempDir({ prefix: "bundle-" });
  try {
    const later = await dynamicImports();
    await t.step("what is loaded later is what this test lists", () => {
      assert.deepEqual(later, [...loadedLater].sort());
    });
    const files = await bundleProgram(directory);
    await t.step("every one has its chunk, and there is no other", () => {
      const entries = files.filter((file) => file !== bundleEntry && !file.startsWith("chunk-"));
      assert.deepEqual(
        entries.map((file) => file.replace(/-[A-Z0-9]{8}\.js$/, "")).sort(),
        later.map(stem).sort(),
      );
    });
    await t.step("little is read before the command is known: `postern version` reads no more", async () => {
      const size = await sizeWithImports(directory, bundleEntry);
      assert.ok(size < 40_000, `${size} bytes`);
    });
    await t.step("only OpenPGP loads what node needs for a `require` of its own", async () => {
      const loading = [];
      for (const file of files) {
        if (/from "node:module"/.test(await Deno.readTextFile(`${directory}/${file}`))) loading.push(file);
      }
      assert.match(loading.join(), /^open_pgp_library-[A-Z0-9]{8}\.js$/);
    });
    await t.step("no chunk tells where it was built, nor where its packages were", async () => {
      const root = decodeURIComponent(new URL("../../..", import.meta.url).pathname);
      const { denoDir } = JSON.parse(await runDeno(["info", "--json"]));
      for (const file of files) {
        const text = await Deno.readTextFile(`${directory}/${file}`);
        for (const place of [root, denoDir.replace(/^\//, ""), "../npm/", "postern-bundle-"]) {
          assert.ok(!text.includes(place), `${file} has ${place}`);
        }
      }
    });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

/** How much a chunk makes the runtime read: itself and what it imports statically. */
async function sizeWithImports(directory: string, first: string): Promise<number> {
  const files = new Set([first]);
  let size = 0;
  for (const file of files) {
    const text = await Deno.readTextFile(`${directory}/${file}`);
    size += text.length;
    for (const [, imported = ""] of text.matchAll(/^(?:import|export)\b[^;"]*?"\.\/([^"]+)";$/gm)) {
      files.add(imported);
    }
  }
  return size;
}

Deno.test("nothing of the clusters is loaded before somebody has a catalogue, or uses a cluster", async () => {
  const root = new URL("../../../", import.meta.url).href;
  const isCluster = (specifier: string) =>
    specifier.startsWith(`${root}src/clusters/`) ||
    specifier.startsWith(`${root}src/egress/controller/`) ||
    specifier === `${root}src/transports/kubernetes/open_clusters.ts`;
  const modules = new Map((await modulesOf(root)).map((module) => [module.specifier ?? "", module]));
  const later = (await dynamicImports()).map((path) => `${root}${path}`).filter((file) => modules.has(file));
  const loaded = new Set([`${root}main.ts`, ...later.filter((file) => !isCluster(file))]);
  for (const file of loaded) {
    for (const { code, isDynamic } of modules.get(file)?.dependencies ?? []) {
      if (!isDynamic && code?.specifier !== undefined) loaded.add(code.specifier);
    }
  }
  assert.ok(loaded.size > 100);
  assert.deepEqual([...loaded].filter(isCluster), []);
});

interface Module {
  readonly specifier?: string;
  readonly dependencies?: readonly Dependency[];
}

interface Dependency {
  readonly specifier: string;
  readonly isDynamic?: boolean;
  readonly code?: { readonly specifier?: string };
}

/** What the program imports dynamically: files of the project by path, packages by name. */
async function dynamicImports(): Promise<string[]> {
  const root = new URL("../../../", import.meta.url).href;
  const found = (await modulesOf(root))
    .flatMap((module) => module.dependencies ?? [])
    .filter((dependency) => dependency.isDynamic && !dependency.specifier.startsWith("node:"))
    .map(({ code, specifier }) =>
      code?.specifier?.startsWith(root) ? code.specifier.slice(root.length) : specifier
    );
  return [...new Set(found)].sort();
}

/** The project's own modules. */
async function modulesOf(root: string): Promise<Module[]> {
  const { modules } = JSON.parse(await runDeno(["info", "--json", `${root}main.ts`]));
  return (modules as Module[]).filter((module) => module.specifier?.startsWith(root));
}

/** The name that a chunk gets from its module. */
function stem(module: string): string {
  return module.replace(/^.*\//, "").replace(/\.[jt]s$/, "");
}
