import assert from "node:assert/strict";
import { readClaims } from "../../src/signin/sign_in_claims.ts";
import { type SignedIn, signIn, type SignInOptions, type SignInParts } from "../../src/signin/mod.ts";
import type { Clock } from "../../src/core/mod.ts";
import { isPosternError } from "../../src/words/mod.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { createProcess } from "../../src/runtime/programs/process.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { Dex, ScriptedBrowser } from "../support/dex.ts";
import { MemoryWorld } from "../support/memory_world.ts";
import { eventually } from "../support/peer_program.ts";
import { type PeerPaths, peerTest } from "../support/peers.ts";
import { recordingLog } from "../support/recording_log.ts";
import { testTls } from "../support/tls_files.ts";

const { signal } = new AbortController();

/** A user's machine with real files, sockets and programs, and a real provider. */
class Lab implements AsyncDisposable {
  readonly directory: string;
  readonly dex: Dex;
  readonly log = recordingLog();
  readonly env: Record<string, string> = {};
  clock: Clock = systemClock;
  said = "";
  /** The last page in the browser. */
  page = "";

  private constructor(directory: string, dex: Dex) {
    this.directory = directory;
    this.dex = dex;
  }

  static async open({ dex }: PeerPaths<"dex">): Promise<Lab> {
    const directory = await Deno.makeTempDir({ prefix: "dex" });
    return new Lab(directory, await Dex.start(dex, directory));
  }

  get options(): SignInOptions {
    const { discoveryUrl, callbackPort } = this.dex;
    const apiUrl = "https://api.syn.example.com";
    return {
      apiUrl,
      clientId: "lieutenant",
      discoveryUrl,
      ca: testTls.ca,
      port: callbackPort,
      asksAnyway: true,
    };
  }

  get parts(): SignInParts {
    const { clock } = this;
    const files = createFiles(clock);
    const process = createProcess({ clock, files, main: import.meta.url, flags: [] });
    const { directory } = this;
    return {
      log: this.log,
      say: (text) => Promise.resolve(void (this.said += text)),
      world: {
        clock,
        files,
        network: createNetwork(),
        terminal: new MemoryWorld().terminal,
        process: Object.create(process, { env: { value: (name: string) => this.env[name] } }),
        places: {
          home: directory,
          temporary: directory,
          ...Object.fromEntries(
            ["config", "state", "cache", "runtime"].map((name) => [name, `${directory}/${name}`]),
          ),
        } as SignInParts["world"]["places"],
      },
    };
  }

  /** Signs in with a scripted browser; if the browser does not return, the sign-in fails with its page. */
  async signIn(options: Partial<SignInOptions> = {}): Promise<SignedIn> {
    this.said = "";
    const stop = new AbortController();
    const asked = signIn({ ...this.options, ...options }, this.parts, stop);
    asked.catch(() => {});
    await eventually("the address is shown", () => this.said !== "");
    const address = /open this address:\n(\S+)/.exec(this.said)?.[1] ?? "";
    try {
      this.page = await new ScriptedBrowser().visit(address);
      if (!this.page.includes("You can close this window")) throw new Error(this.page);
    } catch (error) {
      stop.abort(error);
    }
    return await asked;
  }

