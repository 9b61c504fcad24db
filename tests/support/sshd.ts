import type { SshHost } from "../../src/ssh/mod.ts";
import { inNamespace, type Under } from "./namespaces.ts";
import { eventually, freePort, runPeer } from "./peer_program.ts";
import type { PeerPaths } from "./peers.ts";
import { sshHost } from "./ssh_host.ts";

/** The required peers. */
export const sshPeers = ["sshd", "ssh_keygen", "sh"] as const;

export type HostKeyType = "ed25519" | "ecdsa" | "rsa";

export interface SshdOptions {
  /** Additional lines at the start of its configuration, where the first value wins. */
  readonly config?: readonly string[];
  readonly hostKeys?: readonly HostKeyType[];
  /** The entries of its private /etc/hosts; requires `inNamespace("--mount")`. */
  readonly hosts?: Readonly<Record<string, string>>;
  /** Another command prefix. */
  readonly under?: Under;
}

/** Real ssh servers on loopback with separate host keys, a common user key, and a private known_hosts. */
export class SshLab implements AsyncDisposable {
  readonly directory: string;
  /** The path of the user's unencrypted key. */
  readonly key: string;
  readonly knownHosts: string;
  readonly user: string;
  readonly #paths: PeerPaths<typeof sshPeers[number]>;
  readonly #servers: Sshd[] = [];

  private constructor(directory: string, user: string, paths: PeerPaths<typeof sshPeers[number]>) {
    this.directory = directory;
    this.user = user;
    this.key = `${directory}/user_ed25519`;
    this.knownHosts = `${directory}/known_hosts`;
    this.#paths = paths;
  }

  static async create(paths: PeerPaths<typeof sshPeers[number]>): Promise<SshLab> {
    const directory = await Deno.makeTempDir({ prefix: "sshlab" });
    // As root, sshd needs a directory for privilege separation.
    const { stdout } = await runPeer(paths.sh, ["-c", `[ "$(id -u)" != 0 ] || mkdir -p /run/sshd; id -un`]);
    const lab = new SshLab(directory, stdout.trim(), paths);
    await lab.makeKey("user_ed25519");
    await lab.accept("user_ed25519");
    await Deno.writeTextFile(lab.knownHosts, "");
    return lab;
  }

