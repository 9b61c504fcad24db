import assert from "node:assert/strict";
import { PosternError } from "../../src/words/mod.ts";
import { FaultyLine, type LineFault, plainMessageEnds } from "../support/faulty_line.ts";
import { peerTest } from "../support/peers.ts";
import { SshTransports } from "../support/ssh_transports.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { echoServer } from "../support/target_server.ts";

const signal = new AbortController().signal;

/** A server on a connection that a test can break, at the ends of messages and between. */
class BrokenLab implements AsyncDisposable {
  readonly lab: SshLab;
  readonly line: FaultyLine;
  readonly target: { readonly host: string; readonly port: number };
  readonly #echo: ReturnType<typeof echoServer>;
  /** The offsets where the messages of a whole request end, if they are visible. */
  ends: readonly number[] = [];

  private constructor(lab: SshLab, line: FaultyLine) {
    this.lab = lab;
    this.line = line;
    this.#echo = echoServer();
    this.target = { host: "127.0.0.1", port: this.#echo.port };
  }

  static async create(paths: Parameters<typeof SshLab.create>[0]): Promise<BrokenLab> {
    const lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1", { hostKeys: ["ed25519", "rsa"] });
    const line = new FaultyLine(sshd.port);
    for (const key of sshd.keys) await lab.know(`[127.0.0.1]:${line.port}`, `${key}.pub`);
    const broken = new BrokenLab(lab, line);
    assert.equal(await broken.request(undefined), undefined);
    const plain = plainMessageEnds(line.sent);
    const encrypted = line.marks.filter((mark) => mark > (plain.at(-1) ?? 0));
    broken.ends = [...plain, ...encrypted];
    return broken;
  }

  /** Makes one request over a new session; returns the error, if it fails. */
  async request(fault: LineFault | undefined, connectTimeout = 10_000): Promise<unknown> {
    await using ssh = this.transports(connectTimeout);
    return await this.requestOver(ssh, fault);
  }

  transports(connectTimeout = 10_000): SshTransports {
    return new SshTransports([this.lab.host({ name: "jump1", port: this.line.port }, { connectTimeout })]);
  }

  async requestOver(ssh: SshTransports, fault: LineFault | undefined): Promise<unknown> {
    this.line.fault = fault;
    try {
      await using conn = await ssh.to("jump1").dial(this.target, { signal });
      await conn.write(new TextEncoder().encode("hello"));
      const count = await conn.read(new Uint8Array(10));
      if (count !== 5) {
        throw new PosternError("unreachable", `Cannot keep the session with ssh jump1: read ${count}`);
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.line[Symbol.asyncDispose]();
    await this.#echo[Symbol.asyncDispose]();
    await this.lab[Symbol.asyncDispose]();
  }
}

/** Returns the ends themselves, and the type byte of each message: some other bytes are padding. */
function places(ends: readonly number[]): number[] {
  return [0, 1, ...ends.flatMap((end, at) => [Math.min((ends[at - 1] ?? 0) + 5, end), end])];
}

peerTest(
  "a jump host that closes at any message causes an immediate error and no later harm",
  sshPeers,
  async (paths) => {
    await using broken = await BrokenLab.create(paths);
    assert.ok(broken.ends.length >= 7, `${broken.ends}`);
    const whole = broken.ends.at(-1) ?? 0;
    for (const after of places(broken.ends).filter((place) => place < whole)) {
      const startedAt = performance.now();
      await using ssh = broken.transports();
      const error = await broken.requestOver(ssh, { after, kind: "close" });
      assert.ok(error instanceof PosternError, `after ${after} of ${whole}: ${error}`);
      assert.equal(error.code, "unreachable", `after ${after}: ${error.message}`);
      assert.match(error.message, /ssh jump1/);
      assert.ok(performance.now() - startedAt < 5000, `after ${after}: too slow`);
      assert.equal(await broken.requestOver(ssh, undefined), undefined, `after ${after}, mended`);
    }
  },
);

peerTest("a jump host that falls silent at any message times out", sshPeers, async (paths) => {
  await using broken = await BrokenLab.create(paths);
  let failures = 0;
  for (const after of [0, ...broken.ends]) {
    await using ssh = broken.transports(500);
    const startedAt = performance.now();
    broken.line.fault = { after, kind: "stall" };
    const error = await ssh.to("jump1").connect({ signal }).then(() => undefined, (error) => error);
    // The sign-in is complete from here on; keepalives cover the rest.
    if (error === undefined) break;
    assert.ok(error instanceof PosternError, `after ${after}: ${error}`);
    assert.equal(error.code, "timeout", `after ${after}: ${error.message}`);
    assert.match(error.message, /ssh jump1.*: no session within 0\.5 s, the last step: /);
    assert.ok(performance.now() - startedAt < 2500, `after ${after}: too slow`);
    failures++;
  }
  assert.ok(failures >= 6, `${failures}`);
});

peerTest("any byte changed in transit ends a session", sshPeers, async (paths) => {
  await using broken = await BrokenLab.create(paths);
  const whole = broken.ends.at(-1) ?? 0;
  const codes = new Map<string, number>();
  for (const after of places(broken.ends).filter((place) => place < whole)) {
    const error = await broken.request({ after, kind: "corrupt" }, 1000);
    if (!error) console.log(after, broken.ends, broken.line.sent.subarray(after - 20, after + 10));
    assert.ok(error instanceof PosternError, `byte ${after} of ${whole}: ${error}`);
    assert.match(error.message, /ssh jump1/);
    assert.ok(
      ["protocol", "unreachable", "timeout", "auth"].includes(error.code),
      `byte ${after}: ${error.code} ${error.message}`,
    );
    codes.set(error.code, (codes.get(error.code) ?? 0) + 1);
  }
  assert.ok((codes.get("protocol") ?? 0) > 3, JSON.stringify([...codes]));
  assert.equal(await broken.request(undefined), undefined);
});

peerTest("a broken hop does not affect the hops before it", sshPeers, async (paths) => {
  await using broken = await BrokenLab.create(paths);
  const { lab, line, target } = broken;
  const first = await lab.start("first");
  await using ssh = new SshTransports([
    lab.host(first),
    lab.host({ name: "jump1", port: line.port }, { jumps: [{ host: "first" }] }),
  ]);
  await using standing = await ssh.to("first").dial(target, { signal });
  const into = new Uint8Array(10);
  for (const after of [...broken.ends.slice(0, 4), ...broken.ends.slice(-2, -1)]) {
    assert.ok(await broken.requestOver(ssh, { after, kind: "close" }) instanceof PosternError);
    await standing.write(new TextEncoder().encode("still here"));
    assert.equal(await standing.read(into), 10);
  }
  assert.equal(await broken.requestOver(ssh, undefined), undefined);
  await first.untilSignIns(1);
});
