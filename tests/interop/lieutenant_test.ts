import assert from "node:assert/strict";
import { discoverLieutenant, fetchCatalogue, routesOf } from "../../src/catalogue/mod.ts";
import { HttpClient } from "../../src/http/mod.ts";
import { signIn } from "../../src/signin/mod.ts";
import { exitCode, PosternError } from "../../src/words/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock as clock } from "../../src/runtime/system_clock.ts";
import { Dex, ScriptedBrowser } from "../support/dex.ts";
import { Lieutenant, type SynCluster } from "../support/lieutenant.ts";
import { MemoryWorld } from "../support/memory_world.ts";
import { peerTest } from "../support/peers.ts";
import { recordingLog } from "../support/recording_log.ts";
import { testTls } from "../support/tls_files.ts";

const base = "c-bettersmarter-prod01.example.net";
const secret = "SECRET-OF-THE-INSTALLATION";
const clusters: readonly SynCluster[] = [
  {
    id: "c-bettersmarter-prod01",
    tenant: "t-bettersmarter",
    displayName: "BetterSmarter Prod01",
    facts: {
      cloud: "cloudscale",
      distribution: "openshift4",
      jumphost: "jump1.example.net",
      jumphostDomains: "vcenter.bettersmarter.example.com,storage.bettersmarter.example.com",
      jumphostSkipDomains: `apps.${base}`,
    },
    dynamicFacts: {
      openshiftBaseDomain: JSON.stringify(base),
      openshiftAppsDomain: `apps.${base}`,
      openshiftApiURL: JSON.stringify(`https://api.${base}:6443`),
      openshiftConsoleURL: JSON.stringify(`https://console.apps.${base}`),
      kubernetesVersion: JSON.stringify({ major: "1", minor: "31" }),
      number: "1.20",
      flag: "true",
      nothing: "null",
    },
    bootstrapToken: secret,
  },
  { id: "c-open-prod02", tenant: "t-bettersmarter", displayName: "Open Prod02", facts: { jumphost: "" } },
  { id: "c-bare-prod03", tenant: "t-other", displayName: "Bare Prod03" },
  {
    id: "c-hostile-prod04",
    tenant: "t-other",
    displayName: "Hostile Prod04",
    facts: { jumphost: "jump2.example.net", jumphostDomains: "com, *, 192.0.2.1, good.example.com" },
    dynamicFacts: { openshiftBaseDomain: "true", openshiftApiURL: "https://$(id).example.net" },
  },
];

peerTest("fetchCatalogue() reads the real Lieutenant API", ["kubernetes", "lieutenant"], async (paths, t) => {
  await using server = await Lieutenant.start({
    ...paths,
    clusters,
    oidc: {
      issuer: "https://127.0.0.1:1/none",
      clientId: "lieutenant",
      discoveryUrl: "https://127.0.0.1:1/none/.well-known/openid-configuration",
    },
  });
  const { url: lieutenant } = server;
  const { signal } = new AbortController();
  const client = new HttpClient({ clock, network: createNetwork() }, { ca: testTls.ca });
  const fetch = (token: string, more: { tenant?: string } = {}) =>
    fetchCatalogue({ name: "main", lieutenant, token, ...more }, { clock, client }, { signal });
  const failure = async (token: string) => {
    const error = await fetch(token).then(() => undefined, (error) => error);
    assert.ok(error instanceof PosternError, String(error));
    assert.ok(!error.message.includes(token));
    return error;
  };

  await t.step("describes the sign-in without a token", async () => {
    assert.deepEqual(await discoverLieutenant(lieutenant, { client }, { signal }), {
      apiVersion: "v0.12.2",
      oidc: {
        clientId: "lieutenant",
        discoveryUrl: "https://127.0.0.1:1/none/.well-known/openid-configuration",
      },
    });
  });
  await t.step("returns the clusters with facts of any type and without secrets", async () => {
    const raw = await client.ask({
      url: new URL("/clusters", lieutenant),
      fields: [["Authorization", `Bearer ${Lieutenant.tokens.alice}`]],
    }, { signal });
    assert.ok(new TextDecoder().decode(raw.body).includes(secret), "Lieutenant itself returns the secret");
    const { catalogue, warnings, ignored } = await fetch(Lieutenant.tokens.alice);
    assert.deepEqual(catalogue.clusters.map(({ id }) => id), clusters.map(({ id }) => id).sort());
    assert.ok(!JSON.stringify(catalogue).includes(secret));
    assert.deepEqual([warnings, ignored], [[], []]);
    const found = catalogue.clusters.find(({ id }) => id === "c-bettersmarter-prod01");
    assert.deepEqual([found?.displayName, found?.tenant], ["BetterSmarter Prod01", "t-bettersmarter"]);
    const { kubernetesVersion, number, flag, nothing } = found?.dynamicFacts ?? {};
    assert.deepEqual([kubernetesVersion, number, flag, nothing ?? null], [
      { major: "1", minor: "31" },
      1.2,
      true,
      null,
    ]);
    assert.deepEqual(catalogue.clusters.find(({ id }) => id === "c-bare-prod03"), {
      id: "c-bare-prod03",
      displayName: "Bare Prod03",
      tenant: "t-other",
      facts: {},
      dynamicFacts: {},
    });
  });
  await t.step("routes as the facts define", async () => {
    const { routes, warnings } = routesOf((await fetch(Lieutenant.tokens.alice)).catalogue);
    const own = routes.filter(({ cluster }) => cluster === "c-bettersmarter-prod01");
    assert.deepEqual(own.map(({ kind, pattern }) => `${kind} ${pattern}`), [
      `exclusion apps.${base}`,
      `route console.apps.${base}`,
      `route apps.${base}`,
      `route api.${base}`,
      `route ${base}`,
      "route storage.bettersmarter.example.com",
      "route vcenter.bettersmarter.example.com",
    ]);
    assert.deepEqual(
      routes.filter(({ cluster }) => cluster === "c-hostile-prod04").map(({ pattern }) => pattern),
      ["good.example.com"],
    );
    assert.deepEqual([...new Set(warnings.map(({ cluster, fact }) => `${cluster} ${fact}`))], [
      "c-hostile-prod04 jumphostDomains",
      "c-hostile-prod04 openshiftBaseDomain",
      "c-hostile-prod04 openshiftApiURL",
    ]);
    assert.equal(routes.length, own.length + 1);
  });
  await t.step("returns the clusters of one tenant", async () => {
    const { catalogue } = await fetch(Lieutenant.tokens.alice, { tenant: "t-other" });
    assert.deepEqual(catalogue.clusters.map(({ id }) => id), ["c-bare-prod03", "c-hostile-prod04"]);
    assert.deepEqual((await fetch(Lieutenant.tokens.alice, { tenant: "t-none" })).catalogue.clusters, []);
  });
  await t.step("requires a new sign-in for a foreign token, the first time and later", async () => {
    for (let time = 0; time < 3; time++) {
      const error = await failure("a-foreign-token");
      assert.equal(error.code, "auth", error.message);
      assert.match(error.message, /the server returned (?:401|500): .*Unauthorized/);
      assert.match(error.hint ?? "", /postern login/);
    }
  });
  await t.step("reports a valid token without the right", async () => {
    const error = await failure(Lieutenant.tokens.mallory);
    assert.equal(error.code, "not_allowed");
    assert.equal(exitCode(error), 5);
    assert.match(error.message, /the server returned 403: .*forbidden: User .mallory. cannot list/);
  });
  await t.step("requires the CA of its certificate", async () => {
    const other = new HttpClient({ clock, network: createNetwork() });
    await assert.rejects(discoverLieutenant(lieutenant, { client: other }, { signal }), (error) => {
      assert.ok(error instanceof PosternError);
      return /certificate/.test(error.message);
    });
  });
  await t.step("is unavailable while Kubernetes is down", async () => {
    await server.stopKubernetes();
    assert.equal((await failure(Lieutenant.tokens.alice)).code, "unreachable");
  });
});

