import assert from "node:assert/strict";
import {
  type SignedIn,
  signIn,
  signOut,
  TokenCache,
  TokenRefusal,
  withSignIn,
} from "../../../src/signin/mod.ts";
import { exitCode, isPosternError, PosternError } from "../../../src/words/mod.ts";
import type { OidcLies, OidcServer } from "../../support/oidc_server.ts";
import { passTime, SignInWorld } from "../../support/sign_in_world.ts";
import { jsonAnswer, WebServer } from "../../support/web_server.ts";

const { signal } = new AbortController();
const tokenFiles = /^\/cache\/tokens\/[0-9a-f]{32}\.json$/;

async function tokenFile({ memory }: SignInWorld): Promise<string> {
  const [name = "none"] = await memory.files.list("/cache/tokens");
  return `/cache/tokens/${name}`;
}

/** Checks that no output contains a secret. */
function assertDiscreet(signing: SignInWorld, signedIn?: SignedIn): void {
  assert.doesNotMatch(signing.shown, /-secret|code_verifier/);
  const [, payload] = signedIn?.idToken.split(".") ?? [];
  if (payload) assert.ok(!signing.shown.includes(payload));
}

/** The user has no browser on this machine; only the URL is known. */
function withoutBrowser(signing: SignInWorld): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  signing.browse = (address) => Promise.resolve(resolve(address));
  return promise;
}

Deno.test("signIn() opens the browser with PKCE, state and nonce, and gets a token for its code", async () => {
  await using signing = new SignInWorld();
  const signedIn = await signIn(signing.options, signing.parts, { signal });
  assert.deepEqual([signedIn.from, signedIn.name], ["person", "alice@example.com"]);
  assert.equal(signedIn.expires?.toISOString(), "2026-01-01T01:00:00.000Z");
  const { state, nonce, code_challenge, ...asked } = Object.fromEntries(
    signing.server.authorizations[0] ?? [],
  );
  assert.deepEqual(asked, {
    response_type: "code",
    client_id: "lieutenant",
    redirect_uri: "http://localhost:18000",
    scope: "openid email profile offline_access",
    code_challenge_method: "S256",
  });
  for (const random of [state, nonce, code_challenge]) assert.match(random ?? "", /^[\w-]{43}$/);
  assert.equal(new Set([state, nonce, code_challenge]).size, 3);
  assert.match(signing.page ?? "", /^200 [^]*You are signed in[^]*You can close this window/);
  assert.match(signing.said, /^postern: sign in at http:\/\/127\.0\.0\.1:\d+\/oidc with your browser/);
  assert.match(await tokenFile(signing), tokenFiles);
  assert.equal((await signing.memory.files.info(await tokenFile(signing)))?.mode, 0o600);
  assert.equal(signing.memory.network.open, 0);
  assert.equal(signing.memory.clock.waiting, 0);
  assertDiscreet(signing, signedIn);
});

Deno.test("signIn() returns the stored token without asking the user", async () => {
  await using signing = new SignInWorld();
  const first = await signIn(signing.options, signing.parts, { signal });
  const { asked } = signing.server;
  const second = await signIn({ ...signing.options, apiUrl: "HTTPS://api.syn.example.com" }, signing.parts, {
    signal,
  });
  assert.deepEqual([second.from, second.idToken], ["cache", first.idToken]);
  assert.equal(signing.server.asked, asked);
  assert.equal(signing.opened.length, 1);
});

Deno.test("signIn() separates the tokens of two APIs", async () => {
  await using signing = new SignInWorld();
  await signIn(signing.options, signing.parts, { signal });
  await signIn({ ...signing.options, apiUrl: "https://other.example.com" }, signing.parts, { signal });
  assert.equal((await signing.memory.files.list("/cache/tokens")).length, 2);
  assert.equal(signing.opened.length, 2);
});

