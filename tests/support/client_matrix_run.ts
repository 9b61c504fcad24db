import assert from "node:assert/strict";
import type { Found, PeerName } from "../../scripts/peer_table.ts";
import type { Arrival, MatrixClient } from "./client_matrix.ts";
import { type MatrixResult, type MatrixRun, type MatrixWorld, originPorts } from "./client_matrix_world.ts";
import { runPeer } from "./peer_program.ts";
import { findPeer } from "./peers.ts";
import { denoDirectory, Household } from "./postern_process.ts";
import type { Under } from "./namespaces.ts";

/** What one client did. */
export interface MatrixRow {
  readonly client: MatrixClient;
  /** Where a routed name arrived with the client's settings, and with `--for all`, there over HTTPS if possible. */
  readonly routed: readonly [Arrival, Arrival];
  readonly direct: Arrival;
  readonly leaks: boolean;
  /** The output and the time of all runs. */
  readonly said: string;
  readonly ms: number;
}

/** Runs the clients in a namespace with only loopback. */
export async function measureClients(
  clients: readonly MatrixClient[],
  wrap: (script?: string) => Under,
): Promise<readonly MatrixRow[]> {
  await using home = await Household.open();
  const scratch = `${home.directory}/clients`;
  await Deno.mkdir(scratch);
  const runs = clients.flatMap((client, at) => runsOf(client, at, scratch));
  await writeFiles(home.directory, scratch, runs);
  await compileJava(scratch);
  await home.configure(
    `direct: [near.test, 10.0.0.0/8, "2001:db8::/32", "2001:db8:1::1"]\nlisten: { mixed: 127.0.0.1:12000 }\n`,
  );
  const sets = [...new Set(runs.map(({ set }) => set))];
  const hosts = `${home.directory}/hosts`;
  const lines = home.commandLine(["proxy"]);
  const world: MatrixWorld = {
    instance: { ...lines, command: [...underHosts(wrap, hosts), ...lines.command] },
    sets: Object.fromEntries(sets.map((set) => {
      const line = home.commandLine(["env", "--shell", "json", ...set.split(" ").slice(1)]);
      // The control socket does not exist yet, so the command line has no permission for it.
      const command = line.command.toSpliced(line.command.indexOf("run") + 1, 0, "--allow-net");
      return [set, { ...line, command }];
    })),
    listener: 12000,
    runs,
    // git starts postern, which finds the instance by these.
    base: { ...lines.env, LANG: "C.UTF-8", GIT_TERMINAL_PROMPT: "0" },
  };
  const results = await inWorld(world, wrap, home.directory);
  return clients.map((client, at) => rowOf(client, at, results));
}

/** The runs of a client: a routed name with its own set and with all of them, and a target of `direct`. */
function runsOf(client: MatrixClient, at: number, scratch: string): MatrixRun[] {
  const own = [
    "env",
    ...client.programs ? ["--for", client.programs] : [],
    ...client.socks ? ["--socks"] : [],
  ]
    .join(" ");
  const all = ["env --for all", ...client.socks ? ["--socks"] : []].join(" ");
  const run = (key: string, zone: string, set: string, scheme: string): MatrixRun => {
    const host = `${key}${at}.${zone}.test`;
    const port = portOf(scheme, at * 4 + ["o", "a", "d"].indexOf(key));
    const url = scheme === "jdbc"
      ? `jdbc:postgresql://${host}:${port}/${host}?sslmode=disable&gssEncMode=disable&loginTimeout=20`
      : scheme === "ssh"
      ? `ssh://git@${host}:${port}/demo.git`
      : `${scheme}://${host}:${port}/`;
    return {
      key: `${key}${at}`,
      host,
      port,
      set,
      command: client.command({ url, host, port, peers: pathsOf(client.peers), scratch }),
      env: client.env?.({ scratch, host }) ?? {},
    };
  };
  const scheme = client.scheme ?? "http";
  return [
    run("o", "lab", own, scheme),
    run("a", "lab", all, client.https ? "https" : scheme),
    run("d", "near", all, scheme),
  ];
}

/** The port of a target. The first bytes of ssh contain no name, so each run has a port to itself. */
function portOf(scheme: string, run: number): number {
  return { https: originPorts.https, jdbc: originPorts.postgres, ssh: originPorts.ssh + run }[scheme] ??
    originPorts.http;
}

function pathsOf(peers: readonly PeerName[]): Record<string, string> {
  const paths = peers.map((peer) => {
    const found: Found = findPeer(peer);
    return [peer, "path" in found ? found.path : ""];
  });
  return { ...Object.fromEntries(paths), deno: Deno.execPath() };
}

