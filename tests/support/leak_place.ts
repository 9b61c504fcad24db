import assert from "node:assert/strict";
import { isLongRun } from "./long_runs.ts";
import type { Outside } from "./outside.ts";
import { runPeer } from "./peer_program.ts";
import { type CommandOptions, Household, type Instance } from "./postern_process.ts";

/** The SOCKS5 reply and HTTP status for each reason. */
const answers = {
  auth: [2, 403],
  not_allowed: [2, 403],
  unreachable: [4, 502],
  name_not_found: [4, 502],
  timeout: [6, 504],
  config: [1, 500],
} as const;

/** A reason for refusing a target, and its sentence. */
export interface Refusal {
  readonly code: keyof typeof answers;
  readonly says: RegExp;
  /** Whether a rule routes the target to the failing cluster: then no configuration line would allow it. */
  readonly isRouted?: boolean;
}

/** The protocol of a client. */
export type Way = "socks" | "connect" | "absolute";
const everyWay: readonly Way[] = ["socks", "connect", "absolute"];

export interface LeakPlaceOptions {
  /** The unique name of the state. */
  readonly name: string;
  readonly curl: string;
  readonly outside: Outside;
}

/** Targets that a PAC file must always send to postern, and targets that it must not. */
const proxied = [
  ...["web", "web.shop", "wbe.shop", "10.1.2.3", "10.96.0.1", "172.20.1.1", "192.168.9.9", "100.64.0.1"],
  ...["198.18.7.7", "34.118.225.1", "240.0.0.1", "[fd00:10:96::1]"],
];
const passed = ["www.example.com", "example.com", "localhost", "a.localhost", "printer.local", "127.0.0.1"];

/** An instance in a separate home, and clients whose passwords must not leak. */
export class LeakPlace implements AsyncDisposable {
  readonly home: Household;
  readonly #options: LeakPlaceOptions;
  #instance: Instance | undefined;
  #turn = 0;

  private constructor(home: Household, options: LeakPlaceOptions) {
    this.home = home;
    this.#options = options;
  }

  /** Starts an instance with this configuration. */
  static async open(options: LeakPlaceOptions, config: string, run: CommandOptions = {}): Promise<LeakPlace> {
    const place = new LeakPlace(await Household.open(), options);
    try {
      await place.start(config, run);
      return place;
    } catch (error) {
      await place[Symbol.asyncDispose]();
      throw error;
    }
  }

  async start(config: string, run: CommandOptions = {}): Promise<void> {
    await this.home.configure(config);
    this.#instance = await this.home.instance([], run);
  }

  async stop(): Promise<void> {
    this.instance.kill("SIGTERM");
    const { code, stderr } = await this.instance.ended;
    assert.equal(code, 0, stderr);
  }

  get instance(): Instance {
    return this.#instance ?? assert.fail("no instance was started");
  }