Deno.test("signIn() renews an expired token silently, and stores the result", async () => {
  await using signing = new SignInWorld();
  const first = await signIn(signing.options, signing.parts, { signal });
  await signing.memory.clock.advance(3_600_000);
  const second = await signIn({ ...signing.options, method: "none" }, signing.parts, { signal });
  assert.equal(second.from, "refresh");
  assert.notEqual(second.idToken, first.idToken);
  await signing.memory.clock.advance(3_600_000);
  // The provider accepts a refresh token only once.
  assert.equal(
    (await signIn({ ...signing.options, method: "none" }, signing.parts, { signal })).from,
    "refresh",
  );
  assert.equal(signing.opened.length, 1);
  assertDiscreet(signing, second);
});

Deno.test("signIn() counts a token as expired ten seconds before its expiry", async () => {
  await using signing = new SignInWorld();
  await signIn(signing.options, signing.parts, { signal });
  await signing.memory.clock.advance(3_589_000);
  assert.equal((await signIn(signing.options, signing.parts, { signal })).from, "cache");
  await signing.memory.clock.advance(1000);
  assert.equal((await signIn(signing.options, signing.parts, { signal })).from, "refresh");
});

Deno.test("signIn() asks the user when the refresh token was revoked", async () => {
  await using signing = new SignInWorld();
  await signIn(signing.options, signing.parts, { signal });
  await signing.memory.clock.advance(3_600_000);
  signing.server.refreshTokens.clear();
  assert.equal((await signIn(signing.options, signing.parts, { signal })).from, "person");
  assert.deepEqual(
    signing.log.lines.filter(({ event }) => event === "sign_in.refresh_refused").map(({ reason }) => reason),
    [`Cannot sign in at ${signing.server.issuer}: invalid_grant: it was revoked`],
  );
  assertDiscreet(signing);
});

const interruptions: readonly {
  readonly name: string;
  readonly cause: (server: OidcServer) => void;
  readonly says: RegExp;
}[] = [
  {
    name: "the clock of this machine is wrong",
    cause: ({ lies }) => lies.claims = { exp: Date.UTC(2025, 11, 31) / 1000 },
    says: /its token is not valid at the current time$/,
  },
  {
    name: "the provider's keys are unavailable",
    cause: ({ lies, issuer }) => lies.metadata = { jwks_uri: `${issuer}/away` },
    says: /its response is not OpenID Connect/,
  },
];
for (const { name, cause, says } of interruptions) {
  Deno.test(`signIn() does not ask the user if ${name}, and keeps the new refresh token`, async () => {
    await using signing = new SignInWorld();
    await signIn(signing.options, signing.parts, { signal });
    await signing.memory.clock.advance(3_600_000);
    cause(signing.server);
    await assert.rejects(signIn(signing.options, signing.parts, { signal }), says);
    Object.assign(signing.server.lies, { claims: undefined, metadata: undefined });
    assert.equal((await signIn(signing.options, signing.parts, { signal })).from, "refresh");
    assert.equal(signing.opened.length, 1);
    assertDiscreet(signing);
  });
}

Deno.test("signIn() rejects a renewed token of another user", async () => {
  await using signing = new SignInWorld();
  await signIn(signing.options, signing.parts, { signal });
  await signing.memory.clock.advance(3_600_000);
  signing.server.subject = "mallory";
  const asked = signIn({ ...signing.options, method: "none" }, signing.parts, { signal });
  await assert.rejects(asked, (error) => isPosternError(error, "auth"));
});

Deno.test("signIn() does not ask the user if that is not allowed", async () => {
  await using signing = new SignInWorld({ env: { POSTERN_BROWSER: "", BROWSER: "browser" } });
  for (const way of ["none", "browser", "device"] as const) {
    const asked = signIn({ ...signing.options, method: way }, signing.parts, { signal });
    await assert.rejects(asked, (error) => {
      assert.ok(isPosternError(error, "auth"));
      assert.equal(error.hint, "sign in once in a terminal: postern login");
      return true;
    });
  }
  assert.deepEqual([signing.opened, signing.said], [[], ""]);
});

