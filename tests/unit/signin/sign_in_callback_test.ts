import assert from "node:assert/strict";
import { SignInCallback } from "../../../src/signin/sign_in_callback.ts";
import type { Conn } from "../../../src/core/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { recordingLog } from "../../support/recording_log.ts";

const { signal } = new AbortController();

/** A callback for the browser with the state "right", which exchanges the code for "tokens". */
class Callback implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly network = new MemoryNetwork();
  readonly log = recordingLog();
  readonly codes: (string | null)[] = [];
  readonly #ending = new AbortController();
  readonly result: Promise<string>;

  constructor(
    redeem: (code: string | null) => Promise<string> = () => Promise.resolve("tokens"),
    { startsOver = false } = {},
  ) {
    const open = SignInCallback.open(18000, this, { signal });
    this.result = open.then(async (callback) => {
      await using _callback = callback;
      const redeemed = async (answer: URLSearchParams) => {
        this.codes.push(answer.get("code"));
        return { result: await redeem(answer.get("code")), name: "<b>alice</b>" };
      };
      const next = { url: new URL("https://idp.example.net/again"), state: "right", redeem: redeemed };
      const first = { ...next, state: "first", redeem: () => Promise.resolve({ next }) };
      return await callback.result(startsOver ? first : next, this.#ending);
    });
    this.result.catch(() => {});
  }

  /** Connects and writes a text. */
  async connect(bytes = "", host = "127.0.0.1"): Promise<Conn> {
    await this.clock.advance(0);
    const conn = await this.network.connect({ host, port: 18000 }, { signal });
    await conn.write(new TextEncoder().encode(bytes));
    return conn;
  }

  /** The status and text of the response to a request. */
  async ask(bytes: string, host?: string): Promise<string> {
    await using conn = await this.connect(bytes, host);
    return await everything(conn);
  }

  get(target: string, host?: string): Promise<string> {
    return this.ask(`GET ${target} HTTP/1.1\r\nHost: localhost:18000\r\n\r\n`, host);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error("over"));
    await this.result.catch(() => {});
    await this.clock.advance(0);
    assert.equal(this.clock.waiting, 0);
  }
}

async function everything(conn: Conn): Promise<string> {
  const into = new Uint8Array(16 * 1024);
  let text = "";
  for (let count = await conn.read(into); count !== null; count = await conn.read(into)) {
    text += new TextDecoder().decode(into.subarray(0, count));
  }
  return text;
}

for (const host of ["127.0.0.1", "::1"]) {
  Deno.test(`SignInCallback accepts the browser's return to ${host}`, async () => {
    await using callback = new Callback();
    const answer = await callback.get("/?code=c%2B1&state=right&session_state=x", host);
    assert.match(
      answer,
      /^HTTP\/1.1 200 OK\r\n[^]*signed in as &#60;b&#62;alice[^]*You can close this window/,
    );
    assert.equal(await callback.result, "tokens");
    assert.deepEqual(callback.codes, ["c+1"]);
  });
}

