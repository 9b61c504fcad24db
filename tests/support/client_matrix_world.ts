import { createSocket } from "node:dgram";
import { decodeDnsMessage, dnsRcodes, encodeDnsMessage } from "../../src/dns/mod.ts";

// A program for a network namespace with only loopback. It starts postern and the servers, runs each client,
// and prints where their connections arrived.
//
// - Names below lab.test have no local address. postern has another hosts file, with 127.0.0.9.
// - Names below near.test have the local address 127.0.0.1, and 127.0.0.9 for postern.

/** A client and its target. */
export interface MatrixRun {
  readonly key: string;
  /** The name of the target; another run has another name. */
  readonly host: string;
  readonly port: number;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The arguments of `postern env`. */
  readonly set: string;
}

export interface MatrixWorld {
  readonly instance: { readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> };
  readonly sets: Readonly<Record<string, MatrixWorld["instance"]>>;
  readonly listener: number;
  readonly runs: readonly MatrixRun[];
  readonly base: Readonly<Record<string, string>>;
}

export interface MatrixResult {
  readonly key: string;
  readonly host: string;
  readonly code: number;
  readonly said: string;
  readonly arrivals: readonly string[];
  readonly leaks: boolean;
  readonly ms: number;
}

/** The ports on which the origin listens; those for ssh begin with the last one. */
export const originPorts = { http: 8080, https: 8443, postgres: 5432, ssh: 22_000 };

const places: Readonly<Record<string, string>> = { "127.0.0.1": "direct", "127.0.0.9": "postern" };
const atOnce = 3;

if (import.meta.main) {
  await main();
  // The servers listen as long as the process lives.
  Deno.exit(0);
}

