import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Conn, Transport } from "../../src/core/mod.ts";
import { type ErrorCode, PosternError, type Target } from "../../src/words/mod.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { inTime, isKept } from "./kept_promise.ts";

/** A transport in its surroundings, all of them new. */
export interface TransportSetting {
  readonly transport: Transport;
  readonly targets: {
    /** Reached by an address, and by a name that the far side knows. */
    readonly address: Target;
    readonly name: Target;
    readonly refusing: Target;
    /** Begins with `nowhere`. */
    readonly unknown: Target;
    /** Never answers a dial. */
    readonly silent: Target;
  };
  /** The target's end of the next connection. */
  accept(): Promise<Conn>;
  /** How often something was connected to or looked up. */
  touched(): number;
  /** How many connections are open or being made for dials; sessions that carry many do not count. */
  open(): number;
  /** Resolves once a dial waits for the silent target. */
  dialing(): Promise<void>;
  /** Closes the way to the targets, before the first dial. */
  cut(): void;
  close(): Promise<void>;
}

/** What a promise is tried on. */
interface Trial extends TransportSetting {
  readonly codes: TransportTried["codes"];
  /** Both ends of the connections made so far. */
  readonly conns: Conn[];
}

/** A transport on which the contract is tried. */
export interface TransportTried {
  readonly name: string;
  /** Its kind, as the configuration names it. */
  readonly kind: string;
  /** The class of the transport; `Object` for one that is made without. */
  readonly of: string;
  /** The files that make one without a class. */
  readonly madeBy?: readonly string[];
  readonly open: () => Promise<TransportSetting>;
  /** What a dial fails with where its target refuses, and where its name is unknown. */
  readonly codes: { readonly refused: ErrorCode; readonly unknown: ErrorCode };
  /** The promises that it cannot keep, each with the reason. */
  readonly cannot?: Readonly<Partial<Record<TransportPromise, string>>> | undefined;
}

export type TransportPromise = keyof typeof promises;

/** The same reason for several promises. */
export function without(list: readonly TransportPromise[], why: string): TransportTried["cannot"] {
  return Object.fromEntries(list.map((promise) => [promise, why]));
}

/** What cannot be promised where both directions end at once. */
export function withoutHalfClose(why: string): TransportTried["cannot"] {
  return without([
    "keeps a half-close: the target answers after it",
    "keeps a half-close of the target, which still hears",
  ], why);
}

/** A transport that keeps nothing between dials leaves each connection to whoever dialled it. */
export const keepsNothing: TransportTried["cannot"] = {
  "drops its connections when it is disposed": "its connections belong to those who dialled",
};

/** The same for a transport that also holds nothing to close. */
export const isNeverClosed: TransportTried["cannot"] = {
  ...keepsNothing,
  ...without([
    "dials no more once it is disposed",
    "dials no more once it is disposed, though it has dialled before",
  ], "it holds nothing that could be closed"),
};

/** Sessions of ssh outlive a transport. */
export const sharesSessions: TransportTried["cannot"] = {
  "drops its connections when it is disposed":
    "its sessions are shared with other transports, and stay until their last connection has ended",
};

export const sum = (numbers: readonly number[] = []): number => numbers.reduce((all, one) => all + one, 0);

const { signal } = new AbortController();

