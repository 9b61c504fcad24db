import assert from "node:assert/strict";
import { bundleEntry, bundleProgram, runDeno } from "../../../scripts/bundle.ts";

/** All modules that postern loads on first use. A new line here is a decision about start-up time. */
const loadedLater = [
  "@optique/core/completion",
  "src/catalogue/mod.ts",
  "src/cli/instance/plain_nc.ts",
  "src/cli/line/all_commands.ts",
  "src/cli/line/run_line.ts",
  "src/cli/mod.ts",
  "src/cli/output/yaml_text.ts",
  "src/clusters/mod.ts",
  "src/config/yaml_library.ts",
  "src/control/mod.ts",
  "src/core/mod.ts",
  "src/demo/mod.ts",
  "src/doctor/mod.ts",
  "src/egress/controller/mod.ts",
  "src/egress/mod.ts",
  "src/emergency/mod.ts",
  "src/emergency/open_pgp_library.ts",
  "src/fleet/mod.ts",
  "src/http/mod.ts",
  "src/instance/mod.ts",
  "src/instances/mod.ts",
  "src/konnectivity/mod.ts",
  "src/konnectivity/server/mod.ts",
  "src/kube/api/kube_yaml.ts",
  "src/kube/api/kubernetes.ts",
  "src/kube/config/kubeconfig_text.ts",
  "src/kube/mod.ts",
  "src/listeners/mod.ts",
  "src/listeners/pages/live_page.ts",
  "src/plan/mod.ts",
  "src/programs/mod.ts",
  "src/resolver/mod.ts",
  "src/roles/mod.ts",
  "src/runtime/mod.ts",
  "src/runtime/network/datagrams.ts",
  "src/runtime/tls/tls.ts",
  "src/runtime/tls/tls_server.ts",
  "src/runtime/tls/trusted_certificates.ts",
  "src/service/mod.ts",
  "src/setup/insert_proposal.ts",
  "src/setup/mod.ts",
  "src/signin/mod.ts",
  "src/signin/oauth_library.ts",
  "src/ssh/keys/ssh_identities.ts",
  "src/ssh/keys/ssh_private_key.ts",
  "src/ssh/session/open_ssh_session.ts",
  "src/start/mod.ts",
  "src/wire/spdy/spdy_session.ts",
  "ssh2/lib/keygen.js",
  "ssh2/lib/protocol/Protocol.js",
  "ssh2/lib/protocol/constants.js",
  "ssh2/lib/protocol/crypto.js",
  "ssh2/lib/protocol/crypto/poly1305.js",
  "ssh2/lib/protocol/keyParser.js",
  "ssh2/lib/protocol/utils.js",
  "ssh2/lib/server.js",
];

Deno.test("bundleProgram() writes one chunk for each dynamic import", async (t) => {
  const directory = await Deno.makeTempDir({ prefix: "bundle-" });
  try {
    const later = await dynamicImports();
    await t.step("the dynamic imports are those listed in this test", () => {
      assert.deepEqual(later, [...loadedLater].sort());
    });
    const files = await bundleProgram(directory);
    await t.step("every dynamic import has a chunk, and there are no other chunks", () => {
      const entries = files.filter((file) => file !== bundleEntry && !file.startsWith("chunk-"));
      assert.deepEqual(
        entries.map((file) => file.replace(/-[A-Z0-9]{8}\.js$/, "")).sort(),
        later.map(stem).sort(),
      );
    });
    await t.step(
      "the code before the command's own is small: `postern version` loads only that",
      async () => {
        const size = await sizeWithImports(directory, bundleEntry);
        assert.ok(size < 40_000, `${size} bytes`);
      },
    );
    await t.step("the bundle has the program's packages and none of the tests", async () => {
      const packages = new Set<string>();
      for (const file of files) {
        const text = await Deno.readTextFile(`${directory}/${file}`);
        for (
          const [, name = ""] of text.matchAll(/^\/\/ \S*node_modules\/((?:@[^/\s]+\/)?[^./\s][^/\s]*)\//gm)
        ) {
          packages.add(name);
        }
      }
      assert.deepEqual([...packages].sort(), [
        ...[
          "@optique/core",
          "asn1",
          "bcrypt-pbkdf",
          "oauth4webapi",
          "openpgp",
          "pako",
          "safer-buffer",
          "ssh2",
        ],
        ...["tlds", "tweetnacl", "yaml"],
      ]);
    });
    await t.step("no chunk names another one that Deno would then read before the start", async () => {
      for (const file of files) {
        assert.doesNotMatch(await Deno.readTextFile(`${directory}/${file}`), /\bimport\("\.\//, file);
      }
    });
    await t.step("only OpenPGP loads node's library for its own `require`", async () => {
      const loading = [];
      for (const file of files) {
        if (/from "node:module"/.test(await Deno.readTextFile(`${directory}/${file}`))) loading.push(file);
      }
      assert.match(loading.join(), /^open_pgp_library-[A-Z0-9]{8}\.js$/);
    });
    await t.step("no chunk contains the path of its build or its packages", async () => {
      const root = decodeURIComponent(new URL("../../../", import.meta.url).pathname);
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

/** Returns the size of a chunk with its static imports. */
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

/** The rooms that only users of clusters need. */
const clusterRooms = [
  ...["clusters", "signin", "kube", "catalogue", "emergency", "egress/controller"],
  ...["fleet", "roles", "programs", "demo", "setup"],
];

Deno.test("postern loads code for clusters only with a catalogue or a used cluster", async () => {
  const root = new URL("../../../", import.meta.url).href;
  const isCluster = (specifier: string) =>
    clusterRooms.some((room) => specifier.startsWith(`${root}src/${room}/`));
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

/** Returns the program's dynamic imports: files of the project by path, packages by name. */
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

/** Returns the project's modules. */
async function modulesOf(root: string): Promise<Module[]> {
  const { modules } = JSON.parse(await runDeno(["info", "--json", `${root}main.ts`]));
  return (modules as Module[]).filter((module) => module.specifier?.startsWith(root));
}

/** Returns the chunk name of a module. */
function stem(module: string): string {
  return module.replace(/^.*\//, "").replace(/\.[jt]s$/, "");
}
