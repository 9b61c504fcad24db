import assert from "node:assert/strict";
import { fetchCatalogue } from "../../src/catalogue/mod.ts";
import { HttpClient } from "../../src/http/mod.ts";
import { readClaims } from "../../src/signin/sign_in_claims.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock as clock } from "../../src/runtime/system_clock.ts";
import { Keycloak, KeycloakBrowser, keycloakPeers } from "../support/keycloak.ts";
import { Lieutenant } from "../support/lieutenant.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { type Ended, Household, type Instance } from "../support/postern_process.ts";
import { signInTurn } from "../support/sign_in_port.ts";
import { testTls } from "../support/tls_files.ts";

/** Not a real browser: the test plays it with the printed address. */
const env = { POSTERN_BROWSER: "true" };
const cluster = { id: "c-prod01", tenant: "t-a", displayName: "Prod01" };

peerTest(
  "postern update against Keycloak and Lieutenant",
  [...keycloakPeers, "kubernetes", "lieutenant"],
  async (paths, t) => {
    await using home = await Household.open();
    await using keycloak = await Keycloak.start(paths);
    const { issuer, discoveryUrl } = keycloak;
    const oidc = { issuer, clientId: "lieutenant", discoveryUrl };
    await using lieutenant = await Lieutenant.start({ ...paths, clusters: [cluster], oidc });
    const tokens = new StoredTokens(`${home.places.cache}/tokens`);
    const configure = (more: string) =>
      home.configure(
        `catalogues:\n  - { lieutenant: "${lieutenant.url.origin}", ca: "${home.directory}/ca.crt"${more} }\n`,
      );
    await Deno.writeTextFile(`${home.directory}/ca.crt`, testTls.ca);
    await configure("");
    /** Without a terminal and a browser, postern cannot prompt. */
    const silent = (...args: string[]) => home.run(args);

    await t.step("the first update signs in with a browser, the second one does not prompt", async () => {
      using _turn = await signInTurn();
      const first = await withBrowser(home.start(["update"], { env }), "alice");
      assert.equal(first.code, 0, first.stderr);
      assert.match(first.stdout, /^catalogue main: 1 cluster, 0 routes, /);
      const second = await silent("update");
      assert.deepEqual([second.code, second.stderr], [0, ""]);
    });
    await t.step(
      "a token that Lieutenant rejects is renewed, with each refresh token only once",
      async () => {
        const seen = new Set<string>();
        for (let time = 0; time < 3; time++) {
          const { refreshToken } = await tokens.read();
          seen.add(refreshToken);
          await tokens.spoil();
          const { code, stderr } = await silent("update");
          assert.deepEqual([code, stderr], [0, ""]);
        }
        assert.equal(seen.size, 3, "Keycloak has issued a new one each time");
      },
    );
    await t.step("commodore's stored tokens are used, and its file stays unchanged", async () => {
      const { idToken, refreshToken } = await tokens.read();
      await tokens.remove();
      const file = `${home.directory}/cache/commodore/token`;
      await Deno.mkdir(`${home.directory}/cache/commodore`);
      const content = JSON.stringify({
        [lieutenant.url.origin]: { id_token: idToken, refresh_token: refreshToken, token_type: "Bearer" },
      });
      await Deno.writeTextFile(file, content, { mode: 0o600 });
      const { code, stderr } = await silent("update");
      assert.deepEqual([code, stderr], [0, ""]);
      assert.equal(await Deno.readTextFile(file), content);
      await tokens.write({ idToken, refreshToken });
      await Deno.remove(file);
    });
    await t.step(
      "Lieutenant rejects a token for another client, and the user is prompted once",
      async () => {
        using _turn = await signInTurn();
        await configure(", oidc: { clientId: other }");
        const asked = home.start(["update"], { env });
        const { code, stderr } = await withBrowser(asked, "alice");
        assert.equal(code, 5, stderr);
        assert.match(
          stderr,
          /error: Cannot read the clusters of .* the server returned (?:401|500): .*Unauthorized/,
        );
        assert.equal(stderr.match(/open this address/g)?.length, 1);
        const again = await silent("update");
        assert.equal(again.code, 5, again.stderr);
        assert.match(
          again.stderr,
          /the server returned (?:401|500): .*Unauthorized\npostern: hint: sign in again: /,
        );
        await configure("");
      },
    );
    await t.step("an expired token is rejected with a hint to sign in", async () => {
      using _turn = await signInTurn();
      await configure(", oidc: { clientId: brief }");
      const login = await withBrowser(home.start(["login"], { env }), "alice");
      assert.equal(login.code, 0, login.stderr);
      const files = await tokens.all();
      const token = files.find((one) => readClaims(one.idToken)?.audience.includes("brief"))?.idToken ?? "";
      const { expires, audience } = readClaims(token) ?? {};
      assert.deepEqual([...audience ?? []].sort(), ["brief", "lieutenant"]);
      assert.ok(expires);
      await eventually("the token has expired", () => Date.now() > expires.getTime() + 1000);
      const client = new HttpClient({ clock, network: createNetwork() }, { ca: testTls.ca });
      const request = { name: "main", lieutenant: lieutenant.url, token };
      await assert.rejects(
        fetchCatalogue(request, { clock, client }, { signal: new AbortController().signal }),
        { code: "auth", message: /the server returned (?:401|500): .*Unauthorized/ },
      );
      await configure("");
    });
    await t.step("logout ends the session at Keycloak", async () => {
      const former = await tokens.read();
      assert.equal((await silent("logout")).stderr, "postern: signed out of the catalogue main\n");
      assert.match((await silent("logout")).stderr, /no stored sign-in/);
      await tokens.write(former);
      await tokens.spoil();
      const { code, stderr } = await silent("update");
      assert.equal(code, 5, stderr);
      assert.match(
        stderr,
        /Cannot sign in at https:.*\/realms\/lab: the sign-in needs a user at a terminal\n.*postern login/,
      );
      await tokens.remove();
    });
    await t.step("a user without offline access gets a token for the session", async () => {
      using _turn = await signInTurn();
      const login = await withBrowser(home.start(["login"], { env }), "mallory");
      assert.equal(login.code, 0, login.stderr);
      assert.match(
        login.stderr,
        /signed in at 127\.0\.0\.1:\d+ as mallory@example\.com for the catalogue main/,
      );
      const { code, stderr } = await silent("update");
      assert.equal(code, 5, stderr);
      assert.match(
        stderr,
        /the server returned 403: .*mallory@example\.com.*\npostern: hint: ask the API's administrator/,
      );
    });
    await t.step("with a code on another device", async () => {
      const login = home.start(["login", "--device"], { env });
      const [, address = ""] = await login.says(/or open this address: (\S+)\n/);
      assert.match(await new KeycloakBrowser().visit(address), /^200 [^]*Device Login Successful/);
      const { code, stderr } = await login.ended;
      assert.equal(code, 0, stderr);
      assert.match(stderr, /signed in at .* as alice@example\.com/);
      assert.equal((await silent("update")).code, 0);
    });
  },
);