/** What every transport promises that reaches targets. */
const promises = {
  "does nothing before the first dial"({ transport, touched }) {
    if (transport.status) assert.equal(transport.status().state, "idle");
    assert.equal(touched(), 0);
    return Promise.resolve();
  },

  "carries bytes both ways to an address": (trial) => exchange(trial, trial.targets.address),

  "carries bytes both ways to a name": (trial) => exchange(trial, trial.targets.name),

  async "hands on what a target says before it is spoken to"(trial) {
    const [near, far] = await joined(trial);
    await using _near = near;
    await using _far = far;
    await far.write(patternBytes(200));
    assert.deepEqual(await readExactly(near, 200), patternBytes(200));
  },

  async "keeps a half-close: the target answers after it"(trial) {
    const [near, far] = await joined(trial);
    await using _near = near;
    await using _far = far;
    await near.write(patternBytes(200));
    await near.closeWrite();
    assert.deepEqual(await readAll(far), patternBytes(200));
    await far.write(patternBytes(300));
    await far.closeWrite();
    assert.deepEqual(await readAll(near), patternBytes(300));
  },

  async "keeps a half-close of the target, which still hears"(trial) {
    const [near, far] = await joined(trial);
    await using _near = near;
    await using _far = far;
    await far.write(patternBytes(300));
    await far.closeWrite();
    assert.deepEqual(await readAll(near), patternBytes(300));
    await near.write(patternBytes(200));
    assert.deepEqual(await readExactly(far, 200), patternBytes(200));
  },

  async "carries many connections at once and apart"(trial) {
    const conns = await Promise.all([1, 2, 3, 4, 5].map(async (seed) => {
      const near = await trial.transport.dial(trial.targets.address, { signal });
      trial.conns.push(near);
      await near.write(Uint8Array.of(seed));
      return near;
    }));
    for (let at = 0; at < conns.length; at++) {
      const far = await trial.accept();
      trial.conns.push(far);
      await far.write(await readExactly(far, 1));
      await far[Symbol.asyncDispose]();
    }
    for (const [at, near] of conns.entries()) {
      assert.deepEqual(await readExactly(near, 1), Uint8Array.of(at + 1));
      await near[Symbol.asyncDispose]();
    }
  },

  async "makes a writer wait while the target does not read"(trial) {
    const [near, far] = await joined(trial);
    await using _near = near;
    await using _far = far;
    let written = 0;
    const writing = (async () => {
      for (const chunk = new Uint8Array(64 * 1024); written < most; written += chunk.length) {
        await near.write(chunk);
      }
    })().then(() => "done", () => "failed");
    await readExactly(far, 1);
    for (let before = -1; before !== written && written < most;) {
      before = written;
      for (let turn = 0; turn < 50; turn++) await nextTurn();
    }
    assert.ok(written < most, `wrote ${written} bytes without a reader`);
    near.abort(new Error("enough"));
    assert.equal(await writing, "failed");
  },

  async "passes a reset of the target on"(trial) {
    const [near, far] = await joined(trial);
    const pending = near.read(new Uint8Array(1)).catch(() => null);
    far.abort(new Error("reset"));
    assert.equal(await pending, null);
    near.abort();
    await nothingOpen(trial);
  },

  async "passes an abort on to the target"(trial) {
    const [near, far] = await joined(trial);
    await using _far = far;
    near.abort(new Error("enough"));
    assert.equal(await far.read(new Uint8Array(1)).catch(() => null), null);
    await nothingOpen(trial);
  },

  async "says at the dial that a target refuses"(trial) {
    const { targets, codes: { refused } } = trial;
    const failure = await failureOf(trial, targets.refusing);
    assert.equal(failure.code, refused, failure.message);
    assert.match(failure.message, /^Cannot /);
    assert.ok(failure.message.includes(targets.refusing.host), failure.message);
    await nothingOpen(trial);
  },

  async "says at the dial that a name is unknown"(trial) {
    const { targets, codes: { unknown } } = trial;
    const failure = await failureOf(trial, targets.unknown);
    assert.equal(failure.code, unknown, failure.message);
    assert.match(failure.message, /nowhere/);
    await nothingOpen(trial);
  },

  async "says that it cannot be reached itself, which is no answer of the target"(trial) {
    trial.cut();
    const failure = await failureOf(trial, trial.targets.address);
    assert.equal(failure.code, "unreachable", failure.message);
    if (trial.transport.status) assert.equal(trial.transport.status().state, "failing");
    await nothingOpen(trial);
  },

  async "leaves nothing open when the signal ends while it dials"(trial) {
    const stop = new AbortController();
    const reason = new PosternError("timeout", "Too slow");
    const { transport, targets, dialing, conns } = trial;
    const failed = transport.dial(targets.silent, { signal: stop.signal }).then(
      (conn) => {
        conns.push(conn);
        return "it has dialled";
      },
      (error) => error,
    );
    await Promise.race([dialing(), failed]);
    stop.abort(reason);
    assert.equal(await failed, reason);
    await nothingOpen(trial);
  },

  async "dials nothing for a signal that has ended"(trial) {
    const reason = new Error("too late");
    const ended = AbortSignal.abort(reason);
    await assert.rejects(trial.transport.dial(trial.targets.address, { signal: ended }), reason);
    await nothingOpen(trial);
  },

  async "lets a connection live when the signal of its dial ends after it"(trial) {
    const stop = new AbortController();
    const [near, far] = await joined(trial, trial.targets.address, stop.signal);
    await using _near = near;
    await using _far = far;
    stop.abort(new Error("too late"));
    await near.write(patternBytes(10));
    assert.deepEqual(await readExactly(far, 10), patternBytes(10));
  },

  async "can be disposed twice"({ transport }) {
    await transport[Symbol.asyncDispose]();
    await transport[Symbol.asyncDispose]();
  },

  async "drops its connections when it is disposed"(trial) {
    const [near, far] = await joined(trial);
    await using _near = near;
    await using _far = far;
    const pending = near.read(new Uint8Array(1)).catch(() => null);
    await trial.transport[Symbol.asyncDispose]();
    assert.equal(await pending, null);
    await nothingOpen(trial);
  },

  async "dials no more once it is disposed"(trial) {
    await trial.transport[Symbol.asyncDispose]();
    const failure = await failureOf(trial, trial.targets.address);
    assert.equal(failure.code, "cancelled", failure.message);
  },

  async "dials no more once it is disposed, though it has dialled before"(trial) {
    const [near] = await joined(trial);
    await near[Symbol.asyncDispose]();
    await trial.transport[Symbol.asyncDispose]();
    const failure = await failureOf(trial, trial.targets.address);
    assert.equal(failure.code, "cancelled", failure.message);
  },
} as const satisfies Readonly<Record<string, (trial: Trial) => Promise<void>>>;