  /** Moves postern's date forward. */
  later(ms: number): void {
    this.clock = { ...systemClock, date: () => new Date(Date.now() + ms) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dex[Symbol.asyncDispose]();
    await Deno.remove(this.directory, { recursive: true });
  }
}

peerTest("signIn() at dex: the user signs in once, then sign-ins are silent", ["dex"], async (paths) => {
  await using lab = await Lab.open(paths);
  const first = await lab.signIn();
  assert.deepEqual([first.from, first.name], ["person", "alice@example.com"]);
  assert.deepEqual(readClaims(first.idToken)?.audience, ["lieutenant"]);
  assert.match(lab.page, /^200 [^]*You are signed in/);
  if (Deno.build.os !== "windows") {
    assert.equal((Deno.statSync(`${lab.directory}/cache/tokens`).mode ?? 0) & 0o777, 0o700);
    const names = [...Deno.readDirSync(`${lab.directory}/cache/tokens`)].map(({ name }) => name);
    assert.equal(names.length, 1, names.join());
    assert.equal((Deno.statSync(`${lab.directory}/cache/tokens/${names[0]}`).mode ?? 0) & 0o777, 0o600);
  }
  const silent = { ...lab.options, method: "none" } as const;
  assert.equal((await signIn(silent, lab.parts, { signal })).from, "cache");
  lab.later(3_595_000);
  const renewed = await signIn(silent, lab.parts, { signal });
  assert.equal(renewed.from, "refresh");
  assert.ok(Number(renewed.expires) >= Number(first.expires));
  assert.doesNotMatch(`${lab.said}${JSON.stringify(lab.log.lines)}`, /eyJ|code=/);
});

peerTest("signIn() at dex: concurrent calls renew once", ["dex"], async (paths) => {
  await using lab = await Lab.open(paths);
  await lab.signIn();
  lab.later(3_595_000);
  const silent = { ...lab.options, method: "none" } as const;
  // Dex accepts each refresh token once: a second renewal with the same one would fail.
  const all = await Promise.all([1, 2, 3].map(() => signIn({ ...silent }, lab.parts, { signal })));
  assert.ok(all.every(({ from }) => from === "refresh"));
  assert.deepEqual(lab.log.lines.filter(({ event }) => event === "sign_in.refresh_refused"), []);
});

peerTest("signIn() at dex: after a revoked token the user signs in again", ["dex"], async (paths) => {
  await using lab = await Lab.open(paths);
  const first = await lab.signIn();
  const path = `${lab.directory}/cache/tokens/${
    [...Deno.readDirSync(`${lab.directory}/cache/tokens`)][0]?.name
  }`;
  const content = JSON.parse(await Deno.readTextFile(path));
  await Deno.writeTextFile(path, JSON.stringify({ ...content, refreshToken: "ChlmYWtlLXJlZnJlc2gtdG9rZW4" }));
  const second = await lab.signIn({ refused: first.idToken });
  assert.equal(second.from, "person");
  assert.notEqual(second.idToken, first.idToken);
});

peerTest("signIn() at dex throws the provider's error", ["dex"], async (paths) => {
  await using lab = await Lab.open(paths);
  await assert.rejects(lab.signIn({ scopes: ["openid", "nonsense"] }), (error) => {
    assert.ok(isPosternError(error, "auth"));
    assert.match(error.message, /^Cannot sign in at https:\/\/127.0.0.1:\d+\/dex: invalid_scope: /);
    return true;
  });
  assert.match(lab.page, /^403 [^]*You are not signed in[^]*invalid_scope/);
});

peerTest("signIn() at dex needs its CA", ["dex"], async (paths) => {
  await using lab = await Lab.open(paths);
  const { ca: _ca, ...options } = lab.options;
  await assert.rejects(signIn(options, lab.parts, { signal }), /Cannot trust "127.0.0.1"/);
});

peerTest("signIn() at dex hints at the process that uses its port", ["dex"], async (paths) => {
  await using lab = await Lab.open(paths);
  using _taken = Deno.listen({ hostname: "127.0.0.1", port: lab.dex.callbackPort });
  const quick = { ...lab.parts, world: { ...lab.parts.world, clock: fast(10) } };
  await assert.rejects(signIn(lab.options, quick, { signal }), (error) => {
    assert.ok(isPosternError(error, "config"));
    assert.match(error.hint ?? "", Deno.build.os === "windows" ? /netstat/ : /lsof -iTCP:\d+ .*--device/);
    return true;
  });
});

peerTest(
  "signIn() at dex opens the configured browser",
  ["dex", "sh"],
  async ({ sh, ...paths }) => {
    await using lab = await Lab.open(paths);
    const file = `${lab.directory}/address`;
    lab.env["KHARON_BROWSER"] = `'${sh}' -c "echo '%s' >'${file}.new' && mv '${file}.new' '${file}'"`;
    const asked = signIn(lab.options, lab.parts, { signal });
    await eventually("the browser was started", () => Deno.stat(file).then(() => true, () => false));
    const address = (await Deno.readTextFile(file)).trim();
    assert.ok(lab.said.includes(new URL(address).search.slice(0, 20)));
    await new ScriptedBrowser("mallory@example.com").visit(address);
    assert.equal((await asked).name, "mallory@example.com");
  },
);

peerTest("signIn() at dex with a code on another device", ["dex"], async (paths) => {
  await using lab = await Lab.open(paths);
  // Dex requires five seconds between polls, so it also sends slow_down.
  lab.clock = fast(20);
  const asked = signIn({ ...lab.options, method: "device" }, lab.parts, { signal });
  await eventually("the code is shown", () => lab.said !== "");
  await new Promise((resolve) => setTimeout(resolve, 600));
  const complete = /or open this address: (\S+)/.exec(lab.said)?.[1] ?? "";
  assert.match(await new ScriptedBrowser().visit(complete), /^200 [^]*Login Successful/);
  assert.deepEqual([(await asked).from, (await asked).name], ["person", "alice@example.com"]);
});

/** A clock with timers that run `times` times as fast. */
function fast(times: number): Clock {
  return {
    ...systemClock,
    now: () => systemClock.now() * times,
    after: (ms, task) => systemClock.after(ms / times, task),
  };
}
