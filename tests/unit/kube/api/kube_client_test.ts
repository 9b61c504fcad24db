import assert from "node:assert/strict";
import type { PosternError } from "../../../../src/words/mod.ts";
import { type FakeAnswer, FakeWatch } from "../../../support/fake_kube_api.ts";
import { settle } from "../../../support/fake_clock.ts";
import { kubeconfigOf, kubeWorld } from "../../../support/kube_world.ts";
import { readAll } from "../../../support/memory_conn.ts";

const { signal } = new AbortController();
const ok: FakeAnswer = { status: 200, body: { fine: true } };

/** The credentials that the next request sends. */
async function shownTo({ client, api }: Awaited<ReturnType<typeof kubeWorld>>): Promise<string | undefined> {
  await client.json({ path: "/" }, { signal });
  return api.requests.at(-1)?.fields.get("authorization");
}

Deno.test("KubeClient sends credentials, impersonation and the server's base path", async () => {
  const user = {
    token: "secret",
    as: "boß",
    "as-uid": "7",
    "as-groups": ["a", "b"],
    "as-user-extra": { "x/y": ["1", "2"] },
  };
  await using world = await kubeWorld({ answer: () => ok, user, server: "http://kube.localhost/k8s/c-1/" });
  assert.deepEqual(await world.client.json({ path: "/api?x=1" }, { signal }), { fine: true });
  const [request] = world.api.requests;
  assert.equal(request?.target, "/k8s/c-1/api?x=1");
  const { fields } = request ?? assert.fail("no request was sent");
  assert.equal(fields.get("authorization"), "Bearer secret");
  assert.equal(fields.get("impersonate-user"), "bo\u00c3\u009f");
  assert.equal(fields.get("impersonate-uid"), "7");
  assert.deepEqual(fields.all("impersonate-group"), ["a", "b"]);
  assert.deepEqual(fields.all("impersonate-extra-x%2Fy"), ["1", "2"]);
});

for (
  const user of [{ token: "secret" }, { username: "me", password: "pass" }, {
    exec: { apiVersion: "client.authentication.k8s.io/v1", command: "never", interactiveMode: "Never" },
  }]
) {
  Deno.test(`KubeClient sends no credentials to another machine without TLS: ${Object.keys(user)}`, async () => {
    await using world = await kubeWorld({ answer: () => ok, user, server: "http://kube.example.net" });
    await world.client.json({ path: "/" }, { signal });
    assert.equal(world.api.requests[0]?.fields.get("authorization"), undefined);
    assert.deepEqual(world.runs, []);
  });
}

Deno.test("KubeClient signs in with a user name and a password", async () => {
  await using world = await kubeWorld({ answer: () => ok, user: { username: "me", password: "pass" } });
  await world.client.json({ path: "/" }, { signal });
  assert.equal(world.api.requests[0]?.fields.get("authorization"), `Basic ${btoa("me:pass")}`);
});

Deno.test("KubeClient reuses a connection, and opens a new one after the idle one was closed", async () => {
  await using world = await kubeWorld({ answer: () => ok });
  for (let times = 0; times < 3; times++) await world.client.json({ path: "/" }, { signal });
  assert.equal(world.api.conns.length, 1);
  // The server closes the idle connection.
  await world.api.requests[0]?.conn[Symbol.asyncDispose]();
  await settle();
  await world.client.json({ path: "/" }, { signal });
  assert.equal(world.api.conns.length, 2);
  assert.equal(world.client.status().connections, 1);
  await world.clock.advance(30_000);
  assert.equal(world.api.open, 0);
});

Deno.test("KubeClient retries a GET on a lost connection, but not a POST", async () => {
  let isDying = false;
  await using world = await kubeWorld({ answer: () => isDying ? (isDying = false, "close") : ok });
  await world.client.json({ path: "/" }, { signal });
  isDying = true;
  await world.client.json({ path: "/" }, { signal });
  assert.equal(world.api.requests.length, 3);
  isDying = true;
  await assert.rejects(world.client.json({ method: "POST", path: "/", body: {} }, { signal }), /it closed/);
  assert.equal(world.api.requests.length, 4);
});

