import assert from "node:assert/strict";
import { parse } from "yaml";
import { type Block, blocksOf, readPages, wordOf } from "./blocks.ts";
import { isConfiguration } from "./configurations.ts";

const byCi = "one of the stages of .ci/run";
const window = "opens a browser with a window; tests/interop/chromium_test.ts has one without";
const desktop = "changes the settings of a desktop; tests/interop/system_proxy_test.ts";
const released = "fetches a release; tests/interop/install_script_test.ts uses a local one";
const others = "for another program, which the tests do not have";
const sidecars = "for pods of HyperShift, with their paths; tests/interop/hypershift_test.ts";
const asking = "asks at a terminal; tests/cli/setup_test.ts";
const containers = "needs docker; tests/interop/container_test.ts has a container without it";
const application = "for a program of the reader; tests/interop/programs_databases_test.ts has a JDBC shell";
const tokens = "an excerpt; tests/interop/konnectivity_cluster_test.ts has the whole command";

/** Blocks that no test runs, by page and first line, with the reason. */
const leftOut: Readonly<Record<string, string>> = {
  "CONTRIBUTING.md: npx --yes deno@2.9.6 task demo    # a self-contained simulation": byCi,
  "README.md: npx --yes deno@2.9.6 task demo": byCi,
  "docs/guide/start.md: npx --yes deno@2.9.6 task compile     # dist/postern and dist/postern.sha256": byCi,
  "docs/guide/start.md: postern setup": asking,
  "README.md: curl -fsSL URL/install.sh | sh                                    # --help, --version, --to":
    released,
  "docs/guide/start.md: curl -fsSL URL/install.sh | sh                                    # --help, --version, --to":
    released,
  "docs/guide/deployment.md: deno task compile && deno task image": byCi,
  'docs/guide/laptop.md: chromium --user-data-dir="$HOME/.config/chromium-corp" --proxy-pac-url=http://localhost:12000/proxy.pac':
    window,
  "docs/guide/laptop.md: postern system-proxy on": desktop,
  "docs/guide/docker.md: docker run --rm --network host --env http_proxy --env https_proxy --env no_proxy IMAGE":
    containers,
  "docs/guide/docker.md: docker run --rm --add-host=host.docker.internal:host-gateway IMAGE": containers,
  "docs/guide/docker.md: (http_proxy=$(jq -r .proxies.default.httpProxy proxies.json)": containers,
  "docs/guide/docker.md: http_proxy=http://host.containers.internal:12000 podman run --rm IMAGE": containers,
  "docs/guide/databases.md: java -DsocksProxyHost=127.0.0.1 -DsocksProxyPort=12000 -jar app.jar    # jdbc:postgresql://db.apps.example.net/shop":
    application,
  "docs/guide/ci.md: # .github/workflows/deploy.yml, the steps of a job": others,
  "docs/guide/ci.md: # .gitlab-ci.yml": others,
  "docs/guide/emergency.md: # the password of the resource": others,
  "docs/guide/laptop.md: clusters:": others,
  "docs/guide/laptop.md: git -c http.proxy=socks5h://localhost:12000 clone https://git.lab.corp.example/tools.git":
    others,
  "docs/guide/konnectivity.md: export KUBECONFIG=/etc/kubernetes/kubeconfig": sidecars,
  "docs/guide/konnectivity.md: postern konnectivity server … --cluster-cert=server.crt --cluster-key=server.key \\":
    tokens,
};

Deno.test("tests run every block of the pages, except those listed with a reason", async () => {
  const still: string[] = [];
  for (const [path, page] of await readPages()) {
    for (const block of blocksOf(page).filter((block) => isOfInterest(block) && !isProved(block))) {
      still.push(`${path}: ${block.text.split("\n")[0]}`);
      if (block.language === "yaml") parse(block.text);
    }
  }
  assert.deepEqual(still.toSorted(), Object.keys(leftOut).toSorted());
});

Deno.test("the first connection of docs/guide/start.md takes five commands, and a test runs them", async () => {
  const page = (await readPages()).get("docs/guide/start.md") ?? "";
  const [block] = blocksOf(page.slice(page.indexOf("## Five commands")));
  assert.ok(block && isProved(block));
  const commands = block.text.split("\n");
  assert.equal(commands.length, 5);
  assert.ok(commands.every((line) => !/&&|;|\\$/.test(line)), "one command a line");
  assert.match(block.prints ?? "", /goes to direct/);
});

Deno.test("the first two commands of README.md are the demo and the tests", async () => {
  const [block] = blocksOf((await readPages()).get("README.md") ?? "");
  assert.equal(block?.text, "npx --yes deno@2.9.6 task demo\nnpx --yes deno@2.9.6 task test");
});

Deno.test("README.md has at most 130 lines", async () => {
  const lines = ((await readPages()).get("README.md") ?? "").trimEnd().split("\n");
  assert.ok(lines.length <= 130, `${lines.length} lines`);
});

Deno.test("isProved() accepts only run blocks, saved blocks and configurations", () => {
  const proved = (fence: string, text: string) =>
    blocksOf(`\`\`\`${fence}\n${text}\n\`\`\`\n`).map((block) => [isOfInterest(block), isProved(block)]);
  assert.deepEqual(proved("sh run with=ssh", "postern test"), [[true, true]]);
  assert.deepEqual(proved("sh", "postern test"), [[true, false]]);
  assert.deepEqual(proved("console", "$ postern test"), [[true, false]]);
  assert.deepEqual(proved("yaml", "routes: []"), [[true, true]]);
  assert.deepEqual(proved("yaml", "kind: Proxy"), [[true, false]]);
  assert.deepEqual(proved("yaml file=proxy.yaml", "kind: Proxy"), [[true, true]]);
  assert.deepEqual(proved("text", "$ postern test"), [[true, false]]);
  assert.deepEqual(proved("text", "ready"), [[false, false]]);
});

/** Whether a block has commands, also mixed with their output, or YAML. */
function isOfInterest({ language, text }: Block): boolean {
  return ["sh", "bash", "console", "yaml"].includes(language) || /^\$ /m.test(text);
}

function isProved(block: Block): boolean {
  return wordOf(block, "file") !== undefined || block.language === "sh" && block.words[0] === "run" ||
    isConfiguration(block);
}