/** A prefix that runs postern with a hosts file in which every target has the address 127.0.0.9. */
function underHosts(wrap: (script?: string) => Under, hosts: string): Under {
  const [bash = ""] = wrap();
  return [
    "unshare",
    "--mount",
    bash,
    "-c",
    'mount --bind "$0" /etc/hosts && exec "$@"',
    hosts,
  ];
}

async function writeFiles(home: string, scratch: string, runs: readonly MatrixRun[]): Promise<void> {
  const files = {
    [`${home}/hosts`]: `127.0.0.1 localhost\n${runs.map(({ host }) => `127.0.0.9 ${host}\n`).join("")}`,
    [`${home}/local-hosts`]: "127.0.0.1 localhost\n",
    [`${home}/resolv.conf`]: "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n",
    // A resolver on a unix socket would leave the namespace.
    [`${home}/nsswitch.conf`]: "passwd: files\nhosts: files dns\n",
    ...Object.fromEntries(Object.entries(javaFiles).map(([name, text]) => [`${scratch}/${name}`, text])),
  };
  for (const [path, text] of Object.entries(files)) await Deno.writeTextFile(path, text);
}

const javaFiles: Readonly<Record<string, string>> = {
  "Fetch.java": `
import java.net.URI;
import java.net.http.*;
class Fetch {
  public static void main(String[] args) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(args[0])).build();
    System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
  }
}
`,
  "Open.java": `
import java.net.URI;
class Open {
  public static void main(String[] args) throws Exception {
    System.out.write(URI.create(args[0]).toURL().openStream().readAllBytes());
  }
}
`,
  "Query.java": `
import java.sql.*;
class Query {
  public static void main(String[] args) throws Exception {
    DriverManager.getConnection(args[0], "me", "secret").close();
  }
}
`,
};

async function compileJava(scratch: string): Promise<void> {
  const javac = findPeer("javac");
  if ("missing" in javac) return;
  const files = Object.keys(javaFiles).map((name) => `${scratch}/${name}`);
  const { code, stderr } = await runPeer(javac.path, ["-d", scratch, ...files]);
  assert.equal(code, 0, stderr);
}

async function inWorld(
  world: MatrixWorld,
  wrap: (script?: string) => Under,
  home: string,
): Promise<readonly MatrixResult[]> {
  const binds = [["resolv.conf", "/etc/resolv.conf"], ["nsswitch.conf", "/etc/nsswitch.conf"], [
    "local-hosts",
    "/etc/hosts",
  ]].map(([from, to]) => `mount --bind ${home}/${from} ${to}`);
  const script = new URL("./client_matrix_world.ts", import.meta.url).href;
  const flags = [
    ...["--no-prompt", "--no-check", "--cached-only", "--quiet"],
    ...["--allow-net", "--allow-read", "--allow-env", "--allow-sys", "--allow-run"],
  ];
  const prefix = wrap(["ip link set lo up", ...binds].join(" && "));
  const [program = "", ...args] = [...prefix, Deno.execPath(), "run", ...flags, script];
  const { code, stdout, stderr } = await runPeer(program, args, {
    stdin: JSON.stringify(world),
    env: { DENO_DIR: await denoDirectory(), DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1", HOME: home },
  });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as readonly MatrixResult[];
}

function rowOf(client: MatrixClient, at: number, results: readonly MatrixResult[]): MatrixRow {
  const result = (key: string) => results.find((one) => one.key === `${key}${at}`);
  const arrival = (key: string): Arrival => {
    const { arrivals = [] } = result(key) ?? {};
    // Both at once would be a leak of the connection.
    assert.ok(arrivals.length <= 1, `${client.name}: ${key} arrived ${arrivals.join(" and ")}`);
    return (arrivals[0] ?? "nowhere") as Arrival;
  };
  const mine = ["o", "a", "d"].flatMap((key) => result(key) ?? []);
  const said = mine.map(({ key, code, leaks, said }) =>
    `${key} ended with ${code}${leaks ? ", asked the resolver" : ""}: ${said}`
  );
  return {
    client,
    routed: [arrival("o"), arrival("a")],
    direct: arrival("d"),
    leaks: mine.some(({ leaks, host }) => leaks && host.endsWith(".lab.test")),
    said: said.join("\n"),
    ms: mine.reduce((sum, { ms }) => sum + ms, 0),
  };
}
