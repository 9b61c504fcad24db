import assert from "node:assert/strict";
import { type Conn, Deadlines, Messages } from "../../../../src/core/mod.ts";
import { formatEndpoint, PosternError } from "../../../../src/words/mod.ts";
import { ControlClient, type ForwardRequest, type ForwardUpdate } from "../../../../src/control/mod.ts";
import type { ControlOptions } from "../../../../src/listeners/pages/control.ts";
import { createControl, forRequests, type PageSource, serveControl } from "../../../../src/listeners/mod.ts";
import { FakeDial } from "../../../support/fake_dial.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { memoryPair, readAll } from "../../../support/memory_conn.ts";
import { PageClient } from "../../../support/page_client.ts";
import { fakePageSource, sampleConnection } from "../../../support/page_source.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const { signal } = new AbortController();

function listener(source: PageSource, { token }: ControlOptions = {}, given = token) {
  const clock = new FakeClock();
  const log = recordingLog();
  const dials = new FakeDial();
  const deps = {
    dial: dials.dial,
    clock,
    log,
    deadlines: new Deadlines(clock),
    limits: { connections: forRequests + 1, handshake: 10_000, halfCloseLinger: 1000 },
  };
  const options = token === undefined ? {} : { token };
  const serve = serveControl(createControl(source, options), options);
  const served: Promise<void>[] = [];
  const connect = (): Promise<Conn> => {
    const [near, far] = memoryPair();
    served.push(serve(far, new Messages(far), deps, { signal }));
    return Promise.resolve(near);
  };
  const client = new ControlClient(connect, {
    clock,
    id: "work",
    ...(given !== undefined && { token: given }),
  });
  return { client, connect, dials, clock, log, ended: () => Promise.all(served) };
}

Deno.test("ControlClient returns the data of the source", async () => {
  const source = fakePageSource();
  const { client, clock, ended } = listener(source);
  assert.deepEqual(await client.hello({ signal }), { version: "0.1.0", id: "default", pid: 42, protocol: 1 });
  assert.deepEqual(await client.status({ signal }), source.status());
  assert.deepEqual(await client.connections({ signal }), [sampleConnection]);
  assert.deepEqual((await client.reload({ signal })).changes, ["route .svc now goes to lab"]);
  assert.equal((await client.explain({ host: "::1", port: 80 }, { signal })).target, "::1:80");
  assert.equal((await client.explain({ host: "a.svc", port: 443 }, { dial: true, signal })).transport, "lab");
  assert.equal(await client.pac({ signal }), "// for 127.0.0.1:12000\n");
  assert.equal(await client.pac({ authority: "localhost:1&x", signal }), "// for localhost:1&x\n");
  assert.equal((await client.env({ signal })).needsAuth, true);
  assert.equal((await client.env({ credentials: true, signal })).http, "http://me:pw@127.0.0.1:12000");
  assert.equal(await client.page({ signal }), "http://127.0.0.1:12000/#token=s3cret-token");
  await client.closeConnection(7, { signal });
  assert.deepEqual(source.closed, [7]);
  await ended();
  assert.equal(clock.waiting, 0);
});

Deno.test("ControlClient.stop() returns the drain limit", async () => {
  const stops: unknown[] = [];
  const { client, ended } = listener(fakePageSource({ stop: (options) => stops.push(options) }));
  await client.stop({ signal });
  await client.stop({ drain: 1500, signal });
  assert.deepEqual(stops, [{}, { drain: 1500 }]);
  await ended();
});

Deno.test("ControlClient rethrows the error of the instance", async () => {
  const error = new PosternError("config", "Cannot reload:\npostern.yaml:3:1: routes: čeho", {
    hint: "see postern config check",
    detail: "host",
    exit: 7,
    cause: new Error("not told"),
  });
  const { client, ended } = listener(fakePageSource({ reload: () => Promise.reject(error) }));
  await assert.rejects(client.reload({ signal }), (thrown) => {
    assert.ok(thrown instanceof PosternError);
    const { code, message, hint, detail, exit, cause } = thrown;
    assert.deepEqual([code, message, hint, detail, exit], ["config", error.message, error.hint, "host", 7]);
    assert.equal(cause, undefined);
    return true;
  });
  await assert.rejects(client.closeConnection(99, { signal }), {
    code: "usage",
    message: /close connection "99"/,
  });
  await ended();
});

Deno.test("ControlClient reports an internal error, and the instance logs it", async () => {
  const source = fakePageSource({
    connections: () => {
      throw new TypeError("oops");
    },
  });
  const { client, log, ended } = listener(source);
  await assert.rejects(client.connections({ signal }), { code: "internal", message: /oops/ });
  assert.deepEqual(log.lines.map(({ event }) => event), ["page.failed"]);
  await ended();
});

Deno.test("ControlClient fails with timeout when the instance does not answer", async () => {
  const clock = new FakeClock();
  const [near, far] = memoryPair();
  const client = new ControlClient(() => Promise.resolve(near), { clock, id: "work" });
  const asked = assert.rejects(client.status({ signal }), { code: "timeout" });
  await clock.advance(5000);
  await asked;
  assert.equal(near.isClosed, true);
  assert.equal(far.isClosed, false);
  assert.equal(clock.waiting, 0);
});

