import assert from "node:assert/strict";
import { patternBytes } from "../support/pattern_bytes.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { RawClient, socks5Asking, throughSocks5 } from "../support/raw_client.ts";
import { type Instance, openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { type Sshd, SshLab, sshPeers } from "../support/sshd.ts";
import { echoServer, TargetServer } from "../support/target_server.ts";
import { large, sha256, WebSite } from "../support/web_site.ts";

/** The result of a request: the code of its SOCKS reply, and its duration. */
interface Asked {
  readonly reply: number;
  readonly ms: number;
}

/** Starts a request every 100 ms, whatever happens to earlier ones. */
class Requests implements AsyncDisposable {
  readonly answered: Asked[] = [];
  readonly #instance: string;
  readonly #port: number;
  readonly #open = new Set<Promise<void>>();
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(instance: string, port: number) {
    this.#instance = instance;
    this.#port = port;
    this.#timer = setInterval(() => this.#start(), 100);
  }

  /** Starts no more requests, and waits for the running ones. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#open);
  }

  #start(): void {
    const request = this.#ask().finally(() => this.#open.delete(request));
    this.#open.add(request);
  }

  async #ask(): Promise<void> {
    const startedAt = performance.now();
    using client = await RawClient.connect(this.#instance);
    await client.send(socks5Asking({ host: "127.0.0.1", port: this.#port }));
    const [, , , reply = -1] = await client.take(12);
    this.answered.push({ reply, ms: performance.now() - startedAt });
    // Data after the reply may be cut off together with its session.
    await client.send("hello").then(() => client.take(5)).catch(() => {});
  }
}

/** Requests that failed or took too long. */
function bad(answered: readonly Asked[], limit: number): readonly Asked[] {
  return answered.filter(({ reply, ms }) => reply !== 0 || ms > limit);
}

interface Parts {
  readonly lab: SshLab;
  readonly sshd: Sshd;
  readonly instance: Instance;
  readonly address: string;
  /** Replaces the ssh configuration. */
  readonly rewrite: (...more: readonly string[]) => Promise<void>;
  /** Replaces the configuration of postern. */
  readonly configure: (...lines: readonly string[]) => Promise<void>;
  /** The output of `postern status`, on one line. */
  readonly status: () => Promise<string>;
}

const usual = ["transports: { jump: { ssh: jump } }", "default: jump"];

function row(name: string, run: (parts: Parts) => Promise<void>): void {
  peerTest(name, sshPeers, async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump");
    await using home = await openSshHousehold(lab, { ssh: sshHostLines("jump", sshd), postern: usual });
    await using instance = await home.instance();
    const config = `${lab.directory}/ssh_config`;
    const rest = (await Deno.readTextFile(config)).split("\n").slice(1);
    await run({
      lab,
      sshd,
      instance,
      address: await instance.address(),
      rewrite: (...more) => Deno.writeTextFile(config, ["Host jump", ...more, ...rest].join("\n")),
      configure: async (...lines) =>
        void await home.configure([`ssh: { config: "${config}" }`, ...lines, ""].join("\n")),
      status: async () => (await home.run(["status"])).stdout.replace(/\s+/g, " "),
    });
  });
}

/** Kills the sessions of a server 20 times during continuous requests. */
async function killing({ sshd, address }: Pick<Parts, "sshd" | "address">): Promise<void> {
  await using echo = echoServer();
  const requests = new Requests(address, echo.port);
  {
    await using _ = requests;
    for (let round = 0; round < 20; round++) {
      const { length } = requests.answered;
      await eventually("requests succeed", () => requests.answered.length > length + 1);
      const { signIns } = sshd;
      await sshd.signalSessions("KILL");
      await eventually("a new session signs in", () => sshd.signIns > signIns);
    }
  }
  assert.ok(requests.answered.length >= 40);
  assert.deepEqual(bad(requests.answered, 2000), []);
}

/** Stops the sessions of a server during continuous requests, until postern drops them. */
async function stopping(
  { sshd, address, instance }: Pick<Parts, "sshd" | "address" | "instance">,
): Promise<void> {
  await using echo = echoServer();
  const requests = new Requests(address, echo.port);
  {
    await using _ = requests;
    await eventually("requests succeed", () => requests.answered.length > 1);
    await sshd.signalSessions("STOP");
    await eventually("another session carries requests", () => sshd.signIns === 2);
    await instance.says(/ssh\.lost /);
    const { length } = requests.answered;
    await eventually("requests succeed", () => requests.answered.length > length + 10);
  }
  assert.deepEqual(bad(requests.answered, 3000), []);
  assert.equal(sshd.signIns, 2);
}

row("no request fails when the session is killed 20 times, and none takes over 2 s", killing);

row("no request fails when the session is stopped, and none takes over 3 s", async (parts) => {
  await stopping(parts);
  assert.match(await parts.status(), /no data for \d+ ms/);
});

for (const [what, run] of [["a kill", killing], ["a stop", stopping]] as const) {
  peerTest(
    `${what} of the first of three hops costs as much as that of a single hop`,
    sshPeers,
    async (paths) => {
      await using lab = await SshLab.create(paths);
      const sshd = await lab.start("a");
      await using home = await openSshHousehold(lab, {
        ssh: [
          ...sshHostLines("a", sshd),
          ...sshHostLines("b", await lab.start("b"), "ProxyJump a"),
          ...sshHostLines("jump", await lab.start("c"), "ProxyJump b"),
        ],
        postern: usual,
      });
      await using instance = await home.instance();
      await run({ sshd, instance, address: await instance.address() });
    },
  );
}

row(
  "SIGHUP during a long download lets it complete, and keeps an unchanged session",
  async (parts) => {
    const { sshd, instance, address, rewrite } = parts;
    await using site = new WebSite();
    const download = async () => {
      const client = await throughSocks5(address, { host: "127.0.0.1", port: site.port });
      await client.send("GET /large HTTP/1.0\r\nHost: x\r\n\r\n");
      await client.takeUntil("\r\n\r\n");
      return client;
    };
    const reloaded = async () => {
      const count = instance.stderr.match(/config\.reloaded/g)?.length ?? 0;
      instance.kill("SIGHUP");
      await instance.says(new RegExp(`(config\\.reloaded[^]*){${count + 1}}`));
    };
    using first = await download();
    await reloaded();
    using second = await download();
    assert.equal(sshd.signIns, 1);
    await rewrite("  Ciphers aes256-ctr");
    instance.kill("SIGHUP");
    await eventually("new connections use the new route", async () => {
      (await throughSocks5(address, { host: "127.0.0.1", port: site.port })).close();
      return sshd.signIns === 2;
    });
    using third = await download();
    assert.equal(sshd.signIns, 2);
    const expected = await sha256(large());
    for (const client of [first, second, third]) assert.equal(await sha256(await client.rest()), expected);
  },
);

row("no request fails during 20 reloads of a changing ssh configuration", async (parts) => {
  const { sshd, instance, address, rewrite } = parts;
  await using echo = echoServer();
  const requests = new Requests(address, echo.port);
  {
    await using _ = requests;
    await eventually("requests succeed", () => requests.answered.length > 0);
    for (let round = 0; round < 20; round++) {
      const { length } = requests.answered;
      await rewrite(`  Ciphers aes${round % 2 ? 128 : 256}-ctr`, `  ConnectTimeout ${10 + round}`);
      instance.kill("SIGHUP");
      await eventually("requests use the new route", () => sshd.signIns > round + 1);
      await eventually("requests succeed", () => requests.answered.length > length + 1);
    }
  }
  assert.deepEqual(bad(requests.answered, 2000), []);
  assert.equal(sshd.signIns, 21);
});

row("SIGHUP with an invalid configuration keeps the old one, and status reports it", async (parts) => {
  const { sshd, instance, address, configure, status } = parts;
  await using echo = echoServer();
  const target = { host: "127.0.0.1", port: echo.port };
  using before = await throughSocks5(address, target);
  await configure(...usual, "routes: [{ to: 127.0.0.1, via: nowhere }]");
  instance.kill("SIGHUP");
  await instance.says(/config\.refused/);
  using after = await throughSocks5(address, target);
  for (const client of [before, after]) {
    await client.send("hello");
    assert.equal((await client.take(5)).length, 5);
  }
  assert.equal(sshd.signIns, 1);
  assert.match(await status(), /problem .*config\.yaml:4:\d+: .*nowhere/);
});

row(
  "status reports a broken ssh configuration; open connections continue, also after its correction",
  async (parts) => {
    const { instance, address, rewrite, status } = parts;
    await using echo = echoServer();
    const target = { host: "127.0.0.1", port: echo.port };
    using before = await throughSocks5(address, target);
    await rewrite("  ProxyJmup nowhere");
    instance.kill("SIGHUP");
    await instance.says(/transport\.unusable .*ssh_config:2: ProxyJmup/i);
    await assert.rejects(throughSocks5(address, target));
    await before.send("hello");
    assert.equal((await before.take(5)).length, 5);
    assert.match(await status(), /ssh_config:2: ProxyJmup/i);
    await rewrite();
    instance.kill("SIGHUP");
    await eventually("it works again", async () => {
      const client = await throughSocks5(address, target).catch(() => undefined);
      client?.close();
      return client !== undefined;
    });
  },
);

row(
  "SIGTERM lets a connection through ssh end, disconnects cleanly, and exits with 0",
  async (parts) => {
    const { sshd, instance, address } = parts;
    await using target = new TargetServer(async (client) => {
      await client.take(1);
      await client.send(patternBytes(1_000_000));
    });
    using client = await throughSocks5(address, { host: "127.0.0.1", port: target.port });
    instance.kill("SIGTERM");
    await instance.says(/instance\.draining/);
    await assert.rejects(throughSocks5(address, { host: "127.0.0.1", port: target.port }));
    await client.send("x");
    assert.equal((await client.rest()).length, 1_000_000);
    client.close();
    assert.equal((await instance.ended).code, 0);
    await eventually("the session ends", async () => await sshd.sessions() === 0);
    assert.match(sshd.log, /Received disconnect from 127\.0\.0\.1/);
  },
);
