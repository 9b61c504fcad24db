import assert from "node:assert/strict";
import { parse } from "yaml";
import { type Block, blocksOf, readPages, wordOf } from "./blocks.ts";
import { isConfiguration } from "./configurations.ts";

const byCi = "one of the stages of .ci/run";
const window = "opens a browser with a window; tests/interop/chromium_test.ts has one without";
const released = "fetches a release; tests/interop/install_script_test.ts has one of its own";
const others = "another program reads this, which is not here";
const sidecars = "for pods of HyperShift, with their paths; tests/interop/hypershift_test.ts";
const tokens = "says only what is different; tests/interop/konnectivity_cluster_test.ts has all of it";

/** What does not run in a test, by page and first line, and why. */
const leftOut: Readonly<Record<string, string>> = {
  "CONTRIBUTING.md: npx --yes deno@2.9.6 task demo    # the door in a private little world": byCi,
  "README.md: npx --yes deno@2.9.6 task demo": byCi,
  "README.md: npx --yes deno@2.9.6 task compile     # dist/postern and dist/postern.sha256": byCi,
  "README.md: curl -fsSL URL/install.sh | sh                                    # --help, --version, --to":
    released,
  "docs/guide/deployment.md: deno task compile && deno task image": byCi,
  'docs/guide/laptop.md: chromium --user-data-dir="$HOME/.config/chromium-corp" --proxy-pac-url=http://localhost:12000/proxy.pac':
    window,
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

Deno.test("every block of the pages that can run is run, and every other one is named with its reason", async () => {
  const still: string[] = [];
  for (const [path, page] of await readPages()) {
    for (const block of blocksOf(page).filter((block) => isOfInterest(block) && !isProved(block))) {
      still.push(`${path}: ${block.text.split("\n")[0]}`);
      if (block.language === "yaml") parse(block.text);
    }
  }
  assert.deepEqual(still.toSorted(), Object.keys(leftOut).toSorted());
});

Deno.test("the first connection is five commands of the README away, and these are run", async () => {
  const readme = (await readPages()).get("README.md") ?? "";
  const [block] = blocksOf(readme.slice(readme.indexOf("## Five commands to a first connection")));
  assert.ok(block && isProved(block));
  const commands = block.text.split("\n");
  assert.equal(commands.length, 5);
  assert.ok(commands.every((line) => !/&&|;|\\$/.test(line)), "one command a line");
  assert.match(block.prints ?? "", /goes to direct/);
});

Deno.test("isProved() takes what is run, saved or a configuration, and nothing else", () => {
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

/** Commands, also where they stand among what they print, and YAML. */
function isOfInterest({ language, text }: Block): boolean {
  return ["sh", "bash", "console", "yaml"].includes(language) || /^\$ /m.test(text);
}

function isProved(block: Block): boolean {
  return wordOf(block, "file") !== undefined || block.language === "sh" && block.words[0] === "run" ||
    isConfiguration(block);
}
