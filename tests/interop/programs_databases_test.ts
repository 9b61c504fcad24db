import assert from "node:assert/strict";
import { DatabaseServer, mariadbPeers, postgresPeers } from "../support/databases.ts";
import { farSide } from "../support/far_side.ts";
import { startServer } from "../support/kube_processes.ts";
import { eventually, freePort, type PeerOptions, runPeer } from "../support/peer_program.ts";
import { inNamespace } from "../support/namespaces.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { underHosts } from "../support/sshd.ts";

// Clients of databases that know no proxy, through forwards to names that only the upstream proxy resolves.

/** An instance with a TCP forward and a unix-socket forward to the same target. */
class Forwards implements AsyncDisposable {
  readonly home: Household;
  readonly instance: Instance;
  readonly port: number;
  /** The directory of the socket. */
  readonly directory: string;
  readonly #started: AsyncDisposableStack;

  private constructor(
    parts: { home: Household; instance: Instance; port: number; directory: string },
    started: AsyncDisposableStack,
  ) {
    this.home = parts.home;
    this.instance = parts.instance;
    this.port = parts.port;
    this.directory = parts.directory;
    this.#started = started;
  }

  static async open(target: string, address: string, socket: string): Promise<Forwards> {
    await using started = new AsyncDisposableStack();
    const home = started.use(await Household.open());
    const far = started.use(farSide({ [target]: address }));
    const port = freePort();
    const directory = `${home.directory}/db`;
    await Deno.mkdir(directory, { mode: 0o700 });
    await home.configure(`
transports: { far: { proxy: { url: "socks5h://${far.address}" } } }
routes: [{ to: [shop.example, apps.example.net], via: far }]
`);
    const instance = started.use(
      await home.instance([
        ...["-L", `${port}:${target}`, "-L", `${directory}/${socket}:${target}`],
      ]),
    );
    return new Forwards({ home, instance, port, directory }, started.move());
  }

  /** Runs a client; fails if it fails. */
  async run(program: string, args: readonly string[], options: PeerOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await runPeer(program, args, {
      ...options,
      env: { HOME: this.home.directory, ...options.env },
    });
    assert.equal(code, 0, `${program}: ${stderr}${stdout}\n${this.instance.stderr}`);
    return stdout;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#started.disposeAsync();
  }
}

const authority = new URL("../support/tls/ca.crt", import.meta.url).pathname;