/** Tries every promise on one transport, a test each. */
export function transportContract(tried: TransportTried): void {
  for (const [what, attempt] of attempts(tried)) Deno.test(`${tried.name} ${what}`, attempt);
}

/** The same as steps of one test, for transports whose surroundings take long to begin. */
export async function tryTransport(tried: TransportTried, t: Deno.TestContext): Promise<void> {
  // What the surroundings wait for meanwhile is no leak.
  const options = { sanitizeOps: false };
  for (const [what, attempt] of attempts(tried)) {
    await t.step({ ...options, name: `${tried.name} ${what}`, fn: attempt });
  }
}

function* attempts(
  { of, open, codes, cannot = {} }: TransportTried,
): Iterable<[string, () => Promise<void>]> {
  const inSetting = (body: (trial: Trial, close: () => Promise<void>) => Promise<void>) => async () => {
    const setting = await open();
    const conns: Conn[] = [];
    let closing: Promise<void> | undefined;
    const close = () => {
      for (const conn of conns) conn.abort();
      return closing ??= setting.close();
    };
    try {
      await inTime(body({ ...setting, codes, conns }, close));
    } finally {
      await close();
    }
  };
  yield [
    `is a ${of}`,
    inSetting(({ transport }) => Promise.resolve(assert.equal(transport.constructor.name, of))),
  ];
  for (
    const [promise, keep] of Object.entries(promises) as [TransportPromise, (trial: Trial) => Promise<void>][]
  ) {
    const why = cannot[promise];
    if (why === undefined) yield [promise, inSetting(keep)];
    else {
      yield [
        `does not promise this, because ${why}: ${promise}`,
        inSetting(async (trial, close) =>
          assert.equal(await isKept(keep(trial), close), false, "it can: strike it off what it cannot")
        ),
      ];
    }
  }
}

/** Both ends of a connection that has carried a byte: some are made with their first one. */
async function joined(
  { transport, accept, targets, conns }: Trial,
  target = targets.address,
  until = signal,
): Promise<[Conn, Conn]> {
  const near = await transport.dial(target, { signal: until });
  await near.write(Uint8Array.of(1));
  conns.push(near);
  const far = await accept();
  conns.push(far);
  await readExactly(far, 1);
  return [near, far];
}

async function exchange(trial: Trial, target: Target): Promise<void> {
  const [near, far] = await joined(trial, target);
  await using _near = near;
  await using _far = far;
  const up = patternBytes(200_000, 1);
  const down = patternBytes(200_000, 2);
  const [atFar, atNear] = await Promise.all([
    readExactly(far, up.length),
    readExactly(near, down.length),
    near.write(up),
    far.write(down),
  ]);
  assert.deepEqual(atFar, up);
  assert.deepEqual(atNear, down);
}

/** Why a target cannot be dialled. */
async function failureOf({ transport, conns }: Trial, target: Target): Promise<PosternError> {
  const error = await transport.dial(target, { signal }).then(
    (conn) => {
      conns.push(conn);
      assert.fail("it has dialled");
    },
    (error) => error,
  );
  assert.ok(error instanceof PosternError, `${error}`);
  return error;
}

async function readExactly(conn: Conn, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const into = new Uint8Array(length);
  for (let at = 0; at < length;) at += await conn.read(into.subarray(at)) ?? assert.fail(`ended at ${at}`);
  return into;
}

/** What is between gives up its part a little later: a real server on a busy machine, much later. */
async function nothingOpen({ open }: Trial): Promise<void> {
  for (const end = performance.now() + 10_000; open() > 0 && performance.now() < end;) await nextTurn();
  assert.equal(open(), 0);
}

/** More than all buffers on any way. */
const most = 32 * 1024 * 1024;
