import assert from "node:assert/strict";
import { givenToken, signIn, TokenCache } from "../../../src/signin/mod.ts";
import { keyUrl } from "../../../src/signin/token_cache.ts";
import { isPosternError } from "../../../src/words/mod.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { recordingLog } from "../../support/recording_log.ts";
import { SignInWorld } from "../../support/sign_in_world.ts";

const { signal } = new AbortController();
const key = { issuer: "https://idp.example.net", clientId: "lieutenant", apiUrl: "https://api.example.net" };

async function stored(): Promise<
  { world: MemoryWorld; log: ReturnType<typeof recordingLog>; cache: TokenCache; path: string }
> {
  const world = new MemoryWorld();
  const log = recordingLog();
  const cache = new TokenCache(world, log);
  await cache.write(key, { idToken: "id-secret", refreshToken: "refresh-secret" });
  const [name = ""] = await world.files.list("/cache/tokens");
  return { world, log, cache, path: `/cache/tokens/${name}` };
}

Deno.test("TokenCache returns stored tokens only for their key", async () => {
  const { cache } = await stored();
  assert.deepEqual(await cache.read(key), { idToken: "id-secret", refreshToken: "refresh-secret" });
  for (const other of [{ clientId: "x" }, { issuer: "https://x" }, { apiUrl: "https://x" }]) {
    assert.equal(await cache.read({ ...key, ...other }), undefined);
  }
  await cache.forget(key);
  assert.equal(await cache.read(key), undefined);
  await cache.forget(key);
});

const faults: readonly {
  readonly name: string;
  readonly change: (text: string) => string;
  readonly mode?: number;
  readonly reason?: string;
}[] = [
  { name: "that other users may read", change: (text) => text, mode: 0o644 },
  { name: "that other users may write", change: (text) => text, mode: 0o620 },
  { name: "that is truncated", change: (text) => text.slice(0, -20), reason: "it is damaged" },
  { name: "that is empty", change: () => "" },
  {
    name: "of a newer version",
    change: (text) => text.replace('"version": 1', '"version": 2'),
    reason: "a newer postern wrote it",
  },
  {
    name: "without a version",
    change: (text) => text.replace('"version": 1', '"version": "1"'),
    reason: "it is damaged",
  },
  { name: "of another key", change: (text) => text.replace("lieutenant", "grafana") },
  { name: "that is a list", change: () => "[1]" },
  { name: "that is too large", change: (text) => text + " ".repeat(300_000) },
];
for (const { name, change, mode, reason } of faults) {
  Deno.test(`TokenCache ignores a file ${name}`, async () => {
    const { world, log, cache, path } = await stored();
    world.files.put(path, change(await world.files.readText(path)), mode);
    assert.equal(await cache.read(key), undefined);
    assert.deepEqual(log.lines.map(({ event, file }) => [event, file]), [["sign_in.cache_ignored", path]]);
    if (reason !== undefined) assert.equal(log.lines[0]?.["reason"], reason);
    assert.doesNotMatch(JSON.stringify(log.lines), /-secret/);
  });
}

Deno.test("TokenCache locks each sign-in separately", async () => {
  const { cache } = await stored();
  const lock = await cache.lock(key);
  assert.equal(await cache.lock(key), undefined);
  using _other = await cache.lock({ ...key, clientId: "x" });
  assert.ok(_other);
  lock?.[Symbol.dispose]();
  using _again = await cache.lock(key);
  assert.ok(_again);
});

const urls = [
  ["https://API.example.net", "https://api.example.net"],
  ["https://api.example.net:443/", "https://api.example.net"],
  ["https://api.example.net/v1//", "https://api.example.net/v1"],
  ["http://127.0.0.1:8080/?a", "http://127.0.0.1:8080?a"],
] as const;
for (const [url, is] of urls) {
  Deno.test(`keyUrl() writes ${url} as ${is}`, () => assert.equal(keyUrl(url), is));
}

Deno.test("keyUrl() accepts only web addresses", () => {
  for (const url of ["", "api.example.net", "file:///x"]) {
    assert.throws(() => keyUrl(url), (error) => isPosternError(error, "config"));
  }
});

const commodore = [
  {
    name: "the whole response",
    entry: (token: string) => ({ access_token: "a", id_token: token, refresh_token: "r" }),
  },
  { name: "only the id_token, as in older versions", entry: (token: string) => token },
];
for (const { name, entry } of commodore) {
  for (
    const [variable, path] of [["", "/home/me/.cache"], ["/xdg", "/xdg"], ["relative", "/home/me/.cache"]]
  ) {
    Deno.test(`signIn() uses commodore's token below "${variable}": ${name}`, async () => {
      await using signing = new SignInWorld({ env: variable ? { XDG_CACHE_HOME: variable } : {} });
      const token = await signing.server.idToken();
      const content = { "https://other.example.com": "x.y.z", "https://api.syn.example.com": entry(token) };
      signing.memory.files.put(`${path}/commodore/token`, JSON.stringify(content), 0o644);
      const signedIn = await signIn({ ...signing.options, method: "none" }, signing.parts, { signal });
      assert.deepEqual([signedIn.from, signedIn.idToken], ["commodore", token]);
      assert.equal(signing.server.asked, 0);
    });
  }
}