Deno.test("signIn() rejects a callback with a wrong state and continues to wait", async () => {
  await using signing = new SignInWorld();
  const sent = withoutBrowser(signing);
  const asked = signIn(signing.options, signing.parts, { signal });
  const address = await sent;
  const strays = [
    "/?code=stolen&state=foreign",
    "/?code=stolen",
    "/?error=access_denied&state=foreign",
    "/?error=access_denied",
    `/?code=a&state=foreign&state=${new URL(address).searchParams.get("state")}`,
    "/",
  ];
  for (const stray of strays) {
    const { status, body } = await signing.visit(`http://localhost:18000${stray}`);
    assert.equal(status, 400, stray);
    assert.match(new TextDecoder().decode(body), /does not belong to it/);
  }
  assert.equal(signing.server.tokenRequests.length, 0);
  await signing.comeBack(address);
  assert.equal((await asked).from, "person");
  assert.equal(
    signing.log.lines.filter(({ event }) => event === "sign_in.foreign_callback").length,
    strays.length,
  );
});

Deno.test("signIn() fails with the reason that the provider gives the browser", async () => {
  await using signing = new SignInWorld();
  signing.server.lies.redirect = { error: "access_denied", error_description: "not\u001b[31m today" };
  await assert.rejects(signIn(signing.options, signing.parts, { signal }), (error) => {
    assert.ok(isPosternError(error, "auth"));
    assert.equal(error.message, `Cannot sign in at ${signing.server.issuer}: access_denied: not [31m today`);
    assert.equal(exitCode(error), 5);
    return true;
  });
  assert.match(signing.page ?? "", /^403 [^]*access_denied[^]*close this window/);
  assert.equal(signing.memory.network.open, 0);
  assert.deepEqual(await signing.memory.files.list("/cache/tokens"), []);
});

const lies: readonly { readonly name: string; readonly lies: OidcLies; readonly says: RegExp }[] = [
  { name: "with another nonce", lies: { claims: { nonce: "other" } }, says: /"nonce"/ },
  { name: "without a nonce", lies: { claims: { nonce: undefined } }, says: /nonce/ },
  { name: "of another issuer", lies: { claims: { iss: "https://evil.example.net" } }, says: /"iss"/ },
  { name: "for another audience", lies: { claims: { aud: "grafana" } }, says: /"aud"/ },
  {
    name: "for several audiences without an authorized party",
    lies: { claims: { aud: ["lieutenant", "x"], azp: "x" } },
    says: /azp/,
  },
  {
    name: "that has expired",
    lies: { claims: { exp: Date.UTC(2025, 11, 31) / 1000 } },
    says: /not valid at the current time/,
  },
  {
    name: "that is not valid yet",
    lies: { claims: { nbf: Date.UTC(2026, 0, 2) / 1000 } },
    says: /not valid at the current time/,
  },
  { name: "without an expiry", lies: { claims: { exp: undefined } }, says: /"exp"/ },
  { name: "with a wrong signature", lies: { signsWithOtherKey: true }, says: /signature/ },
  { name: "without a signature", lies: { unsignedAs: "none" }, says: /"alg"/ },
  { name: "signed with a shared secret", lies: { unsignedAs: "HS256" }, says: /"alg"/ },
  {
    name: "that is not a JWT",
    lies: {
      tokenAnswer: jsonAnswer({ access_token: "access-secret", token_type: "bearer", id_token: "id-secret" }),
    },
    says: /JWT/,
  },
  {
    name: "that is missing",
    lies: { tokenAnswer: jsonAnswer({ access_token: "access-secret", token_type: "bearer" }) },
    says: /id_token/,
  },
  {
    name: "in an answer that is HTML",
    lies: { tokenAnswer: { body: "<html>access-secret" } },
    says: /not OpenID Connect/,
  },
  {
    name: "in an answer that is half JSON",
    lies: { tokenAnswer: { fields: [["Content-Type", "application/json"]], body: '{"access-secret' } },
    says: /not OpenID Connect/,
  },
  {
    name: "in a failed response",
    lies: { tokenAnswer: { status: 500, body: "access-secret" } },
    says: /the provider returned 500$/,
  },
  {
    name: "in a refusal without a description",
    lies: { tokenAnswer: jsonAnswer({ error: "invalid_grant", error_description: null }, 400) },
    says: /: invalid_grant$/,
  },
];
for (const { name, lies: lie, says } of lies) {
  Deno.test(`signIn() rejects a token ${name}`, async () => {
    await using signing = new SignInWorld();
    Object.assign(signing.server.lies, lie);
    await assert.rejects(signIn(signing.options, signing.parts, { signal }), (error) => {
      assert.ok(error instanceof PosternError, String(error));
      assert.match(error.message, says);
      assert.match(error.code, /^(auth|protocol|unreachable)$/);
      assert.doesNotMatch(`${error.message}${error.stack}${Deno.inspect(error)}`, /-secret/);
      return true;
    });
    assert.match(signing.page ?? "", /^403 /);
    assert.deepEqual(await signing.memory.files.list("/cache/tokens"), []);
    assertDiscreet(signing);
  });
}