Deno.test("KubeClient runs at most four requests at once", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using world = await kubeWorld({ answer: () => promise.then(() => ok) });
  const asked = Array.from({ length: 50 }, () => world.client.json({ path: "/" }, { signal }));
  await settle();
  assert.equal(world.api.conns.length, 4);
  resolve();
  assert.equal((await Promise.all(asked)).length, 50);
  assert.equal(world.api.requests.length, 50);
});

Deno.test("KubeClient removes an aborted request from the queue", async () => {
  await using world = await kubeWorld({ answer: () => "silent" });
  const stop = new AbortController();
  const asked = Array.from({ length: 4 }, () => world.client.json({ path: "/" }, { signal: stop.signal }));
  const settled = Promise.allSettled(asked);
  await settle();
  const last = new AbortController();
  const waiting = world.client.json({ path: "/last" }, { signal: last.signal });
  await settle();
  const reason = new Error("enough");
  last.abort(reason);
  await assert.rejects(waiting, reason);
  stop.abort(reason);
  assert.ok((await settled).every(({ status }) => status === "rejected"));
  assert.deepEqual(world.api.asked.filter((line) => line.endsWith("/last")), []);
});

Deno.test("KubeClient reads a response that arrives byte by byte", async () => {
  await using world = await kubeWorld({ answer: () => ok });
  world.api.pieces = 1;
  assert.deepEqual(await world.client.json({ path: "/" }, { signal }), { fine: true });
});