/** Completes a command by signing in at its printed address. */
async function withBrowser(command: Instance, user: string): Promise<Ended> {
  const [, address = ""] = await command.says(/open this address:\n(\S+)\n/);
  const page = await new KeycloakBrowser(user).visit(address);
  assert.match(page, /You can close this window/);
  return await command.ended;
}

interface Tokens {
  readonly idToken: string;
  readonly refreshToken: string;
}

/** The token files of a household. */
class StoredTokens {
  readonly #directory: string;
  #path = "";
  #rest: Readonly<Record<string, unknown>> = {};

  constructor(directory: string) {
    this.#directory = directory;
  }

  async all(): Promise<readonly (Tokens & { readonly path: string; readonly clientId: string })[]> {
    const names = (await Array.fromAsync(Deno.readDir(this.#directory))).map(({ name }) => name);
    const paths = names.filter((name) => name.endsWith(".json")).map((name) => `${this.#directory}/${name}`);
    return await Promise.all(
      paths.map(async (path) => ({ path, ...JSON.parse(await Deno.readTextFile(path)) })),
    );
  }

  /** The tokens of the client "lieutenant". */
  async read(): Promise<Tokens> {
    const found = (await this.all()).find(({ clientId }) => clientId === "lieutenant");
    if (!found) throw new Error("there are no tokens");
    const { path, idToken, refreshToken, ...rest } = found;
    this.#path = path;
    this.#rest = rest;
    return { idToken, refreshToken };
  }

  async write(tokens: Tokens): Promise<void> {
    await Deno.writeTextFile(this.#path, JSON.stringify({ ...this.#rest, ...tokens }), { mode: 0o600 });
  }

  /** Replaces only the token's signature, which only the server verifies. */
  async spoil(): Promise<void> {
    const { idToken, refreshToken } = await this.read();
    const [head, claims] = idToken.split(".");
    await this.write({ idToken: `${head}.${claims}.${"A".repeat(342)}`, refreshToken });
  }

  async remove(): Promise<void> {
    await Deno.remove(this.#path);
  }
}