Deno.test("SignInCallback answers with a page that does not leak the code", async () => {
  await using callback = new Callback();
  const answer = await callback.get("/?code=c&state=right");
  assert.match(answer, /Referrer-Policy: no-referrer\r\n/);
  assert.match(answer, /Cache-Control: no-store\r\n/);
  assert.match(answer, /Content-Security-Policy: default-src 'none'; style-src 'nonce-/);
  assert.doesNotMatch(answer, /<script/);
});

Deno.test("SignInCallback shows an error as text", async () => {
  const failure = new Error("not for people");
  await using callback = new Callback(() => Promise.reject(failure));
  const answer = await callback.get("/?code=c&state=right");
  assert.match(answer, /^HTTP\/1.1 403 [^]*You are not signed in/);
  assert.doesNotMatch(answer, /not for people/);
  await assert.rejects(callback.result, failure);
});

const strangers = [
  { name: "another page", bytes: "GET /favicon.ico HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 404 },
  {
    name: "the state at another path",
    bytes: "GET /x?code=c&state=right HTTP/1.1\r\nHost: localhost\r\n\r\n",
    status: 404,
  },
  {
    name: "a form",
    bytes: "POST /?code=c&state=right HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
    status: 405,
  },
  { name: "a head", bytes: "HEAD /?code=c&state=right HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 405 },
  {
    name: "another host name of this machine",
    bytes: "GET /?code=c&state=right HTTP/1.1\r\nHost: evil.example.net\r\n\r\n",
    status: 421,
  },
  {
    name: "a request URL of a proxy client",
    bytes: "GET http://localhost/?code=c&state=right HTTP/1.1\r\nHost: localhost\r\n\r\n",
    status: 404,
  },
  { name: "TLS", bytes: "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", status: 404 },
  { name: "a guess", bytes: "GET /?code=c&state=wrong HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 400 },
];
for (const { name, bytes, status } of strangers) {
  Deno.test(`SignInCallback continues to wait after ${name}`, async () => {
    await using callback = new Callback();
    assert.match(await callback.ask(bytes), new RegExp(`^HTTP/1.1 ${status} `));
    await callback.get("/?code=good&state=right");
    assert.equal(await callback.result, "tokens");
    assert.deepEqual(callback.codes, ["good"]);
  });
}

Deno.test("SignInCallback accepts a response once", async () => {
  const redeemed = Promise.withResolvers<string>();
  await using callback = new Callback(() => redeemed.promise);
  const first = callback.get("/?code=good&state=right");
  while (callback.codes.length === 0) await callback.clock.advance(0);
  assert.match(await callback.get("/?code=other&state=right"), /^HTTP\/1.1 409 /);
  redeemed.resolve("tokens");
  assert.match(await first, /^HTTP\/1.1 200 /);
  assert.equal(await callback.result, "tokens");
  assert.deepEqual(callback.codes, ["good"]);
});

Deno.test("SignInCallback sends the browser on another errand, and accepts only its response", async () => {
  await using callback = new Callback(undefined, { startsOver: true });
  assert.match(await callback.get("/?code=c&state=right"), /^HTTP\/1.1 400 /);
  assert.match(
    await callback.get("/?code=c&state=first"),
    /^HTTP\/1.1 302 Found\r\nLocation: https:\/\/idp.example.net\/again\r\n/,
  );
  assert.match(await callback.get("/?code=c&state=first"), /^HTTP\/1.1 400 /);
  await callback.get("/?code=good&state=right");
  assert.equal(await callback.result, "tokens");
  assert.deepEqual(callback.codes, ["good"]);
});

Deno.test("SignInCallback stays available with many silent clients", async () => {
  await using callback = new Callback();
  const silent = [];
  for (let count = 0; count < 100; count++) silent.push(await callback.connect("GET /?code"));
  await callback.clock.advance(0);
  await callback.get("/?code=good&state=right");
  assert.equal(await callback.result, "tokens");
  for (const conn of silent) await conn[Symbol.asyncDispose]();
});

Deno.test("SignInCallback closes a client that is silent for ten seconds", async () => {
  await using callback = new Callback();
  await using conn = await callback.connect("GET /?code");
  await callback.clock.advance(9999);
  assert.equal(callback.clock.waiting, 1);
  await callback.clock.advance(1);
  await assert.rejects(everything(conn));
  assert.equal(callback.clock.waiting, 0);
});

Deno.test("SignInCallback rejects an endless request", async () => {
  await using callback = new Callback();
  await using conn = await callback.connect(`GET /?state=right&code=${"x".repeat(20_000)}`);
  await callback.clock.advance(0);
  await conn.write(new TextEncoder().encode("x".repeat(20_000))).catch(() => {});
  await everything(conn).catch(() => {});
  assert.deepEqual(callback.codes, []);
  await callback.get("/?code=good&state=right");
  assert.equal(await callback.result, "tokens");
});

Deno.test("SignInCallback does not wait for a browser that never reads its page", async () => {
  await using callback = new Callback();
  await using _conn = await callback.connect(
    "GET /?code=good&state=right HTTP/1.1\r\nHost: localhost\r\n\r\n",
  );
  while (callback.codes.length === 0) await callback.clock.advance(0);
  await callback.clock.advance(2000);
  assert.equal(await callback.result, "tokens");
});