peerTest(
  "psql and pgbench reach PostgreSQL through a forward",
  [...postgresPeers, "psql", "pgbench"],
  async (peers, t) => {
    await using postgres = await DatabaseServer.postgres(peers);
    await using forwards = await Forwards.open("db.apps.example.net:5432", postgres.address, ".s.PGSQL.5432");
    const { port, directory } = forwards;
    const account = ["-U", "app", "-d", "shop"];
    const tcp = ["-h", "127.0.0.1", "-p", `${port}`, ...account];
    const psql = (...args: readonly string[]) => forwards.run(peers.psql, ["-XAt", ...args]);

    await t.step("psql on a loopback port", async () => {
      assert.equal(await psql(...tcp, "-c", "SELECT 42"), "42\n");
    });
    await t.step("psql on a unix socket", async () => {
      assert.equal(await psql("-h", directory, ...account, "-c", "SELECT 42"), "42\n");
    });
    const verified = (host: string) =>
      `host=${host} hostaddr=127.0.0.1 port=${port} user=app dbname=shop ` +
      `sslmode=verify-full sslrootcert=${authority}`;
    await t.step("sslmode=verify-full checks the certificate's name, not the forward's", async () => {
      const query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
      assert.equal(await psql(verified("db.apps.example.net"), "-c", query), "t\n");
      const { code, stderr } = await runPeer(peers.psql, [verified("db.shop.example"), "-c", query]);
      assert.equal(code, 2);
      assert.match(stderr, /does not match host name "db\.shop\.example"/);
    });
    await t.step("COPY of 8 MB in both directions", async () => {
      const rows = Array.from({ length: 200_000 }, (_, at) => `${at}\t${"x".repeat(32)}\n`).join("");
      const file = `${forwards.home.directory}/rows`;
      await Deno.writeTextFile(file, rows);
      assert.equal(
        await psql(...tcp, "-c", "CREATE TABLE t (n int, s text)", "-c", `\\copy t FROM ${file}`),
        "CREATE TABLE\nCOPY 200000\n",
      );
      assert.ok(await psql(...tcp, "-c", "COPY (SELECT * FROM t ORDER BY n) TO STDOUT") === rows);
    });
    await t.step("Ctrl-C cancels the query over a second connection", async () => {
      const child = new Deno.Command(peers.psql, {
        args: ["-X", ...tcp, "-c", "SELECT pg_sleep(60) -- cancelled"],
        stdin: "null",
        stdout: "null",
        stderr: "piped",
      }).spawn();
      const ended = child.output();
      const count = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(60) --%'";
      await eventually("the query runs", async () => await psql(...tcp, "-c", count) === "1\n");
      child.kill("SIGINT");
      const { code, stderr } = await ended;
      assert.equal(code, 1);
      assert.match(new TextDecoder().decode(stderr), /canceling statement due to user request/);
    });
    await t.step("pgbench with 8 clients", async () => {
      await forwards.run(peers.pgbench, [...tcp.slice(0, -2), "-i", "-q", "shop"]);
      const said = await forwards.run(peers.pgbench, [
        ...[...tcp.slice(0, -2), "-n", "-c", "8", "-j", "2", "-t", "50", "shop"],
      ]);
      assert.match(said, /^number of transactions actually processed: 400\/400$/m);
      assert.match(said, /^number of failed transactions: 0 /m);
    });
    assert.match(
      forwards.instance.stderr,
      /conn\.done .*protocol=forward target=db\.apps\.example\.net:5432 /,
    );
  },
);

const byName =
  "psql connects to the name and port of a server with dns.loopback, and verifies its certificate";
const mounts = inNamespace("--mount");
if (Deno.build.os !== "linux") skippedTest(byName, "only on linux");
else if ("missing" in mounts) skippedTest(byName, mounts.missing);
else {
  peerTest(byName, [...postgresPeers, "psql"], async (peers) => {
    await using postgres = await DatabaseServer.postgres(peers);
    const { port, address } = postgres;
    const names = ["db.apps.example.net", "orders.apps.example.net"];
    await using far = farSide(Object.fromEntries(names.map((name) => [`${name}:${port}`, address])));
    await using home = await Household.open();
    await home.configure(`
transports: { far: { proxy: { url: "socks5h://${far.address}" } } }
routes: [{ to: apps.example.net, via: far }]
dns: { loopback: 127.72.0.0/16, ports: [${port}] }
`);
    await using instance = await home.instance();
    const { code, stdout, stderr } = await home.run(["hosts", ...names]);
    assert.equal(code, 0, stderr);
    const rows = [...stdout.matchAll(/^(127\.72\.\S+) (\S+)/gm)].map(([, at = "", name = ""]) => [name, at]);
    assert.deepEqual(rows.map(([name]) => name), names, stdout);
    const under = await underHosts(`${home.directory}/hosts`, Object.fromEntries(rows));
    for (const name of names) {
      const psql = await runPeer(peers.psql, [
        ...["-XAt", "-c", "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"],
        `host=${name} port=${port} user=app dbname=shop sslmode=verify-full sslrootcert=${authority}`,
      ], { under, env: { HOME: home.directory } });
      assert.deepEqual([psql.code, psql.stdout], [0, "t\n"], `${psql.stderr}${instance.stderr}`);
      const line = new RegExp(`conn\\.done .*target=${name}:${port} transport=far `);
      await eventually(`${name} is logged`, () => line.test(instance.stderr));
    }
  });
}