const providers = [
  { name: "of another issuer", metadata: { issuer: "https://evil.example.net" }, says: /"issuer"/ },
  {
    name: "whose page has a program as its URL",
    metadata: { authorization_endpoint: "file:///bin/sh" },
    says: /without https/,
  },
  {
    name: "whose page has no https",
    metadata: { authorization_endpoint: "http://example.net/" },
    says: /without https/,
  },
  { name: "without a page", metadata: { authorization_endpoint: undefined }, says: /without https/ },
  { name: "with an invalid issuer", metadata: { issuer: "." }, says: /not OpenID Connect/ },
  { name: "without keys", metadata: { jwks_uri: undefined }, says: /jwks_uri/ },
];
for (const { name, metadata, says } of providers) {
  Deno.test(`signIn() rejects a provider ${name}`, async () => {
    await using signing = new SignInWorld();
    signing.server.lies.metadata = metadata;
    await assert.rejects(signIn(signing.options, signing.parts, { signal }), says);
    assert.equal(signing.memory.network.open, 0);
  });
}

Deno.test("signIn() uses only TLS to a provider on another machine", async () => {
  await using signing = new SignInWorld();
  const discoveryUrl = "http://idp.example.net/.well-known/openid-configuration";
  const asked = signIn({ ...signing.options, discoveryUrl }, signing.parts, { signal });
  await assert.rejects(asked, (error) => isPosternError(error, "config"));
  assert.deepEqual(signing.memory.network.lookups, []);
});

Deno.test("signIn() trusts the given CA, and accepts an issuer with a trailing slash", async () => {
  await using signing = new SignInWorld();
  signing.memory.network.tls = (conn) => Promise.resolve(conn);
  signing.memory.network.names.set("idp.example.net", ["127.0.0.1"]);
  const { port } = new URL(signing.server.issuer);
  const issuer = `https://idp.example.net:${port}/oidc/`;
  const endpoints = Object.fromEntries(
    Object.entries({ authorization_endpoint: "auth", token_endpoint: "token", jwks_uri: "keys" })
      .map(([name, path]) => [name, `${issuer}${path}`]),
  );
  signing.server.lies.metadata = { issuer, ...endpoints };
  signing.server.lies.claims = { iss: issuer };
  const discoveryUrl = `${issuer}.well-known/openid-configuration`;
  const options = { ...signing.options, discoveryUrl, ca: "the CA" };
  assert.equal((await signIn(options, signing.parts, { signal })).from, "person");
  // The browser, which gets the CA separately, requests one page.
  assert.equal(signing.memory.network.secured.filter(({ ca }) => ca !== "the CA").length, 1);
  assert.equal((await signIn(options, signing.parts, { signal })).from, "cache");
});

