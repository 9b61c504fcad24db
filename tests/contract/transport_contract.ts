import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Conn, Transport } from "../../src/core/mod.ts";
import { type ErrorCode, PosternError, type Target } from "../../src/words/mod.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { inTime, isKept } from "./kept_promise.ts";

/** A transport in new surroundings. */
export interface TransportSetting {
  readonly transport: Transport;
  readonly targets: {
    /** A target by address, and one by a name that the server resolves. */
    readonly address: Target;
    readonly name: Target;
    readonly refusing: Target;
    /** A target whose name begins with `nowhere`. */
    readonly unknown: Target;
    /** A target that never answers a dial. */
    readonly silent: Target;
  };
  /** Returns the target's end of the next connection. */
  accept(): Promise<Conn>;
  /** Returns the number of connections and lookups. */
  touched(): number;
  /** Returns the number of open or pending connections for dials, without multiplexed sessions. */
  open(): number;
  /** Resolves once a dial waits for the silent target. */
  dialing(): Promise<void>;
  /** Makes the targets unreachable before the first dial. */
  cut(): void;
  close(): Promise<void>;
}

/** The setting for the test of one promise. */
interface Trial extends TransportSetting {
  readonly codes: TransportTried["codes"];
  /** Both ends of all connections. */
  readonly conns: Conn[];
}

/** A transport that the contract tests. */
export interface TransportTried {
  readonly name: string;
  /** Its kind in the configuration. */
  readonly kind: string;
  /** The class of the transport; `Object` for an object without a class. */
  readonly of: string;
  /** The files that create one without a class. */
  readonly madeBy?: readonly string[];
  readonly open: () => Promise<TransportSetting>;
  /** The error codes of a dial to a target that refuses and to an unknown name. */
  readonly codes: { readonly refused: ErrorCode; readonly unknown: ErrorCode };
  /** The promises that it cannot keep, each with the reason. */
  readonly cannot?: Readonly<Partial<Record<TransportPromise, string>>> | undefined;
}

export type TransportPromise = keyof typeof promises;

/** The same reason for several promises. */
export function without(list: readonly TransportPromise[], why: string): TransportTried["cannot"] {
  return Object.fromEntries(list.map((promise) => [promise, why]));
}

/** The promises that fail if both directions end together. */
export function withoutHalfClose(why: string): TransportTried["cannot"] {
  return without([
    "keeps a half-close: the target answers after it",
    "keeps a half-close of the target, which still reads",
  ], why);
}

/** For a transport without state between dials: the dialer owns each connection. */
export const keepsNothing: TransportTried["cannot"] = {
  "drops its connections when it is disposed": "the dialer owns its connections",
};

/** The same for a transport that also has no resources to close. */
export const isNeverClosed: TransportTried["cannot"] = {
  ...keepsNothing,
  ...without([
    "refuses to dial once it is disposed",
    "refuses to dial once it is disposed, after earlier dials",
  ], "it has no resources to close"),
};

/** For ssh, whose sessions outlive a transport. */
export const sharesSessions: TransportTried["cannot"] = {
  "drops its connections when it is disposed":
    "other transports share its sessions, which stay until their last connection has ended",
};

export const sum = (numbers: readonly number[] = []): number => numbers.reduce((all, one) => all + one, 0);

const { signal } = new AbortController();