peerTest(
  "a JDBC shell reaches PostgreSQL through a forward, and by its name through SOCKS",
  [...postgresPeers, "java", "postgresql_jdbc", "sqlline"],
  async (peers) => {
    await using postgres = await DatabaseServer.postgres(peers);
    await using forwards = await Forwards.open("db.shop.example:5432", postgres.address, ".s.PGSQL.5432");
    const [host, port] = (await forwards.instance.address()).split(":");
    const socks = { JAVA_TOOL_OPTIONS: `-DsocksProxyHost=${host} -DsocksProxyPort=${port}` };
    for (
      const [url, env] of [[`127.0.0.1:${forwards.port}/shop`, {}], ["db.shop.example/shop", socks]] as const
    ) {
      const { code, stdout, stderr } = await runPeer(peers.sqlline, [
        ...["-u", `jdbc:postgresql://${url}`, "-n", "app", "-p", "any", "-d", "org.postgresql.Driver"],
      ], { stdin: "SELECT 40 + 2;\n!quit\n", env: { HOME: forwards.home.directory, ...env } });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^\| 42 +\|$/m, `${url}: ${stderr}${forwards.instance.stderr}`);
    }
    for (const protocol of ["forward", "socks5"]) {
      const line = new RegExp(`conn\\.done .*protocol=${protocol} target=db\\.shop\\.example:5432 `);
      await eventually(`${protocol} is logged`, () => line.test(forwards.instance.stderr));
    }
  },
);

peerTest(
  "the client of MariaDB, whose server speaks first, works through a forward",
  [...mariadbPeers, "mariadb"],
  async (peers) => {
    await using mariadb = await DatabaseServer.mariadb(peers);
    await using forwards = await Forwards.open("db.shop.example:3306", mariadb.address, "mysqld.sock");
    const env = { MYSQL_PWD: "secret" };
    const usual = ["--no-defaults", "-u", "app", "-BN"];
    const query = async (where: readonly string[], text: string) =>
      await forwards.run(peers.mariadb, [...usual, ...where, "-e", text, "shop"], { env });
    const tcp = ["-h", "127.0.0.1", "-P", `${forwards.port}`];
    assert.equal(await query(tcp, "SELECT 42"), "42\n");
    assert.equal(await query(["-S", `${forwards.directory}/mysqld.sock`], "SELECT DATABASE()"), "shop\n");
    const long = await query([...tcp, "--max-allowed-packet=16M"], "SELECT REPEAT('x', 4000000)");
    assert.ok(long === `${"x".repeat(4_000_000)}\n`, `${long.length} characters`);
  },
);

peerTest(
  "redis-cli and redis-benchmark work through a forward",
  ["redis_server", "redis_cli", "redis_benchmark"],
  async (peers) => {
    await using directory = await temporary();
    await using redis = await startServer(peers.redis_server, (port) => [
      ...["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--dir", directory.path],
    ]);
    await using forwards = await Forwards.open("cache.shop.example:6379", redis.address, "redis.sock");
    const socket = `${forwards.directory}/redis.sock`;
    assert.equal(await forwards.run(peers.redis_cli, ["-s", socket, "SET", "color", "blue"]), "OK\n");
    for (const where of [["-p", `${forwards.port}`], ["-s", socket]]) {
      await forwards.run(peers.redis_cli, [...where, "CONFIG", "RESETSTAT"]);
      await forwards.run(peers.redis_benchmark, [...where, "-q", "-t", "set,get", "-n", "5000", "-c", "50"]);
      const stats = await forwards.run(peers.redis_cli, [...where, "INFO", "commandstats"]);
      assert.match(stats, /^cmdstat_set:calls=5000,.*failed_calls=0/m);
      assert.match(stats, /^cmdstat_get:calls=5000,.*failed_calls=0/m);
    }
  },
);

async function temporary(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.makeTempDir();
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