Deno.test("signIn() does not request offline access if the provider does not support it", async () => {
  await using signing = new SignInWorld();
  signing.server.lies.metadata = { scopes_supported: ["openid", "email"] };
  await signIn(signing.options, signing.parts, { signal });
  assert.equal(signing.server.authorizations[0]?.get("scope"), "openid email profile");
});

for (const place of ["page", "token"] as const) {
  Deno.test(`signIn() continues without offline access if the ${place} refuses it`, async () => {
    await using signing = new SignInWorld();
    signing.server.lies.refusesOffline = place;
    assert.equal((await signIn(signing.options, signing.parts, { signal })).from, "person");
    assert.deepEqual(signing.server.authorizations.map((query) => query.get("scope")), [
      "openid email profile offline_access",
      "openid email profile",
    ]);
    assert.equal(new Set(signing.server.authorizations.map((query) => query.get("state"))).size, 2);
    // Only one browser window.
    assert.equal(signing.opened.length, 1);
    assert.match(signing.page ?? "", /^200 [^]*You are signed in as alice@example.com/);
  });
}

Deno.test("signIn() reports that its port is in use, and by which program", async () => {
  await using first = new SignInWorld();
  const sent = withoutBrowser(first);
  const waiting = signIn(first.options, first.parts, { signal });
  const address = await sent;
  const other = { ...first.options, apiUrl: "https://other.example.com" };
  await assert.rejects(signIn(other, first.parts, { signal }), (error) => {
    assert.ok(isPosternError(error, "config"));
    assert.equal(
      error.message,
      "Cannot wait for the sign-in: port 18000 is in use by another postern process that waits for a sign-in",
    );
    assert.match(error.hint ?? "", /--device/);
    assert.equal(exitCode(error), 1);
    return true;
  });
  await first.comeBack(address);
  assert.equal((await waiting).from, "person");
});

Deno.test("signIn() recognizes commodore on its port", async () => {
  await using signing = new SignInWorld();
  const listening = signing.memory.network.listen({ host: "127.0.0.1", port: 18000 });
  await using _commodore = new WebServer(listening, () => ({
    fields: [["Server", "BaseHTTP/0.6 Python/3.12.3"]],
    body: "ok",
  }));
  const refused = signIn(signing.options, signing.parts, { signal });
  await assert.rejects(refused, /port 18000 is in use by commodore, which waits for a sign-in$/);
});

Deno.test("signIn() works without IPv6, but rejects a port that is free for one family only", async () => {
  await using signing = new SignInWorld();
  using _taken = closing(signing.memory.network.listen({ host: "::1", port: 18000 }));
  const refused = assert.rejects(signIn(signing.options, signing.parts, { signal }), (error) => {
    assert.ok(isPosternError(error, "config"));
    assert.equal(error.message, "Cannot wait for the sign-in: port 18000 is in use");
    return true;
  });
  // The owner of the port cannot be identified.
  await passTime(signing.memory.clock, refused, 200);
  await refused;
  // The port of the other family was released.
  using _free = closing(signing.memory.network.listen({ host: "127.0.0.1", port: 18000 }));
});

function closing(listening: { close(): void }): Disposable {
  return { [Symbol.dispose]: () => listening.close() };
}

Deno.test("signIn() waits five minutes for the user", async () => {
  await using signing = new SignInWorld();
  const sent = withoutBrowser(signing);
  const asked = signIn(signing.options, signing.parts, { signal });
  const refused = assert.rejects(asked, (error) => {
    assert.ok(isPosternError(error, "timeout"));
    assert.equal(exitCode(error), 5);
    assert.match(error.message, /no sign-in within 300 s/);
    return true;
  });
  await sent;
  await signing.memory.clock.advance(299_999);
  assert.equal(signing.memory.clock.waiting, 1);
  await signing.memory.clock.advance(1);
  await refused;
  assert.equal(signing.memory.clock.waiting, 0);
  using _free = closing(signing.memory.network.listen({ host: "127.0.0.1", port: 18000 }));
});

