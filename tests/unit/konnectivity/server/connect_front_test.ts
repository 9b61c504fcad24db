import assert from "node:assert/strict";
import { Deadlines, type Dial } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { serveConnectFront } from "../../../../src/konnectivity/server/connect_front.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair, readAll } from "../../../support/memory_conn.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** The response to a client that sends `request` and then nothing. */
async function told(request: string, dial: Dial): Promise<string> {
  const [near, far] = memoryPair();
  const clock = new FakeClock();
  using deadlines = new Deadlines(clock);
  const limits = { connections: 10, handshake: 1000, halfCloseLinger: 1000 };
  const deps = { dial, clock, log: recordingLog(), deadlines, limits };
  const served = serveConnectFront(far, deps, { signal: new AbortController().signal });
  await near.write(bytes(request));
  await near.closeWrite();
  const said = new TextDecoder().decode(await readAll(near));
  await served;
  await near[Symbol.asyncDispose]();
  return said;
}

const failing = (error: PosternError): Dial => () => Promise.reject(error);
const connect = "CONNECT db.example:5432 HTTP/1.1\r\nHost: db.example:5432\r\n\r\n";

for (
  const { name, request = connect, error, status, says } of [
    {
      name: "another method",
      request: "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
      status: 405,
      says: /only CONNECT/,
    },
    { name: "no port", request: "CONNECT db.example HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, says: /port/ },
    {
      name: "a refused target",
      error: new PosternError("refused", "connection refused"),
      status: 502,
      says: /refused/,
    },
    {
      name: "an unknown name",
      error: new PosternError("name_not_found", "no such host"),
      status: 502,
      says: /no such host/,
    },
    {
      name: "a silent target",
      error: new PosternError("timeout", "i/o timeout"),
      status: 504,
      says: /timeout/,
    },
    {
      name: "no agent",
      error: new PosternError("unreachable", "No agent available", { detail: "no_agent" }),
      status: 503,
      says: /No agent/,
    },
  ]
) {
  Deno.test(`serveConnectFront() answers ${status} for ${name}`, async () => {
    const answer = await told(request, failing(error ?? new PosternError("internal", "unexpected dial")));
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `));
    assert.match(answer, says);
  });
}

Deno.test("serveConnectFront() sends 200 before the target's data, and forwards early client data", async () => {
  const [ours, theirs] = memoryPair();
  const tally = { up: 0, down: 0 };
  const ended = Promise.withResolvers<string>();
  const dial: Dial = async () => {
    await theirs.write(bytes("greeting"));
    return { conn: ours, tally, finish: (outcome) => ended.resolve(outcome) };
  };
  const heard = readAll(theirs);
  const said = told(`${connect}early`, dial);
  assert.equal(new TextDecoder().decode(await heard), "early");
  await theirs.closeWrite();
  assert.equal(await said, "HTTP/1.1 200 Connection Established\r\n\r\ngreeting");
  assert.equal(await ended.promise, "done");
  assert.deepEqual(tally, { up: 5, down: 8 });
});