  /** Generates a key pair and returns its path. */
  async makeKey(
    name: string,
    { type = "ed25519", passphrase = "", more = [] }: {
      type?: HostKeyType;
      passphrase?: string;
      more?: readonly string[];
    } = {},
  ): Promise<string> {
    const path = `${this.directory}/${name}`;
    const bits = type === "rsa" ? ["-b", "2048"] : [];
    const args = ["-q", "-t", type, ...bits, ...more, "-N", passphrase, "-C", name, "-f", path];
    const { code, stderr } = await runPeer(this.#paths.ssh_keygen, args);
    if (code !== 0) throw new Error(`ssh-keygen: ${stderr}`);
    return path;
  }

  /** Runs ssh-keygen. */
  async keygen(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await runPeer(this.#paths.ssh_keygen, args);
    if (code !== 0) throw new Error(`ssh-keygen: ${stderr}`);
    return stdout;
  }

  /** Makes every server accept a key. */
  async accept(name: string): Promise<void> {
    const line = await Deno.readTextFile(`${this.directory}/${name}.pub`);
    await Deno.writeTextFile(`${this.directory}/authorized_keys`, line, { append: true });
  }

  /** Starts a server and adds its keys to known_hosts as `[127.0.0.1]:PORT`. */
  async start(
    name: string,
    { config = [], hostKeys = ["ed25519"], hosts, under: given = [] }: SshdOptions = {},
  ): Promise<Sshd> {
    const keys: string[] = [];
    for (const type of hostKeys) keys.push(await this.makeKey(`${name}_${type}`, { type }));
    const port = freePort();
    const lines = [
      ...config,
      `Port ${port}`,
      "ListenAddress 127.0.0.1",
      ...keys.map((key) => `HostKey ${key}`),
      `AuthorizedKeysFile ${this.directory}/authorized_keys`,
      "PidFile none",
      "UsePAM no",
      "StrictModes no",
      "PermitRootLogin yes",
      "MaxStartups 1000",
      "UseDNS no",
    ];
    const file = `${this.directory}/${name}.conf`;
    await Deno.writeTextFile(file, `${lines.join("\n")}\n`);
    for (const key of keys) await this.know(`[127.0.0.1]:${port}`, `${key}.pub`);
    const under = hosts ? await underHosts(`${this.directory}/${name}.hosts`, hosts) : given;
    const server = await Sshd.start({ name, port, file, keys, under, paths: this.#paths });
    this.#servers.push(server);
    return server;
  }

  /** Stops a server with its sessions and restarts it on the same port after `pause` ms. */
  async restart(server: Sshd, { pause = 0 }: { readonly pause?: number } = {}): Promise<Sshd> {
    await server[Symbol.asyncDispose]();
    await new Promise((resolve) => setTimeout(resolve, pause));
    const again = await Sshd.start(server.how);
    this.#servers[this.#servers.indexOf(server)] = again;
    return again;
  }

  /** Adds a line to known_hosts. */
  async know(host: string, publicKey: string): Promise<void> {
    const [type, blob] = (await Deno.readTextFile(publicKey)).split(" ");
    await Deno.writeTextFile(this.knownHosts, `${host} ${type} ${blob}\n`, { append: true });
  }

  /** Returns the settings for a server, with OpenSSH's defaults for rare options. */
  host(server: Pick<Sshd, "name" | "port">, more: Partial<SshHost> = {}): SshHost {
    return sshHost(server.name, {
      port: server.port,
      user: this.user,
      identityFiles: [this.key],
      userKnownHostsFiles: [this.knownHosts],
      ...more,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server[Symbol.asyncDispose]();
    await Deno.remove(this.directory, { recursive: true });
  }
}

/** The start parameters of a server whose files exist. */
export interface SshdStart {
  readonly name: string;
  readonly port: number;
  readonly file: string;
  readonly keys: readonly string[];
  readonly under: Under;
  readonly paths: PeerPaths<typeof sshPeers[number]>;
}

/** A real ssh server that accepts connections. */
export class Sshd implements AsyncDisposable {
  readonly name: string;
  readonly port: number;
  /** Its private host keys, in the order of the requested types. */
  readonly keys: readonly string[];
  /** The start parameters. */
  readonly how: SshdStart;
  readonly #child: Deno.ChildProcess;
  readonly #sh: string;
  readonly #said: Promise<void>;
  #log = "";
  #hasEnded = false;

  private constructor(child: Deno.ChildProcess, how: SshdStart) {
    this.#child = child;
    this.how = how;
    this.#sh = how.paths.sh;
    this.name = how.name;
    this.port = how.port;
    this.keys = how.keys;
    this.#said = this.#listen();
    child.status.then(() => this.#hasEnded = true);
  }

  static async start(how: SshdStart): Promise<Sshd> {
    const { name, file, under, paths } = how;
    const [program = paths.sshd, ...args] = [...under, paths.sshd, "-D", "-e", "-f", file];
    const child = new Deno.Command(program, {
      args,
      clearEnv: true,
      env: { PATH: Deno.env.get("PATH") ?? "" },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const server = new Sshd(child, how);
    await eventually(`sshd ${name} listens`, () => {
      if (server.#hasEnded) throw new Error(`sshd ended: ${server.#log}`);
      return server.#log.includes("Server listening");
    });
    return server;
  }

  /** The log so far. */
  get log(): string {
    return this.#log;
  }

  /** The number of sign-ins. */
  get signIns(): number {
    return this.#log.match(/^Accepted /gm)?.length ?? 0;
  }

  /** Waits until the log has exactly `count` sign-ins, because sshd may log them late. */
  async untilSignIns(count: number): Promise<void> {
    await eventually(`${this.name} has ${count} sign-ins`, () => this.signIns >= count);
    if (this.signIns > count) throw new Error(`${this.name} has ${this.signIns} sign-ins, not ${count}`);
  }

  /** Sends a signal to every process that serves a connection. */
  async signalSessions(signal: "KILL" | "STOP" | "CONT" | "TERM"): Promise<void> {
    await runPeer(this.#sh, [
      "-c",
      `${descendants}; kill -${signal} $all 2>/dev/null; true`,
      "sh",
      String(this.#child.pid),
    ]);
  }

  /** Counts the processes that serve connections. */
  async sessions(): Promise<number> {
    const { stdout } = await runPeer(this.#sh, [
      "-c",
      `${descendants}; echo $all`,
      "sh",
      String(this.#child.pid),
    ]);
    return stdout.split(/\s+/).filter((pid) => pid !== "").length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) {
      // Stop them first: a running process could start another one, which would survive.
      this.#child.kill("SIGSTOP");
      await this.signalSessions("STOP");
      await this.signalSessions("KILL");
      this.#child.kill("SIGKILL");
    }
    await this.#child.status;
    await this.#said;
  }

  async #listen(): Promise<void> {
    for await (const text of this.#child.stderr.pipeThrough(new TextDecoderStream())) this.#log += text;
  }
}

/** Returns a command prefix that runs a program with a private /etc/hosts, written to `path`. */
export async function underHosts(path: string, hosts: Readonly<Record<string, string>>): Promise<Under> {
  const namespace = inNamespace("--mount");
  if ("missing" in namespace) throw new Error(namespace.missing);
  const lines = Object.entries({ localhost: "127.0.0.1", ...hosts }).map(([name, at]) => `${at} ${name}\n`);
  await Deno.writeTextFile(path, lines.join(""));
  return namespace.wrap(`mount --bind ${path} /etc/hosts`);
}

/** A shell script that sets `all` to the descendants of $1. */
const descendants = `all=; next=$1
while [ -n "$next" ]; do
  found=
  for stat in /proc/[0-9]*/stat; do
    read -r line <"$stat" 2>/dev/null || continue
    pid=\${line%% *}; rest=\${line##*) }; rest=\${rest#* }; parent=\${rest%% *}
    case " $next " in *" $parent "*) found="$found $pid";; esac
  done
  all="$all $found"; next=$found
done`;