async function main(): Promise<void> {
  const world: MatrixWorld = JSON.parse(await new Response(Deno.stdin.readable).text());
  const asked = new Set<string>();
  const arrived = new Map<string, Set<string>>();
  await serveDns(asked);
  for (const [address, place] of Object.entries(places)) {
    for (const port of new Set(world.runs.map(({ port }) => port))) {
      const host = world.runs.find((run) => run.port === port && port > originPorts.ssh)?.host;
      void serveOrigin({ address, port, place, arrived, host });
    }
  }
  const { instance: { command: [program = "", ...args], env } } = world;
  const instance = new Deno.Command(program, { args, env, clearEnv: true, stdin: "null", stdout: "null" })
    .spawn();
  let hasEnded = false;
  const ended = instance.status.then(() => {
    hasEnded = true;
    throw new Error("the instance ended");
  });
  // The end after the last client is no failure.
  ended.catch(() => {});
  try {
    await Promise.race([untilListening(world.listener), ended]);
    const sets = new Map<string, Record<string, string>>();
    for (const [name, set] of Object.entries(world.sets)) {
      const { code, out, err } = await finished(set.command, set.env);
      if (code !== 0) throw new Error(`postern env ${name}: ${err}`);
      sets.set(name, JSON.parse(out));
    }
    const results: MatrixResult[] = [];
    const waiting = [...world.runs];
    const worker = async () => {
      for (let run = waiting.shift(); run; run = waiting.shift()) {
        const start = performance.now();
        const { code, out, err } = await finished(run.command, {
          ...world.base,
          ...sets.get(run.set),
          ...run.env,
        });
        results.push({
          key: run.key,
          host: run.host,
          code,
          said: (out + err).slice(-2000),
          arrivals: [...arrived.get(run.host) ?? []],
          leaks: asked.has(run.host),
          ms: Math.round(performance.now() - start),
        });
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    console.log(JSON.stringify(results));
  } finally {
    if (!hasEnded) instance.kill("SIGKILL");
    await instance.status;
  }
}

/** Answers names below near.test, and records all questions. */
async function serveDns(asked: Set<string>): Promise<void> {
  const socket = createSocket("udp4");
  socket.on("message", (bytes, { address, port }) => {
    const message = decodeDnsMessage(new Uint8Array(bytes))?.value;
    const [question] = message?.questions ?? [];
    if (!message || !question) return;
    const name = question.name.toLowerCase().replace(/\.$/, "");
    asked.add(name);
    const isNear = name.endsWith(".near.test");
    socket.send(
      encodeDnsMessage({
        ...message,
        isResponse: true,
        rcode: isNear ? 0 : dnsRcodes.nameError,
        answers: isNear && question.type === "A"
          ? [{ name: question.name, type: "A", ttl: 0, address: "127.0.0.1" }]
          : [],
      }),
      port,
      address,
    );
  });
  await new Promise<void>((resolve) => socket.bind(53, "127.0.0.1", resolve));
}

interface Origin {
  readonly address: string;
  readonly port: number;
  readonly place: string;
  readonly arrived: Map<string, Set<string>>;
  /** The name to which all connections belong. */
  readonly host: string | undefined;
}

async function serveOrigin({ address, port, place, arrived, host }: Origin): Promise<void> {
  for await (const conn of Deno.listen({ hostname: address, port })) {
    void serve(conn).catch(() => {}).finally(() => {
      try {
        conn.close();
      } catch {
        // The client has closed it.
      }
    });
  }

  async function serve(conn: Deno.Conn): Promise<void> {
    const into = new Uint8Array(16_384);
    let text = "";
    while (!isWhole(text)) {
      const read = await conn.read(into);
      if (read === null) return;
      text += Array.from(into.subarray(0, read), (byte) => String.fromCharCode(byte)).join("");
      const name = /[a-z][0-9]+\.(?:lab|near)\.test/.exec(text)?.[0] ?? host;
      if (name) arrived.set(name, (arrived.get(name) ?? new Set()).add(place));
      if (name && port !== originPorts.http) return;
    }
    const [, path = "/"] = /^\S+ (\S+)/.exec(text) ?? [];
    const body = answerTo(path, place, /[a-z][0-9]+\.(?:lab|near)\.test/.exec(text)?.[0] ?? "");
    const head = `HTTP/1.1 200 OK\r\nContent-Type: ${
      body.startsWith("{") ? "application/json" : "text/html"
    }\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
    await conn.write(new TextEncoder().encode(head + body));
    await conn.closeWrite();
    while (await conn.read(into) !== null);
  }
}

function isWhole(text: string): boolean {
  return text.includes("\r\n\r\n");
}

/** What the package managers and git read. */
function answerTo(path: string, place: string, host: string): string {
  const at = `http://${host}:${originPorts.http}`;
  if (path.endsWith("/info/refs?service=git-upload-pack")) return `${"1".repeat(40)}\trefs/heads/main\n`;
  if (path.startsWith("/simple/")) {
    return '<a href="/demo-1.0-py3-none-any.whl">demo-1.0-py3-none-any.whl</a>';
  }
  if (path === "/demo") {
    return JSON.stringify({
      name: "demo",
      "dist-tags": { latest: "1.0.0" },
      versions: { "1.0.0": { version: "1.0.0" } },
    });
  }
  if (path === "/index/config.json") return JSON.stringify({ dl: `${at}/dl`, api: at });
  if (path.startsWith("/api/v1/crates")) {
    return JSON.stringify({
      crates: [{ name: "demo", max_version: "1.0.0", description: place }],
      meta: { total: 1 },
    });
  }
  return `arrived: ${place}\n`;
}

async function untilListening(port: number): Promise<void> {
  for (const end = performance.now() + 60_000; performance.now() < end;) {
    try {
      return (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error("the instance never listened");
}

async function finished([program = "", ...args]: readonly string[], env: Readonly<Record<string, string>>) {
  const signal = AbortSignal.timeout(60_000);
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args,
    env,
    clearEnv: true,
    stdin: "null",
    signal,
  }).output();
  const text = new TextDecoder();
  return { code, out: text.decode(stdout), err: text.decode(stderr) };
}