peerTest(
  "fetchCatalogue() reads the real Lieutenant API with a sign-in at dex",
  ["dex", "kubernetes", "lieutenant"],
  async ({ dex: path, ...paths }) => {
    const directory = await Deno.makeTempDir({ prefix: "dex" });
    await using held = new AsyncDisposableStack();
    held.defer(() => Deno.remove(directory, { recursive: true }));
    const dex = held.use(await Dex.start(path, directory));
    const foreign = held.use(await Dex.start(path, directory));
    const { issuer, discoveryUrl } = dex;
    const oidc = { issuer, clientId: "lieutenant", discoveryUrl };
    const { url: lieutenant } = held.use(await Lieutenant.start({ ...paths, clusters, oidc }));
    const { signal } = new AbortController();
    const client = new HttpClient({ clock, network: createNetwork() }, { ca: testTls.ca });
    const asked = await discoverLieutenant(lieutenant, { client }, { signal });
    assert.deepEqual(asked.oidc, { clientId: "lieutenant", discoveryUrl });
    const fetch = async (provider: Dex, user: string) => {
      const token = await tokenOf(provider, user);
      return await fetchCatalogue({ name: "main", lieutenant, token }, { clock, client }, { signal });
    };
    assert.equal((await fetch(dex, "alice@example.com")).catalogue.clusters.length, clusters.length);
    await assert.rejects(fetch(dex, "mallory@example.com"), { code: "not_allowed" });
    await assert.rejects(fetch(foreign, "alice@example.com"), { code: "auth" });
  },
);

/** The id_token of a user whose browser the test plays; nothing is stored. */
async function tokenOf({ discoveryUrl, callbackPort: port }: Dex, user: string): Promise<string> {
  const { terminal, process, places, files } = new MemoryWorld();
  const shown = Promise.withResolvers<string>();
  const signedIn = signIn(
    {
      apiUrl: "https://api.example.net",
      clientId: "lieutenant",
      discoveryUrl,
      ca: testTls.ca,
      port,
      asksAnyway: true,
    },
    {
      log: recordingLog(),
      say: (text) => {
        const address = /open this address:\n(\S+)/.exec(text)?.[1];
        if (address !== undefined) shown.resolve(address);
        return Promise.resolve();
      },
      world: { clock, network: createNetwork(), terminal, process, places, files },
    },
    { signal: new AbortController().signal },
  );
  await new ScriptedBrowser(user).visit(await shown.promise);
  return (await signedIn).idToken;
}
