import assert from "node:assert/strict";
import { type ClusterToken, signInToOpenShift } from "../../../src/signin/mod.ts";
import { isPosternError } from "../../../src/words/mod.ts";
import { OpenShiftOAuth } from "../../support/openshift_oauth.ts";
import { passTime, SignInWorld } from "../../support/sign_in_world.ts";
import { type WebAnswer, WebServer } from "../../support/web_server.ts";

/** A user's machine and an OpenShift cluster in memory; a script plays the browser. */
class ClusterWorld implements AsyncDisposable {
  readonly person: SignInWorld;
  readonly oauth: OpenShiftOAuth;
  /** The tokens that the API server accepts. */
  readonly good = new Set<string>();
  /** The tokens that it received. */
  readonly checks: string[] = [];
  apiAnswer: WebAnswer | undefined;
  readonly #api: WebServer;
  #count = 0;

  constructor(env: Readonly<Record<string, string>> = {}) {
    this.person = new SignInWorld({ env });
    this.oauth = new OpenShiftOAuth(() => this.api.origin, () => {
      const token = `sha256~token-secret-${++this.#count}`;
      this.good.add(token);
      return token;
    });
    const listening = this.person.memory.network.listen({ host: "127.0.0.1", port: 0 });
    this.#api = new WebServer(listening, (request) => {
      if (request.url.pathname !== "/apis/user.openshift.io/v1/users/~") return this.oauth.answer(request);
      const token = request.fields.get("authorization")?.replace(/^Bearer /, "") ?? "";
      this.checks.push(token);
      return this.apiAnswer ?? { status: this.good.has(token) ? 200 : 401 };
    });
  }

  get api(): URL {
    return new URL(`http://127.0.0.1:${this.#api.port}`);
  }

  async signIn(given?: string): Promise<ClusterToken> {
    const { signal } = new AbortController();
    const options = { api: this.api, ...(given !== undefined && { given }) };
    const { parts, world } = this.person;
    return await signInToOpenShift(options, {
      world,
      log: parts.log,
      say: (text) => Promise.resolve(void (this.person.said += text)),
    }, { signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#api[Symbol.asyncDispose]();
    await this.person[Symbol.asyncDispose]();
  }
}

Deno.test("signInToOpenShift() asks the user once, and stores the token privately", async () => {
  await using world = new ClusterWorld();
  const first = await world.signIn();
  assert.equal(first.from, "person");
  const now = world.person.memory.clock.date().getTime();
  assert.equal(first.expires?.getTime(), now + 86_400_000);
  assert.match(world.person.page ?? "", /^200 [^]*You are signed in/);
  const [query] = world.oauth.authorizations;
  assert.match(query?.get("redirect_uri") ?? "", /^http:\/\/127\.0\.0\.1:[0-9]+\/callback$/);
  assert.equal(query?.get("code_challenge_method"), "S256");
  assert.equal(query?.has("scope"), false);
  const again = await world.signIn();
  assert.deepEqual([again.from, again.token], ["cache", first.token]);
  assert.equal(world.oauth.authorizations.length, 1);
  const [path = ""] = (await world.person.memory.files.list("/cache/tokens")).filter((name) =>
    name.endsWith(".json")
  );
  assert.equal((await world.person.memory.files.info(`/cache/tokens/${path}`))?.mode, 0o600);
  assert.doesNotMatch(world.person.shown, /secret/);
});

Deno.test("signInToOpenShift() checks a token with the cluster, at most once a minute", async () => {
  await using world = new ClusterWorld();
  const first = await world.signIn();
  await world.signIn();
  assert.deepEqual(world.checks, []);
  await world.person.memory.clock.advance(61_000);
  await world.signIn();
  await world.signIn();
  assert.deepEqual(world.checks, [first.token]);
  world.good.clear();
  await world.person.memory.clock.advance(61_000);
  const second = await world.signIn();
  assert.equal(second.from, "person");
  assert.notEqual(second.token, first.token);
});

Deno.test("signInToOpenShift() returns a token that cannot be checked", async () => {
  await using world = new ClusterWorld();
  const first = await world.signIn();
  for (const answer of [{ status: 503 }, new Uint8Array(0)]) {
    world.apiAnswer = answer;
    await world.person.memory.clock.advance(61_000);
    assert.equal((await world.signIn()).token, first.token);
  }
});

Deno.test("signInToOpenShift() keeps a token that was stored while another one was checked", async () => {
  await using world = new ClusterWorld();
  const { clock } = world.person.memory;
  const { token } = await world.signIn();
  await clock.advance(61_000);
  world.apiAnswer = "silent";
  const slow = world.signIn();
  while (world.checks.length === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  world.apiAnswer = undefined;
  world.good.add("sha256~newer-secret");
  await world.signIn("sha256~newer-secret");
  await passTime(clock, slow);
  assert.equal((await slow).token, token);
  assert.equal((await world.signIn()).token, "sha256~newer-secret");
});

Deno.test("signInToOpenShift() signs in again a minute before a token expires", async () => {
  await using world = new ClusterWorld();
  world.oauth.lifetime = 600;
  await world.signIn();
  await world.person.memory.clock.advance(530_000);
  assert.equal((await world.signIn()).from, "cache");
  await world.person.memory.clock.advance(11_000);
  assert.equal((await world.signIn()).from, "person");
});

Deno.test("signInToOpenShift() accepts a token without an expiry", async () => {
  await using world = new ClusterWorld();
  world.oauth.lifetime = undefined;
  assert.equal((await world.signIn()).expires, undefined);
  assert.equal((await world.signIn()).from, "cache");
});

Deno.test("signInToOpenShift() lets one of several processes ask the user", async () => {
  await using world = new ClusterWorld();
  const all = Promise.all([1, 2, 3, 4].map(() => world.signIn()));
  await passTime(world.person.memory.clock, all, 200);
  const tokens = await all;
  assert.equal(new Set(tokens.map(({ token }) => token)).size, 1);
  assert.deepEqual(tokens.map(({ from }) => from).sort(), ["cache", "cache", "cache", "person"]);
  assert.equal(world.oauth.tokenRequests.length, 1);
});

Deno.test("signInToOpenShift() fails at once without a browser", async () => {
  await using world = new ClusterWorld({ POSTERN_BROWSER: "" });
  await assert.rejects(world.signIn(), (error) => {
    assert.ok(isPosternError(error, "auth"));
    assert.match(error.hint ?? "", /\/oauth\/token\/request in any browser.*--token-file/);
    return true;
  });
  assert.deepEqual(world.oauth.authorizations, []);
});

Deno.test("signInToOpenShift() stores a token from the user if the cluster accepts it", async () => {
  await using world = new ClusterWorld({ POSTERN_BROWSER: "" });
  await assert.rejects(world.signIn("sha256~foreign-secret"), (error) => isPosternError(error, "auth"));
  world.good.add("sha256~own-secret");
  assert.equal((await world.signIn("sha256~own-secret")).from, "given");
  assert.equal((await world.signIn()).token, "sha256~own-secret");
});

const failures: readonly {
  name: string;
  lie: (oauth: OpenShiftOAuth) => void;
  code: "auth" | "protocol";
  message: RegExp;
}[] = [
  {
    name: "a refusal",
    lie: ({ lies }) => lies.redirect = { error: "access_denied", error_description: "not you" },
    code: "auth",
    message: /access_denied: not you$/,
  },
  {
    name: "a cluster without an OAuth server",
    lie: ({ lies }) => lies.discovery = { status: 404, body: "not found" },
    code: "auth",
    message: /the API server names no OAuth server \(status 404\)$/,
  },
  {
    name: "a web page instead of the document",
    lie: ({ lies }) => lies.discovery = { body: "<html>" },
    code: "auth",
    message: /the API server names no OAuth server \(status 200\)$/,
  },
  {
    name: "a sign-in page without https",
    lie: ({ lies }) =>
      lies.discovery = { body: '{"authorization_endpoint":"http://x.example","token_endpoint":"https://x"}' },
    code: "protocol",
    message: /it refers to a page without https$/,
  },
  {
    name: "a token endpoint with an unexpected response",
    lie: ({ lies }) => lies.tokenAnswer = { body: "<html>" },
    code: "protocol",
    message: /its response is not OpenID Connect/,
  },
  {
    name: "a rejected code",
    lie: ({ lies }) => lies.redirect = { code: "made up" },
    code: "auth",
    message: /invalid_grant$/,
  },
];
for (const { name, lie, code, message } of failures) {
  Deno.test(`signInToOpenShift() fails with the reason: ${name}`, async () => {
    await using world = new ClusterWorld();
    lie(world.oauth);
    await assert.rejects(world.signIn(), (error) => {
      assert.ok(isPosternError(error, code), String(error));
      assert.match(error.message, message);
      assert.doesNotMatch(error.hint ?? "", /postern login/);
      return true;
    });
  });
}

Deno.test("signInToOpenShift() exits with 5 without a sign-in", async () => {
  await using world = new ClusterWorld();
  world.person.browse = () => Promise.resolve();
  const asked = world.signIn();
  const refused = assert.rejects(asked, (error) => isPosternError(error, "timeout") && error.exit === 5);
  await passTime(world.person.memory.clock, refused, 30_000);
  await refused;
});
