import { startServer } from "./kube_processes.ts";
import { eventually, PeerServer, runPeer } from "./peer_program.ts";
import type { PeerPaths } from "./peers.ts";
import { testTls } from "./tls_files.ts";

/** The peers of a PostgreSQL server. */
export const postgresPeers = ["postgres", "sh"] as const;

/** The peers of a MariaDB server. */
export const mariadbPeers = ["mariadbd", "mariadb_install_db"] as const;

/** A real database server on loopback with the user `app`, whose data is gone when it is disposed. */
export class DatabaseServer implements AsyncDisposable {
  readonly #server: PeerServer;
  readonly #directory: string;
  readonly #stop: Deno.Signal;

  private constructor(server: PeerServer, directory: string, stop: Deno.Signal) {
    this.#server = server;
    this.#directory = directory;
    this.#stop = stop;
  }

  /** PostgreSQL with the database `shop`, TLS by `testTls`, and no unix socket. */
  static async postgres({ postgres, sh }: PeerPaths<typeof postgresPeers[number]>): Promise<DatabaseServer> {
    const directory = await Deno.makeTempDir({ prefix: "postgres" });
    return await begun(directory, async () => {
      const under = await notRoot(sh, directory);
      const data = `${directory}/data`;
      const run = async (program: string, args: readonly string[], stdin = "") => {
        const path = postgres.replace(/postgres$/, program);
        const { code, stderr, stdout } = await runPeer(path, args, { under, stdin, cwd: directory });
        if (code !== 0) throw new Error(`${program}: ${stderr}${stdout}`);
      };
      await run("initdb", [
        ...["--pgdata", data, "--username", "app", "--auth", "trust"],
        ...["--encoding", "UTF8", "--locale", "C", "--no-sync"],
      ]);
      // In single-user mode, so that the server need not run for it.
      await run("postgres", ["--single", "-D", data, "postgres"], "CREATE DATABASE shop;\n");
      for (const [name, text] of [["server.crt", testTls.server.cert], ["server.key", testTls.server.key]]) {
        await Deno.writeTextFile(`${data}/${name}`, text ?? "", { mode: 0o600 });
        if (under.length > 0) await Deno.chown(`${data}/${name}`, other, other);
      }
      const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "ssl=on", "fsync=off"];
      const server = await startServer(postgres, (port) => [
        ...["-D", data, "-p", `${port}`],
        ...settings.flatMap((setting) => ["-c", setting]),
      ], { under, cwd: directory });
      // SIGTERM would wait for the last client.
      return new DatabaseServer(server, directory, "SIGINT");
    });
  }

  /** MariaDB with the database `shop`. Its server sends the first byte of a connection. */
  static async mariadb(
    { mariadbd, mariadb_install_db }: PeerPaths<typeof mariadbPeers[number]>,
  ): Promise<DatabaseServer> {
    const directory = await Deno.makeTempDir({ prefix: "mariadb" });
    return await begun(directory, async () => {
      const user = Deno.uid() === 0 ? ["--user=root"] : [];
      const usual = ["--no-defaults", `--datadir=${directory}/data`, ...user];
      const { code, stderr } = await runPeer(mariadb_install_db, [
        ...[...usual, "--auth-root-authentication-method=normal", "--skip-test-db"],
      ], { cwd: directory });
      if (code !== 0) throw new Error(`mariadb-install-db: ${stderr}`);
      const first = `${directory}/first.sql`;
      const statements = [
        "CREATE DATABASE shop",
        "CREATE USER app@'127.0.0.1' IDENTIFIED BY 'secret'",
        "GRANT ALL ON shop.* TO app@'127.0.0.1'",
      ];
      // The server reads one statement a line.
      await Deno.writeTextFile(first, statements.map((text) => `${text};\n`).join(""));
      const server = await startServer(mariadbd, (port) => [
        ...[...usual, "--bind-address=127.0.0.1", `--port=${port}`, `--init-file=${first}`],
        ...[`--socket=${directory}/socket`, `--pid-file=${directory}/pid`],
        ...["--innodb-log-file-size=4M", "--innodb-flush-log-at-trx-commit=0", "--skip-name-resolve"],
      ]);
      return new DatabaseServer(server, directory, "SIGTERM");
    });
  }

  get address(): string {
    return this.#server.address;
  }

  get port(): number {
    return this.#server.port;
  }

  /** Stops the server in its own way first: a killed one would leave shared memory. */
  async [Symbol.asyncDispose](): Promise<void> {
    let hasEnded = false;
    this.#server.ended.then(() => hasEnded = true);
    try {
      this.#server.kill(this.#stop);
      await eventually("the database has stopped", () => hasEnded);
    } finally {
      await this.#server[Symbol.asyncDispose]();
      await Deno.remove(this.#directory, { recursive: true });
    }
  }
}

/** A user of this machine other than root, in no group. */
const other = 65_534;

/** A command prefix for a program that refuses to run as root; gives it the directory. */
async function notRoot(sh: string, directory: string): Promise<readonly string[]> {
  if (Deno.uid() !== 0) return [];
  const parent = directory.slice(0, directory.lastIndexOf("/"));
  const { mode } = await Deno.stat(parent);
  // That user only passes through the directory of all tests.
  await Deno.chmod(parent, (mode ?? 0) & 0o7777 | 0o011);
  await Deno.chown(directory, other, other);
  const drop = `exec setpriv --reuid=${other} --regid=${other} --clear-groups "$@"`;
  return [sh, "-c", drop, "sh"];
}

/** Removes the directory if the server does not start. */
async function begun(directory: string, start: () => Promise<DatabaseServer>): Promise<DatabaseServer> {
  try {
    return await start();
  } catch (error) {
    await Deno.remove(directory, { recursive: true });
    throw error;
  }
}