  /**
   * Checks that postern refuses each target with this reason and the line that would allow it, and that no
   * traffic leaves. Each target uses one of the protocols in turn; the nightly run tests all combinations.
   */
  async refuses(
    hosts: readonly string[],
    { code, says, isRouted = false }: Refusal,
    ways?: readonly Way[],
  ): Promise<void> {
    const [reply, status] = answers[code];
    const asked = hosts.flatMap((host) => (ways ?? this.#nextWays()).map((way) => [host, way] as const));
    await Promise.all(asked.map(async ([host, way]) => {
      const answer = await this.ask(host, way);
      const label =
        `${this.#options.name}: ${host} by ${way}: ${answer.said}\n${answer.text}\n${this.instance.stderr}`;
      if (way === "socks") return assert.equal(answer.reply, reply, label);
      assert.match(answer.text, new RegExp(`^HTTP/1.1 ${status} `), label);
      assert.match(answer.text, says, label);
      // curl hides the body of a CONNECT response, which contains the hint.
      if (way === "absolute" && !isRouted) {
        assert.ok(answer.text.includes(`direct: ["${bare(host)}"]`), label);
      }
    }));
    this.nothingLeft(hosts);
  }

  /** Checks the output of `postern explain` for a refused target. */
  async explains(host: string, { code, says }: Refusal): Promise<void> {
    const { stdout, stderr } = await this.home.run(["explain", `${bare(host)}:80`, "-o", "json"]);
    const { held, transport } = JSON.parse(stdout || "{}");
    const label = `${this.#options.name}: ${stdout}${stderr}`;
    assert.equal(transport, "reject", label);
    assert.equal(held?.code, code, label);
    assert.match(held.message, says, label);
    assert.ok(held.hint.includes(`direct: ["${bare(host)}"]`), label);
  }

  /** Checks that a cluster answers a target. */
  async serves(host: string, body: string, ways: readonly Way[] = ["socks"]): Promise<void> {
    for (const way of ways) {
      const { text, said } = await this.ask(host, way);
      assert.ok(
        text.endsWith(body),
        `${this.#options.name}: ${host}: ${said}\n${text}\n${this.instance.stderr}`,
      );
    }
    this.nothingLeft([host]);
  }

  /**
   * Checks that a target's traffic leaves with the client's data, which proves that the other assertions
   * would detect a leak.
   */
  async leaves(host: string, ways: readonly Way[] = everyWay): Promise<void> {
    for (const way of ways) {
      const { text, said } = await this.ask(host, way);
      assert.ok(
        text.endsWith("outside"),
        `${this.#options.name}: ${host}: ${said}\n${text}\n${this.instance.stderr}`,
      );
      const [arrival, ...others] = this.#arrived();
      assert.deepEqual(others, []);
      assert.match(arrival?.said ?? "", new RegExp(`^Authorization: Basic ${btoa("user:secret")}\r$`, "m"));
    }
  }

  /** Checks that the PAC file sends possible targets of a cluster to postern, and others directly. */
  async pac(...more: readonly string[]): Promise<void> {
    const answer = await fetch(`http://${await this.instance.address()}/proxy.pac`);
    const text = await answer.text();
    const find = new Function(`${text}\nreturn FindProxyForURL;`)() as (url: string, host: string) => string;
    const ask = (host: string) => find(`http://${host}/`, bare(host));
    const wrong = [
      ...[...proxied, ...more].filter((host) => ask(host) === "DIRECT").map((host) => `${host} DIRECT`),
      ...passed.filter((host) => ask(host) !== "DIRECT").map((host) => `${host} to postern`),
    ];
    assert.deepEqual(wrong, [], `${this.#options.name}\n${text}`);
  }

  /** Sends a request with curl and a password. */
  async ask(
    host: string,
    way: Way,
  ): Promise<{ readonly text: string; readonly reply: number | undefined; readonly said: string }> {
    const address = await this.instance.address();
    const options = {
      socks: ["--proxy", `socks5h://${address}`],
      connect: ["--include", "--proxytunnel", "--proxy", `http://${address}`],
      absolute: ["--include", "--proxy", `http://${address}`],
    };
    const { code, stdout, stderr } = await runPeer(this.#options.curl, [
      ...["--silent", "--show-error", "--globoff", "--max-time", "60", "--user", "user:secret"],
      ...["--header", `X-State: ${this.#options.name}`, ...options[way], `http://${host}/`],
    ]);
    const refused = /\((\d+)\)\s*$/.exec(stderr.trim());
    return {
      text: stdout,
      reply: code === 97 && refused ? Number(refused[1]) : undefined,
      said: stderr.trim(),
    };
  }

  /** Checks that no connection and no DNS question has left. */
  nothingLeft(hosts: readonly string[]): void {
    assert.deepEqual(this.#arrived(), [], this.#options.name);
    const asked = hosts.filter((host) => this.#options.outside.names.has(host));
    assert.deepEqual(asked, [], `${this.#options.name}: the system's resolver got a question`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]();
  }

  #nextWays(): readonly Way[] {
    const at = this.#turn++ % everyWay.length;
    return isLongRun() ? everyWay : everyWay.slice(at, at + 1);
  }

  #arrived(): readonly { readonly to: string; readonly said: string }[] {
    return this.#options.outside.take(`X-State: ${this.#options.name}`);
  }
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}