const forbidden = {
  kind: "Status",
  message:
    'services is forbidden: User "bob" cannot list resource "services" in API group "" in the namespace "shop"',
};
const failures: readonly {
  name: string;
  answer: FakeAnswer;
  code: string;
  message: RegExp;
  hint?: RegExp;
}[] = [
  {
    name: "401 with fixed credentials",
    answer: { status: 401 },
    code: "auth",
    message: /^Cannot sign in to the cluster "lab"/,
    hint: /sign in again/,
  },
  {
    name: "403 with a missing right",
    answer: { status: 403, body: forbidden },
    code: "not_allowed",
    message: /"bob" may not list services in the namespace "shop"$/,
    hint: /resources: \["services"\], verbs: \["list"\]/,
  },
  {
    name: "403 of another server",
    answer: { status: 403, body: "no" },
    code: "not_allowed",
    message: /: no$/,
  },
  {
    name: "404",
    answer: { status: 404, body: { message: 'pods "x" not found' } },
    code: "name_not_found",
    message: /pods "x" not found/,
  },
  { name: "409", answer: { status: 409 }, code: "protocol", message: /returned 409/ },
  {
    name: "a body that is not JSON",
    answer: { status: 200, body: "<html>" },
    code: "protocol",
    message: /the response is not JSON/,
  },
  {
    name: "429 with a long Retry-After",
    answer: { status: 429, fields: [["Retry-After", "3600"]] },
    code: "unreachable",
    message: /returned 429/,
  },
  {
    name: "endless interim responses",
    answer: { raw: "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(17) },
    code: "protocol",
    message: /too many 1xx responses$/,
  },
  {
    name: "a response that is not HTTP",
    answer: { raw: "SSH-2.0-x\r\n\r\n" },
    code: "protocol",
    message: /Cannot read/,
  },
  {
    name: "a body over the limit",
    answer: { status: 200, body: "x".repeat(2000) },
    code: "protocol",
    message: /more than 1000 bytes/,
  },
];
for (const { name, answer, code, message, hint } of failures) {
  Deno.test(`KubeClient throws ${code} for ${name}`, async () => {
    await using world = await kubeWorld({ answer: () => answer });
    await assert.rejects(
      world.client.json({ path: "/x", limit: 1000 }, { signal }),
      (error: PosternError) => {
        assert.equal(error.code, code, error.message);
        assert.match(error.message, message);
        assert.match(error.hint ?? "", hint ?? /.*/);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
    assert.equal(world.api.requests.length, 1);
  });
}

for (
  const { status, fields, waits } of [
    { status: 429, fields: [["Retry-After", "2"]], waits: 2125 },
    { status: 429, fields: [], waits: 250 },
    { status: 500, fields: [], waits: 250 },
    { status: 503, fields: [], waits: 250 },
  ] as const
) {
  Deno.test(`KubeClient retries after ${status}${fields.length > 0 ? " with Retry-After" : ""}`, async () => {
    let times = 0;
    await using world = await kubeWorld({ answer: () => times++ === 0 ? { status, fields } : ok });
    const asked = world.client.json({ path: "/" }, { signal });
    await settle();
    assert.equal(times, 1);
    await world.clock.advance(waits - 1);
    assert.equal(times, 1);
    await world.clock.advance(1);
    assert.deepEqual(await asked, { fine: true });
  });
}

Deno.test("KubeClient stops after three retries, and does not repeat a POST after a 500", async () => {
  await using world = await kubeWorld({ answer: () => ({ status: 500 }) });
  const asked = assert.rejects(world.client.json({ path: "/" }, { signal }), /returned 500/);
  for (let times = 0; times < 10; times++) await world.clock.advance(500);
  await asked;
  assert.equal(world.api.requests.length, 4);
  assert.match(world.client.status().lastError ?? "", /returned 500/);
  await assert.rejects(world.client.json({ method: "POST", path: "/" }, { signal }), /returned 500/);
  assert.equal(world.api.requests.length, 5);
});

Deno.test("KubeClient ends a request without a response and drops its connection", async () => {
  await using world = await kubeWorld({ answer: () => "silent" });
  const asked = assert.rejects(world.client.json({ path: "/" }, { signal }), (error: PosternError) => {
    assert.equal(error.code, "timeout");
    assert.match(
      error.message,
      /the API server of the cluster "lab" \(kube.localhost:80\): no answer within 20 s/,
    );
    return true;
  });
  await world.clock.advance(20_000);
  await asked;
  assert.equal(world.api.open, 0);
});

Deno.test("KubeClient throws the caller's reason", async () => {
  await using world = await kubeWorld({ answer: () => "silent" });
  const stop = new AbortController();
  const asked = world.client.json({ path: "/" }, { signal: stop.signal });
  await settle();
  const reason = new Error("enough");
  stop.abort(reason);
  await assert.rejects(asked, reason);
  assert.equal(world.api.open, 0);
});

Deno.test("KubeClient refreshes credentials once after a 401: a rotated token file", async () => {
  await using world = await kubeWorld({
    answer: ({ fields }) => fields.get("authorization") === "Bearer new" ? ok : { status: 401 },
    user: { tokenFile: "/token" },
    files: { "/token": "old\n" },
  });
  await assert.rejects(world.client.json({ path: "/" }, { signal }), /Cannot sign in/);
  assert.equal(world.api.requests.length, 2);
  world.files.put("/token", "new\n");
  assert.deepEqual(await world.client.json({ path: "/" }, { signal }), { fine: true });
});

Deno.test("KubeClient uses a manual sign-in, and does not repeat a request with the same credentials", async () => {
  await using world = await kubeWorld({
    answer: ({ fields }) => fields.get("authorization") === "Bearer new" ? ok : { status: 401 },
    user: { token: "old" },
  });
  await assert.rejects(world.client.json({ path: "/" }, { signal }), /Cannot sign in/);
  assert.equal(world.api.requests.length, 1);
  world.files.put(
    "/kube/config",
    kubeconfigOf({ server: "http://kube.localhost", user: { token: "new" } }),
  );
  assert.deepEqual(await world.client.json({ path: "/" }, { signal }), { fine: true });
  assert.equal(world.api.requests.length, 3);
});

Deno.test("KubeClient requests the version once, and drops idle connections after a sleep", async () => {
  await using world = await kubeWorld({
    answer: ({ path }) => path === "/version" ? { status: 200, body: { gitVersion: "v1.35.4" } } : ok,
  });
  assert.equal(await world.client.askVersion({ signal }), "v1.35.4");
  assert.equal(await world.client.askVersion({ signal }), "v1.35.4");
  assert.equal(world.client.status().version, "v1.35.4");
  assert.equal(world.api.requests.length, 1);
  assert.equal(world.api.open, 1);
  world.client.check();
  assert.equal(world.api.open, 0);
});

Deno.test("KubeClient rereads a token file after a while, and keeps its content while it is missing", async () => {
  await using world = await kubeWorld({
    answer: () => ok,
    user: { tokenFile: "/token" },
    files: { "/token": "one" },
  });
  const shown = () => shownTo(world);
  assert.equal(await shown(), "Bearer one");
  world.files.put("/token", "two");
  assert.equal(await shown(), "Bearer one");
  await world.clock.advance(10_000);
  assert.equal(await shown(), "Bearer two");
  await world.files.remove("/token");
  await world.clock.advance(10_000);
  assert.equal(await shown(), "Bearer two");
});

Deno.test("KubeClient keeps a token file's content during a write", async () => {
  await using world = await kubeWorld({
    answer: () => ok,
    user: { tokenFile: "/token" },
    files: { "/token": "one" },
  });
  const shown = () => shownTo(world);
  assert.equal(await shown(), "Bearer one");
  world.files.put("/token", "");
  await world.clock.advance(10_000);
  assert.equal(await shown(), "Bearer one");
  world.files.put("/token", "two");
  assert.equal(await shown(), "Bearer two");
});

Deno.test("KubeClient falls back to the token if the token file is unreadable, like kubectl", async () => {
  await using world = await kubeWorld({
    answer: () => ok,
    user: { token: "written", tokenFile: "/token" },
  });
  const shown = () => shownTo(world);
  assert.equal(await shown(), "Bearer written");
  world.files.put("/token", "read");
  assert.equal(await shown(), "Bearer read");
});

Deno.test("KubeClient upgrades a connection and reads early bytes first", async () => {
  await using world = await kubeWorld({
    answer: () => ({ raw: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nearly" }),
  });
  const upgrade = await world.client.upgrade(
    { path: "/up", fields: [["Connection", "Upgrade"], ["Upgrade", "x"]] },
    { signal },
  );
  const { conn } = upgrade;
  assert.ok(conn);
  assert.equal(upgrade.fields.get("upgrade"), "x");
  assert.equal(world.client.status().connections, 0);
  await world.api.requests[0]?.conn.closeWrite();
  assert.equal(new TextDecoder().decode(await readAll(conn)), "early");
  await conn[Symbol.asyncDispose]();
});

Deno.test("KubeClient returns the server's response if it does not upgrade", async () => {
  await using world = await kubeWorld({ answer: () => ({ status: 400, body: "no such port" }) });
  const { status, conn, ...more } = await world.client.upgrade({ path: "/up" }, { signal });
  assert.equal(conn, undefined);
  assert.deepEqual([status, "text" in more && more.text], [400, "no such port"]);
  // The connection carries the next request.
  await world.client.upgrade({ path: "/up" }, { signal });
  assert.equal(world.api.conns.length, 1);
});

Deno.test("KubeClient.stream() returns chunks until the end, and fails after a long silence", async () => {
  const watch = new FakeWatch({ a: 1 });
  await using world = await kubeWorld({ answer: () => watch });
  await using stream = await world.client.stream({ path: "/w", silence: 1000 }, { signal });
  assert.ok(stream.read);
  assert.equal(new TextDecoder().decode(await stream.read()), '{"a":1}\n');
  const next = assert.rejects(stream.read(), /no data for 1 s/);
  await world.clock.advance(1000);
  await next;
  assert.equal(world.api.open, 0);
});