Deno.test("signIn() throws the reason of its signal", async () => {
  await using signing = new SignInWorld();
  const sent = withoutBrowser(signing);
  const stop = new AbortController();
  const asked = signIn(signing.options, signing.parts, stop);
  await sent;
  const reason = new PosternError("cancelled", "Interrupted");
  stop.abort(reason);
  await assert.rejects(asked, reason);
  assert.equal(signing.memory.clock.waiting, 0);
  using _free = closing(signing.memory.network.listen({ host: "127.0.0.1", port: 18000 }));
});

Deno.test("signIn() called twice at once asks the user once", async () => {
  await using signing = new SignInWorld();
  const sent = withoutBrowser(signing);
  const both = [1, 2].map(() => signIn(signing.options, signing.parts, { signal }));
  const address = await sent;
  // Hashing runs on another thread, so the second call may not have reached the lock yet.
  await untilSaid(signing, "another postern");
  await signing.comeBack(address);
  const done = Promise.all(both);
  await passTime(signing.memory.clock, done, 200);
  const [one, two] = await done;
  assert.equal(one?.idToken, two?.idToken);
  assert.deepEqual([one?.from, two?.from].sort(), ["cache", "person"]);
  assert.equal(signing.opened.length, 1);
  assert.equal(
    signing.said.match(/waiting for another postern process that is signing in at \S+\n/g)?.length,
    1,
  );
});

Deno.test("signIn() returns the token although the disk cannot be written", async () => {
  await using signing = new SignInWorld();
  const full = () => Promise.reject(new PosternError("config", "Cannot write: the disk is full"));
  Object.assign(signing.memory.files, { replace: full, privateDirectory: full });
  // The browser's log cannot be written either, so the user opens the URL.
  signing.parts.world.files.replace = full;
  const asked = signIn(signing.options, signing.parts, { signal });
  const address = await shown(signing);
  assert.match(signing.said, /cannot start a browser \(Cannot write: the disk is full\)/);
  await signing.comeBack(address);
  assert.equal((await asked).from, "person");
  const events = signing.log.lines.map(({ event }) => event);
  assert.deepEqual(events.filter((event) => /not_/.test(event)), [
    "sign_in.not_locked",
    "sign_in.not_stored",
  ]);
});

async function untilSaid(signing: SignInWorld, text: string): Promise<void> {
  while (!signing.said.includes(text)) await new Promise((resolve) => setTimeout(resolve, 0));
}

async function shown(signing: SignInWorld): Promise<string> {
  await untilSaid(signing, "start a browser");
  return /^http.*$/m.exec(signing.said)?.[0] ?? "";
}

Deno.test("withSignIn() signs in again once when the token is rejected", async () => {
  await using signing = new SignInWorld();
  const { idToken: stale } = await signIn(signing.options, signing.parts, { signal });
  const tried: string[] = [];
  const result = await withSignIn(signing.options, signing.parts, { signal }, ({ idToken, from }) => {
    tried.push(from);
    if (idToken === stale) throw new TokenRefusal("Cannot read the clusters: Unauthorized");
    return Promise.resolve("clusters");
  });
  assert.equal(result, "clusters");
  assert.deepEqual(tried, ["cache", "refresh"]);
});

Deno.test("withSignIn() tries at most twice, and a token from a new sign-in only once", async () => {
  await using signing = new SignInWorld();
  const refusal = new TokenRefusal("Cannot read the clusters: Unauthorized");
  const tried: string[] = [];
  const never = ({ from }: SignedIn) => {
    tried.push(from);
    return Promise.reject(refusal);
  };
  await assert.rejects(withSignIn(signing.options, signing.parts, { signal }, never), refusal);
  assert.deepEqual(tried.splice(0), ["person"]);
  await assert.rejects(withSignIn(signing.options, signing.parts, { signal }, never), refusal);
  assert.deepEqual(tried.splice(0), ["cache", "refresh"]);
  await signing.memory.clock.advance(3_600_000);
  await assert.rejects(withSignIn(signing.options, signing.parts, { signal }, never), refusal);
  assert.deepEqual(tried.splice(0), ["refresh", "person"]);
});