Deno.test("signIn() finds commodore's token next to an API without a scheme", async () => {
  await using signing = new SignInWorld();
  const token = await signing.server.idToken();
  const content = { "api.example.net:8443": "x.y.z", "https://api.syn.example.com": token };
  signing.memory.files.put("/home/me/.cache/commodore/token", JSON.stringify(content), 0o644);
  assert.equal(
    (await signIn({ ...signing.options, method: "none" }, signing.parts, { signal })).from,
    "commodore",
  );
});

Deno.test("signIn() renews with commodore's refresh token, and stores the result", async () => {
  await using signing = new SignInWorld();
  const id_token = await signing.server.idToken({ exp: 1 });
  signing.server.refreshTokens.add("theirs");
  const content = JSON.stringify({ "https://api.syn.example.com/": { id_token, refresh_token: "theirs" } });
  signing.memory.files.put("/home/me/.cache/commodore/token", content, 0o644);
  const silent = { ...signing.options, method: "none" } as const;
  assert.equal((await signIn(silent, signing.parts, { signal })).from, "refresh");
  assert.equal((await signIn(silent, signing.parts, { signal })).from, "cache");
  assert.equal(await signing.memory.files.readText("/home/me/.cache/commodore/token"), content);
});

const foreign: readonly {
  readonly name: string;
  readonly claims?: Record<string, unknown>;
  readonly text?: string;
  readonly mode?: number;
}[] = [
  { name: "of another provider", claims: { iss: "https://evil.example.net" } },
  { name: "for another client", claims: { aud: "grafana" } },
  { name: "that has expired", claims: { exp: 1 } },
  { name: "without an expiry", claims: { exp: "never" } },
  { name: "in a file that other users may write", mode: 0o666 },
  { name: "in a file that is not JSON", text: '{"id-secret' },
  { name: "in a file with another structure", text: '["id-secret"]' },
  { name: "that is not a JWT", text: '{"https://api.syn.example.com":{"id_token":"id-secret"}}' },
];
for (const { name, claims = {}, text, mode = 0o644 } of foreign) {
  Deno.test(`signIn() rejects commodore's token ${name}`, async () => {
    await using signing = new SignInWorld();
    const content = text ??
      JSON.stringify({ "https://api.syn.example.com": await signing.server.idToken(claims) });
    signing.memory.files.put("/home/me/.cache/commodore/token", content, mode);
    assert.equal((await signIn(signing.options, signing.parts, { signal })).from, "person");
    assert.doesNotMatch(signing.shown, /-secret/);
  });
}

Deno.test("givenToken() reads a token from a file or standard input", async () => {
  await using signing = new SignInWorld();
  const token = await signing.server.idToken();
  signing.memory.files.put("/token", `${token}\n`);
  assert.equal(await givenToken({ file: "/token" }, signing.world), token);
  const terminal = { ...signing.world.terminal, readInput: () => Promise.resolve(`  ${token}\r\n`) };
  assert.equal(await givenToken("input", { ...signing.world, terminal }), token);
});

Deno.test("givenToken() accepts a token that is not a JWT", async () => {
  const world = new MemoryWorld({ files: { "/token": "sha256~abc_DEF-1" } });
  assert.equal(await givenToken({ file: "/token" }, world), "sha256~abc_DEF-1");
});

const unusable = [
  { name: "nothing", text: "\n", code: "config" },
  { name: "two words", text: "Bearer id-secret", code: "config" },
  { name: "a whole response", text: '{"id_token":"id-secret"}', code: "config" },
  { name: "a line that would become a header", text: "id-secret\r\nX-Evil: 1", code: "config" },
] as const;
for (const { name, text, code } of unusable) {
  Deno.test(`givenToken() refuses ${name} without showing it`, async () => {
    const world = new MemoryWorld({ files: { "/token": text } });
    await assert.rejects(givenToken({ file: "/token" }, world), (error) => {
      assert.ok(isPosternError(error, code));
      assert.match(error.message, /^Cannot use the token from "\/token": it is /);
      assert.doesNotMatch(Deno.inspect(error), /secret/);
      return true;
    });
  });
}

Deno.test("givenToken() reports an expired token", async () => {
  await using signing = new SignInWorld();
  signing.memory.files.put("/token", await signing.server.idToken({ exp: Date.UTC(2025, 11, 31) / 1000 }));
  await assert.rejects(givenToken({ file: "/token" }, signing.world), (error) => {
    assert.ok(isPosternError(error, "auth"));
    assert.equal(error.message, 'Cannot use the token from "/token": it expired 2025-12-31T00:00:00.000Z');
    return true;
  });
});