Deno.test("ControlClient treats a connection without an answer as a stopping instance", async () => {
  const [near, far] = memoryPair();
  const client = new ControlClient(() => Promise.resolve(near), { clock: new FakeClock(), id: "work" });
  const asked = assert.rejects(client.hello({ signal }), { code: "unreachable", detail: "reset" });
  await far.closeWrite();
  await asked;
});

Deno.test("ControlClient passes the signal's reason and a failed connect unchanged", async () => {
  const clock = new FakeClock();
  const [near] = memoryPair();
  const stop = new AbortController();
  const reason = new PosternError("cancelled", "Interrupted");
  const asked = assert.rejects(
    new ControlClient(() => Promise.resolve(near), { clock, id: "work" }).hello({ signal: stop.signal }),
    (error) => error === reason,
  );
  await settle();
  stop.abort(reason);
  await asked;
  const refused = new PosternError("refused", "Cannot connect");
  const unreachable = new ControlClient(() => Promise.reject(refused), { clock, id: "work" });
  await assert.rejects(unreachable.hello({ signal }), (error) => error === refused);
  assert.equal(clock.waiting, 0);
});

Deno.test("ControlClient sends nothing over a connection that opened after its signal aborted", async () => {
  const [near, far] = memoryPair();
  const stop = new AbortController();
  const connect = () => {
    stop.abort(new PosternError("cancelled", "Interrupted"));
    return Promise.resolve(near);
  };
  const client = new ControlClient(connect, { clock: new FakeClock(), id: "work" });
  await assert.rejects(client.stop({ signal: stop.signal }), { code: "cancelled" });
  assert.equal(near.isClosed, true);
  assert.equal((await readAll(far)).length, 0);
});