const others = [
  new PosternError("not_allowed", "Cannot read the clusters: forbidden"),
  new PosternError("auth", 'Cannot trust "api.syn.example.com": its certificate is not valid at this time'),
];
for (const failure of others) {
  Deno.test(`withSignIn() throws failures that a sign-in cannot fix: ${failure.code}`, async () => {
    await using signing = new SignInWorld();
    await signIn(signing.options, signing.parts, { signal });
    const { asked } = signing.server;
    const failed = withSignIn(signing.options, signing.parts, { signal }, () => Promise.reject(failure));
    await assert.rejects(failed, failure);
    assert.equal(signing.server.asked, asked);
  });
}

Deno.test("signOut() removes the local tokens even if the provider is unreachable", async () => {
  await using signing = new SignInWorld();
  await signIn(signing.options, signing.parts, { signal });
  signing.memory.network.faults.set("127.0.0.1", new PosternError("unreachable", "Cannot reach 127.0.0.1"));
  assert.equal(await signOut(signing.options, signing.parts, { signal }), true);
  assert.deepEqual(await signing.memory.files.list("/cache/tokens"), []);
  assert.equal(signing.log.lines.at(-1)?.event, "sign_in.not_revoked");
  assertDiscreet(signing);
});

Deno.test("signOut() waits for a concurrent renewal, but not long for a sign-in", async () => {
  await using signing = new SignInWorld();
  const { clock, files } = signing.memory;
  const { idToken } = await signIn(signing.options, signing.parts, { signal });
  const cache = new TokenCache(signing.world, signing.log);
  const [key] = await cache.keysFor(signing.options.apiUrl);
  assert.ok(key);
  const renewing = await cache.lock(key);
  const leaving = signOut(signing.options, signing.parts, { signal });
  await clock.advance(1000);
  await cache.write(key, { idToken, refreshToken: "renewed-secret" });
  renewing?.[Symbol.dispose]();
  await passTime(clock, leaving, 200);
  assert.equal(await leaving, true);
  assert.deepEqual(await files.list("/cache/tokens"), []);
  await cache.write(key, { idToken });
  using _person = await cache.lock(key);
  const hasty = signOut(signing.options, signing.parts, { signal });
  await passTime(clock, hasty, 200);
  assert.equal(await hasty, true);
  assert.deepEqual(await files.list("/cache/tokens"), []);
});

Deno.test("signOut() at a provider without revocation", async () => {
  await using signing = new SignInWorld();
  signing.server.lies.metadata = { revocation_endpoint: undefined };
  await signIn(signing.options, signing.parts, { signal });
  assert.equal(await signOut(signing.options, signing.parts, { signal }), true);
  assert.deepEqual(signing.log.lines.at(-1), {
    time: "1970-01-01T00:00:00.000Z",
    level: "info",
    event: "sign_in.signed_out",
    revoked: false,
  });
});

Deno.test("signOut() removes the tokens of one API", async () => {
  await using signing = new SignInWorld();
  await signIn(signing.options, signing.parts, { signal });
  const other = { ...signing.options, apiUrl: "https://other.example.com" };
  await signIn(other, signing.parts, { signal });
  assert.equal(signing.server.refreshTokens.size, 2);
  assert.equal(await signOut(signing.options, signing.parts, { signal }), true);
  assert.equal(await signOut(signing.options, signing.parts, { signal }), false);
  assert.equal(signing.server.refreshTokens.size, 1);
  assert.equal((await signIn(other, signing.parts, { signal })).from, "cache");
  assert.equal((await signIn(signing.options, signing.parts, { signal })).from, "person");
});
