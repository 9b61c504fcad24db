import assert from "node:assert/strict";
import { type Conn, silentLog } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { connectSsh, type SshHopDeps } from "../../../../src/ssh/session/connect_ssh.ts";
import { type HopSession, SshHop } from "../../../../src/ssh/hops/ssh_hop.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";
import { memoryCipher, MemorySshServer } from "../../../support/ssh_server.ts";
import { sshHost } from "../../../support/ssh_host.ts";

const signal = new AbortController().signal;
const target = { host: "target.example", port: 80 };

const host = sshHost("memory", { ciphers: [memoryCipher] });

/** A hop whose host is reached with `reach`. */
function hopTo(reach: () => Promise<Conn>, clock = new FakeClock()): SshHop {
  const deps: SshHopDeps = {
    network: { connect: () => Promise.reject(new Error("no agent")) },
    clock,
    files: new MemoryFiles(),
    log: silentLog,
    hostKeys: {
      algorithms: (_host, usual) => Promise.resolve([...usual]),
      verify: () => Promise.resolve(),
    },
    keepalive: 3000,
    deadAfter: 6000,
    connectTimeout: 10_000,
  };
  return new SshHop({
    host,
    connect: (options) => connectSsh({ host, below: undefined, reach, deps }, options),
    deps,
  });
}

async function isUsable(near: Conn, far: Conn): Promise<boolean> {
  const sent = patternBytes(100);
  await near.write(sent);
  const into = new Uint8Array(200);
  return await far.read(into) === 100 && into[99] === sent[99];
}

Deno.test("SshHop adds a session when one has no room for another channel", async () => {
  await using server = await MemorySshServer.start({ channels: 2 });
  await using hop = hopTo(() => server.connect());
  const conns: Conn[] = [];
  for (let at = 0; at < 5; at++) {
    const conn = await hop.dial(target, { signal });
    conns.push(conn);
    assert.ok(await isUsable(conn, server.far[at] ?? assert.fail("no channel")));
  }
  assert.equal(server.sessions.length, 3);
  assert.deepEqual([hop.status().sessions, hop.status().channels, hop.status().state], [3, 5, "ready"]);
  for (const conn of conns) await conn[Symbol.asyncDispose]();
});

Deno.test("SshHop uses a session again once it has room", async () => {
  await using server = await MemorySshServer.start({ channels: 1 });
  await using hop = hopTo(() => server.connect());
  for (let at = 0; at < 5; at++) {
    const conn = await hop.dial(target, { signal });
    await conn[Symbol.asyncDispose]();
    await server.far[at]?.[Symbol.asyncDispose]();
    while (hop.channels > 0) await new Promise((resolve) => setTimeout(resolve));
  }
  assert.equal(server.sessions.length, 1);
});

Deno.test("SshHop reports that no session has room", async () => {
  await using server = await MemorySshServer.start({ channels: 0 });
  await using hop = hopTo(() => server.connect());
  await assert.rejects(hop.dial(target, { signal }), { code: "unreachable", detail: "overloaded" });
  assert.ok(server.sessions.length <= 3, `${server.sessions.length} sessions`);
  for (let again = 0; again < 10; again++) {
    await assert.rejects(hop.dial(target, { signal }), { code: "unreachable", detail: "overloaded" });
  }
  assert.equal(server.sessions.length, 8);
});

Deno.test("SshHop reconnects by itself, but not after the user canceled a prompt", async () => {
  await using server = await MemorySshServer.start();
  const clock = new FakeClock();
  let asked = 0;
  await using hop = hopTo(() => {
    asked++;
    if (asked === 2) return Promise.reject(new PosternError("unreachable", "The network is down"));
    if (asked === 3) return Promise.reject(new PosternError("cancelled", "The user interrupted the prompt"));
    return server.connect();
  }, clock);
  const conn = await hop.dial(target, { signal });
  for (const session of server.sessions) session.abort();
  await assert.rejects(conn.read(new Uint8Array(1)));
  await settle();
  assert.equal(asked, 2);
  await clock.advance(300);
  assert.equal(asked, 3);
  await clock.advance(60_000);
  assert.equal(asked, 3);
  assert.match(hop.status().lastError ?? "", /interrupted/);
  (await hop.dial(target, { signal })).abort();
  assert.equal(asked, 4);
});