/** The promises of every transport that reaches targets. */
const promises = {
  "does nothing before the first dial"({ transport, touched }) {
    if (transport.status) assert.equal(transport.status().state, "idle");
    assert.equal(touched(), 0);
    return Promise.resolve();
  },

  "carries bytes both ways to an address": (trial) => exchange(trial, trial.targets.address),

  "carries bytes both ways to a name": (trial) => exchange(trial, trial.targets.name),

  async "delivers bytes that a target sends first"(trial) {
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

  async "keeps a half-close of the target, which still reads"(trial) {
    const [near, far] = await joined(trial);
    await using _near = near;
    await using _far = far;
    await far.write(patternBytes(300));
    await far.closeWrite();
    assert.deepEqual(await readAll(near), patternBytes(300));
    await near.write(patternBytes(200));
    assert.deepEqual(await readExactly(far, 200), patternBytes(200));
  },

  async "carries many connections at once without mixing them"(trial) {
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

  async "blocks a writer while the target does not read"(trial) {
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

  async "forwards a reset of the target"(trial) {
    const [near, far] = await joined(trial);
    const pending = near.read(new Uint8Array(1)).catch(() => null);
    far.abort(new Error("reset"));
    assert.equal(await pending, null);
    near.abort();
    await nothingOpen(trial);
  },

  async "forwards an abort to the target"(trial) {
    const [near, far] = await joined(trial);
    await using _far = far;
    near.abort(new Error("enough"));
    assert.equal(await far.read(new Uint8Array(1)).catch(() => null), null);
    await nothingOpen(trial);
  },

  async "reports at the dial that a target refuses"(trial) {
    const { targets, codes: { refused } } = trial;
    const failure = await failureOf(trial, targets.refusing);
    assert.equal(failure.code, refused, failure.message);
    assert.match(failure.message, /^Cannot /);
    assert.ok(failure.message.includes(targets.refusing.host), failure.message);
    await nothingOpen(trial);
  },

  async "reports at the dial that a name is unknown"(trial) {
    const { targets, codes: { unknown } } = trial;
    const failure = await failureOf(trial, targets.unknown);
    assert.equal(failure.code, unknown, failure.message);
    assert.match(failure.message, /nowhere/);
    await nothingOpen(trial);
  },

  async "distinguishes its own failure from an answer of the target"(trial) {
    trial.cut();
    const failure = await failureOf(trial, trial.targets.address);
    assert.equal(failure.code, "unreachable", failure.message);
    if (trial.transport.status) assert.equal(trial.transport.status().state, "failing");
    await nothingOpen(trial);
  },

  async "leaves no connection open when the signal aborts during a dial"(trial) {
    const stop = new AbortController();
    const reason = new PosternError("timeout", "Too slow");
    const { transport, targets, dialing, conns } = trial;
    const failed = transport.dial(targets.silent, { signal: stop.signal }).then(
      (conn) => {
        conns.push(conn);
        return "the dial succeeded";
      },
      (error) => error,
    );
    await Promise.race([dialing(), failed]);
    stop.abort(reason);
    assert.equal(await failed, reason);
    await nothingOpen(trial);
  },

  async "does not dial with an aborted signal"(trial) {
    const reason = new Error("too late");
    const ended = AbortSignal.abort(reason);
    await assert.rejects(trial.transport.dial(trial.targets.address, { signal: ended }), reason);
    await nothingOpen(trial);
  },

  async "keeps a connection when its dial's signal aborts later"(trial) {
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

  async "refuses to dial once it is disposed"(trial) {
    await trial.transport[Symbol.asyncDispose]();
    const failure = await failureOf(trial, trial.targets.address);
    assert.equal(failure.code, "cancelled", failure.message);
  },

  async "refuses to dial once it is disposed, after earlier dials"(trial) {
    const [near] = await joined(trial);
    await near[Symbol.asyncDispose]();
    await trial.transport[Symbol.asyncDispose]();
    const failure = await failureOf(trial, trial.targets.address);
    assert.equal(failure.code, "cancelled", failure.message);
  },
} as const satisfies Readonly<Record<string, (trial: Trial) => Promise<void>>>;

/** Tests every promise on one transport, with one test each. */
export function transportContract(tried: TransportTried): void {
  for (const [what, attempt] of attempts(tried)) Deno.test(`${tried.name} ${what}`, attempt);
}

/** Tests the promises as steps of one test, for transports with a slow start. */
export async function tryTransport(tried: TransportTried, t: Deno.TestContext): Promise<void> {
  // Pending operations of the surroundings are not leaks.
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
          assert.equal(await isKept(keep(trial), close), false, "the promise holds: remove it from cannot")
        ),
      ];
    }
  }
}

/** Dials and sends one byte, because the first byte opens some connections; returns both ends. */
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

/** Returns the error of a failing dial. */
async function failureOf({ transport, conns }: Trial, target: Target): Promise<PosternError> {
  const error = await transport.dial(target, { signal }).then(
    (conn) => {
      conns.push(conn);
      assert.fail("the dial succeeded");
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

/** Waits until no connection is open: a real server on a busy machine may close late. */
async function nothingOpen({ open }: Trial): Promise<void> {
  for (const end = performance.now() + 10_000; open() > 0 && performance.now() < end;) await nextTurn();
  assert.equal(open(), 0);
}

/** More bytes than all buffers of any connection hold. */
const most = 32 * 1024 * 1024;
