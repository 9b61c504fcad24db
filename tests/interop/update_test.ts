import assert from "node:assert/strict";
import { Dex, ScriptedBrowser } from "../support/dex.ts";
import { Lieutenant } from "../support/lieutenant.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { signInTurn } from "../support/sign_in_port.ts";
import { testTls } from "../support/tls_files.ts";

const base = "c-prod01.example.net";
const clusters = [
  {
    id: "c-prod01",
    tenant: "t-a",
    displayName: "Prod01",
    facts: { jumphost: "jump1.example.net", jumphostSkipDomains: `apps.${base}` },
    dynamicFacts: { openshiftBaseDomain: JSON.stringify(base) },
    bootstrapToken: "SECRET-OF-THE-INSTALLATION",
  },
  { id: "c-bare02", tenant: "t-b", displayName: "Bare02" },
] as const;

/** Not a real browser: the test plays it with the printed address. */
const env = { POSTERN_BROWSER: "true" };

peerTest(
  "postern update against dex and Lieutenant: after one sign-in both may be down",
  ["dex", "kubernetes", "lieutenant"],
  async (paths, t) => {
    await using home = await Household.open();
    using _turn = await signInTurn();
    await using dex = await Dex.start(paths.dex, home.directory);
    const { issuer, discoveryUrl } = dex;
    const lieutenant = await Lieutenant.start({
      ...paths,
      clusters,
      oidc: { issuer, clientId: "lieutenant", discoveryUrl },
    });
    await using _lieutenant = lieutenant;
    await Deno.writeTextFile(`${home.directory}/ca.crt`, testTls.ca);
    await home.configure(
      `catalogues:\n  - { lieutenant: "${lieutenant.url.origin}", ca: "${home.directory}/ca.crt" }\n`,
    );

    await t.step("a user without permission gets Lieutenant's error", async () => {
      const { code, stderr } = await withBrowser(home.start(["update"], { env }), "mallory@example.com");
      assert.equal(code, 5, stderr);
      assert.match(stderr, /\npostern: error: Cannot read the clusters of .*: the server returned 403/);
    });
    await t.step("the first update signs in with a browser", async () => {
      const { code, stdout, stderr } = await withBrowser(home.start(["login"], { env }), "alice@example.com");
      assert.equal(code, 0, stderr);
      assert.match(stderr, /postern: signed in at .* as alice@example\.com/);
      assert.equal(stdout, "");
      assert.deepEqual(await home.run(["update"]), {
        code: 0,
        stdout: `catalogue main: 2 clusters, 1 route, 1 exclusion (${lieutenant.url.href})\n`,
        stderr: "",
      });
    });
    await t.step("a second update within a minute does not prompt", async () => {
      const { code, stdout, stderr } = await home.run(["update"]);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.match(stdout, /, no changes \(/);
    });
    await t.step("a token that Lieutenant no longer accepts is renewed without a prompt", async () => {
      const directory = `${home.places.cache}/tokens`;
      const [file = ""] = [...Deno.readDirSync(directory)].map(({ name }) => name).filter((name) =>
        name.endsWith(".json")
      );
      const stored = JSON.parse(await Deno.readTextFile(`${directory}/${file}`));
      // Only the signature is wrong, which only the server verifies.
      const idToken = `${stored.idToken.split(".").slice(0, 2).join(".")}.${"A".repeat(342)}`;
      await Deno.writeTextFile(`${directory}/${file}`, JSON.stringify({ ...stored, idToken }));
      const { code, stderr } = await home.run(["update"]);
      assert.deepEqual([code, stderr], [0, ""]);
    });
    await lieutenant[Symbol.asyncDispose]();
    await dex[Symbol.asyncDispose]();
    await t.step("without Lieutenant and dex an instance starts and routes", async () => {
      await using instance = await home.instance();
      const explained = await home.run(["explain", `api.${base}:6443`]);
      assert.match(
        explained.stdout,
        /because {2}rule "c-prod01\.example\.net" \(catalogue main: cluster c-prod01 /,
      );
      assert.match((await home.run(["explain", `x.apps.${base}`])).stdout, /goes to direct\n/);
      instance.kill("SIGTERM");
      assert.equal((await instance.ended).code, 0);
    });
    await t.step("an update reports the age of the kept catalogue", async () => {
      const { code, stdout, stderr } = await home.run(["update"]);
      assert.deepEqual([code, stdout], [6, ""]);
      assert.match(stderr, /postern keeps the catalogue of \d+s ago\n$/);
    });
    await t.step("the store contains no secrets", async () => {
      for (const name of ["catalogue.kv", "snapshot.json"]) {
        const bytes = await Deno.readFile(`${home.places.cache}/catalogue/${name}`);
        assert.ok(!new TextDecoder("latin1").decode(bytes).includes(clusters[0].bootstrapToken));
      }
    });
  },
);

/** Completes a command by signing in at its printed address. */
async function withBrowser(command: Instance, user: string) {
  const [, address = ""] = await command.says(/open this address:\n(\S+)\n/);
  await new ScriptedBrowser(user).visit(address);
  return await command.ended;
}