const strange = [
  { name: "nothing", bytes: "", code: "unreachable" },
  { name: "half a head", bytes: "HTTP/1.1 200 OK\r\n", code: "protocol" },
  { name: "half a body", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", code: "protocol" },
  { name: "no JSON", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", code: "protocol" },
  {
    name: "another server's error",
    bytes: "HTTP/1.1 418 Tea\r\nContent-Length: 0\r\n\r\n",
    code: "protocol",
  },
  {
    name: "an error that is not JSON",
    bytes: "HTTP/1.1 400 No\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{",
    code: "protocol",
  },
];
for (const { name, bytes, code } of strange) {
  Deno.test(`ControlClient fails with ${code} when it receives ${name}`, async () => {
    const [near, far] = memoryPair();
    await new PageClient(far).write(bytes);
    await far.closeWrite();
    const client = new ControlClient(() => Promise.resolve(near), { clock: new FakeClock(), id: "work" });
    await assert.rejects(client.hello({ signal }), { code });
  });
}

Deno.test("createControl() requires its token if it has one, and refuses browsers", async () => {
  const source = fakePageSource();
  const right = listener(source, { token: "t1" });
  assert.equal((await right.client.hello({ signal })).id, "default");
  for (const given of [undefined, "t2", source.token]) {
    const wrong = listener(source, { token: "t1" }, given ?? "");
    await assert.rejects(wrong.client.hello({ signal }), { code: "auth" });
    await assert.rejects(wrong.client.stop({ signal }), { code: "auth" });
    await wrong.ended();
  }
  const conn = await right.connect();
  const browser = new PageClient(conn);
  const bearer = "Authorization: Bearer t1";
  const answer = await browser.ask(
    "POST /v1/stop HTTP/1.1",
    "Host: localhost",
    bearer,
    "Origin: null",
    "Connection: close",
  );
  assert.equal(answer.status, 403);
  await conn.closeWrite();
  await right.ended();
});

Deno.test("createControl() answers an unknown request with JSON and a hint", async () => {
  const { connect, ended } = listener(fakePageSource());
  const conn = await connect();
  const client = new PageClient(conn);
  const unknown = await client.ask("GET /v2/x HTTP/1.1", "Host: a");
  assert.equal(unknown.status, 400);
  assert.match(JSON.parse(unknown.text).hint, /version/);
  assert.equal((await client.ask("GET /v1/stop HTTP/1.1", "Host: a")).status, 405);
  assert.equal((await client.ask("POST /v1/stop?drain=soon HTTP/1.1", "Host: a")).status, 400);
  assert.equal((await client.ask("GET /v1/explain HTTP/1.1", "Host: a", "Connection: close")).status, 400);
  await conn.closeWrite();
  await ended();
});

const asked = { forwards: [{ listen: "127.0.0.1:5432", target: "db.example:5432" }], allowOpen: false };

/** A source that tells these updates about the forwards, and records what it is asked. */
function forwarding(...updates: readonly ForwardUpdate[]) {
  const wanted: string[] = [];
  const ended: number[] = [];
  const source = fakePageSource({
    async *forward(forwards) {
      wanted.push(...forwards.map(({ address, target }) => `${address.text} ${formatEndpoint(target)}`));
      for (const update of updates) yield await Promise.resolve(update);
    },
    endForward: (id) => Promise.resolve(void ended.push(id)),
  });
  return { ...listener(source), wanted, closed: ended };
}

const bound = {
  kind: "bound",
  id: 7,
  forwards: [{ address: "127.0.0.1:5432", target: "db.example:5432" }],
} as const;

Deno.test("ControlClient.forward() passes the addresses, and resolves when the instance stops", async () => {
  const { client, wanted, closed, clock, ended } = forwarding(bound, { kind: "alive" }, { kind: "stopped" });
  const told: unknown[] = [];
  await client.forward(asked, (forwards) => void told.push(forwards), { signal });
  await ended();
  assert.deepEqual(wanted, ["127.0.0.1:5432 db.example:5432"]);
  assert.deepEqual(told, [bound.forwards]);
  assert.deepEqual(closed, []);
  assert.equal(clock.waiting, 0);
});

Deno.test("ControlClient.forward() throws the instance's failure", async () => {
  const error = {
    code: "config",
    message: "Cannot listen on 127.0.0.1:5432: in use",
    hint: "end it",
  } as const;
  const { client, ended } = forwarding({ kind: "failed", error });
  await assert.rejects(client.forward(asked, () => assert.fail(), { signal }), error);
  await ended();
});

Deno.test("ControlClient.forward() does not take the end of the connection for a stop", async () => {
  const { client, closed, ended } = forwarding(bound);
  await assert.rejects(client.forward(asked, () => {}, { signal }), { code: "protocol" });
  await ended();
  assert.deepEqual(closed, [7]);
});

Deno.test("ControlClient.forward() asks the instance to end the forwards when it is aborted", async () => {
  const stop = new AbortController();
  const { client, closed, ended } = forwarding(bound, { kind: "alive" });
  const interrupted = new PosternError("cancelled", "Interrupted");
  await assert.rejects(
    client.forward(asked, () => stop.abort(interrupted), { signal: stop.signal }),
    interrupted,
  );
  assert.deepEqual(closed, [7]);
  await ended().catch(() => {});
});

const refusedForwards: readonly { readonly forwards: unknown; readonly says: RegExp }[] = [
  { forwards: [], says: /the request has no forward/ },
  { forwards: "5432:db:5432", says: /Cannot forward: forward must be/ },
  { forwards: [{ listen: "0.0.0.0:1", target: "db.example:1" }], says: /must not be open to the network/ },
  { forwards: [{ listen: "127.0.0.1:1", target: "db.example:1", auth: {} }], says: /auth/ },
  { forwards: new Array(1001).fill(asked.forwards[0]), says: /at most 1000/ },
];
for (const { forwards, says } of refusedForwards) {
  Deno.test(`the control API refuses forwards: ${says.source}`, async () => {
    const { client, wanted, ended } = forwarding(bound);
    await assert.rejects(
      client.forward({ forwards, allowOpen: false } as unknown as ForwardRequest, () => {}, { signal }),
      (error) => error instanceof PosternError && error.code === "usage" && says.test(error.message),
    );
    await ended();
    assert.deepEqual(wanted, []);
  });
}
const far = { host: "db.example.net", port: 5432 };

/** The error of a refused stream. */
async function refusalOf(client: ControlClient): Promise<PosternError> {
  const stream = await client.stream(far, { signal });
  return stream instanceof PosternError ? stream : assert.fail("connected");
}

Deno.test("serveControl() requires its token for a stream too, before it dials", async () => {
  const { client, dials, ended } = listener(fakePageSource(), { token: "t1" }, "t2");
  assert.equal((await refusalOf(client)).code, "auth");
  assert.deepEqual(dials.made, []);
  await ended();
});

Deno.test("serveControl() keeps places for other requests when there are many streams", async () => {
  const { client, dials, ended } = listener(fakePageSource());
  const first = await client.stream(far, { hops: ["jump 1", "b"], signal });
  assert.ok(!(first instanceof PosternError));
  const { request, target } = await dials.nth(0);
  assert.deepEqual(request, { target: far, client: "memory:b", protocol: "nc", hops: ["jump 1", "b"] });
  const { code, detail } = await refusalOf(client);
  assert.deepEqual({ code, detail }, { code: "internal", detail: "overloaded" });
  assert.equal((await client.hello({ signal })).id, "default");
  await first.closeWrite();
  await target.closeWrite();
  assert.equal(await first.read(new Uint8Array(1)), null);
  await ended();
});

Deno.test("ControlClient.stream() names an instance that does not know streams by `usage`", async () => {
  const connect = () => {
    const [near, far] = memoryPair();
    const text =
      "HTTP/1.1 400 Bad Request\r\nPostern-Error: usage; Cannot serve as a proxy on this listener\r\n" +
      "Content-Length: 0\r\n\r\n";
    return far.write(new TextEncoder().encode(text)).then(() => near);
  };
  const client = new ControlClient(connect, { clock: new FakeClock(), id: "old" });
  assert.equal((await refusalOf(client)).code, "usage");
});