/** A session that answers as a test says. */
class ScriptedSession implements HopSession {
  readonly #end = Promise.withResolvers<void>();
  readonly ended = this.#end.promise;
  readonly reason = undefined;
  isOver = false;
  readonly roundTrip = 1;
  channels = 0;
  /** Whether it answers channel opens, and keepalives. */
  opens = true;
  answers = true;
  opened = 0;
  #askedAt: number | undefined;
  #answeredAt = -1;
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  connect(): Promise<Conn> {
    this.opened++;
    return this.opens ? Promise.resolve(memoryPair()[0]) : Promise.withResolvers<Conn>().promise;
  }

  check(): void {
    if (this.answers) this.#answeredAt = this.#clock.now();
    else this.#askedAt ??= this.#clock.now();
  }

  get waiting(): number {
    return this.#askedAt === undefined ? 0 : this.#clock.now() - this.#askedAt;
  }

  hasAnsweredSince(time: number): boolean {
    return this.#answeredAt >= time;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.isOver = true;
    this.#end.resolve();
    return Promise.resolve();
  }
}

/** A hop with sessions that a test controls. */
function scriptedHop({ live = () => {} }: { live?: (session: ScriptedSession) => void } = {}) {
  const clock = new FakeClock();
  const sessions: ScriptedSession[] = [];
  let checks = 0;
  const hop = new SshHop({
    host,
    connect: () => {
      const session = new ScriptedSession(clock);
      sessions.push(session);
      live(session);
      return Promise.resolve(session);
    },
    checkPath: () => checks++,
    deps: { clock, log: silentLog },
  });
  return { hop, clock, sessions, checks: () => checks };
}

Deno.test("SshHop reconnects more and more slowly when the server ends each session early", async () => {
  const { hop, clock, sessions } = scriptedHop({
    live: (session) => void clock.after(20, () => session[Symbol.asyncDispose]()),
  });
  await using _ = hop;
  await hop.ready({ signal });
  await clock.advance(60_000);
  assert.ok(sessions.length > 5 && sessions.length < 15, `${sessions.length} sessions in a minute`);
});

Deno.test("SshHop adds a session when the first is silent, and checks the hosts on the path", async () => {
  const { hop, clock, sessions, checks } = scriptedHop();
  await using _ = hop;
  await hop.ready({ signal });
  const [first = assert.fail()] = sessions;
  first.opens = first.answers = false;
  const dialled = hop.dial(target, { signal });
  await clock.advance(499);
  assert.equal(checks(), 0);
  await clock.advance(500);
  assert.deepEqual([checks(), sessions.length], [1, 1]);
  await clock.advance(1);
  (await dialled).abort();
  assert.equal(sessions.length, 2);
  // The next dial does not wait for the first session again.
  (await hop.dial(target, { signal })).abort();
  assert.deepEqual(sessions.map(({ opened }) => opened), [1, 2]);
});

Deno.test("SshHop adds no session when only the target is silent", async () => {
  const { hop, clock, sessions, checks } = scriptedHop();
  await using _ = hop;
  await hop.ready({ signal });
  const [first = assert.fail()] = sessions;
  first.opens = false;
  const stop = new AbortController();
  const dials = Array.from({ length: 3 }, () => hop.dial(target, { signal: stop.signal }));
  await clock.advance(10_000);
  assert.deepEqual([sessions.length, first.opened], [1, 3]);
  assert.ok(checks() <= 3);
  first.opens = true;
  (await hop.dial(target, { signal })).abort();
  assert.equal(sessions.length, 1);
  stop.abort(new Error("enough"));
  for (const dial of dials) await assert.rejects(dial, /enough/);
});

Deno.test("SshHop tries another session immediately when a keepalive is long unanswered", async () => {
  const { hop, clock, sessions } = scriptedHop();
  await using _ = hop;
  await hop.ready({ signal });
  const [first = assert.fail()] = sessions;
  first.opens = first.answers = false;
  hop.check();
  await clock.advance(451);
  (await hop.dial(target, { signal })).abort();
  assert.deepEqual(sessions.map(({ opened }) => opened), [1, 1]);
});
