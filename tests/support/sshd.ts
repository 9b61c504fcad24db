import type { SshHost } from "../../src/ssh/mod.ts";
import { inNamespace, type Under } from "./namespaces.ts";
import { eventually, freePort, runPeer } from "./peer_program.ts";
import type { PeerPaths } from "./peers.ts";
import { sshHost } from "./ssh_host.ts";

/** What a lab of ssh servers is made with. */
export const sshPeers = ["sshd", "ssh_keygen", "sh"] as const;

export type HostKeyType = "ed25519" | "ecdsa" | "rsa";

export interface SshdOptions {
  /** Further lines of its configuration; they come first, and the first value wins. */
  readonly config?: readonly string[];
  readonly hostKeys?: readonly HostKeyType[];
  /** Names and addresses of its own /etc/hosts, which nobody else has; where `inNamespace("--mount")` works. */
  readonly hosts?: Readonly<Record<string, string>>;
  /** What it runs under otherwise. */
  readonly under?: Under;
}

/** Real ssh servers on loopback with their own host keys, a user key that all accept, and a private known_hosts. */
export class SshLab implements AsyncDisposable {
  readonly directory: string;
  /** The user's key, unencrypted. */
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
    // As root, sshd wants a place for what it does without privileges.
    const { stdout } = await runPeer(paths.sh, ["-c", `[ "$(id -u)" != 0 ] || mkdir -p /run/sshd; id -un`]);
    const lab = new SshLab(directory, stdout.trim(), paths);
    await lab.makeKey("user_ed25519");
    await lab.accept("user_ed25519");
    await Deno.writeTextFile(lab.knownHosts, "");
    return lab;
  }

  /** Makes a key pair; its path. */
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

  /** Lets every server take a key from now on. */
  async accept(name: string): Promise<void> {
    const line = await Deno.readTextFile(`${this.directory}/${name}.pub`);
    await Deno.writeTextFile(`${this.directory}/authorized_keys`, line, { append: true });
  }

  /** Starts a server; its keys are known under `[127.0.0.1]:PORT`. */
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

  /** Ends a server with all that it serves, and starts it again where it was, `pause` ms later. */
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

  /** The settings that lead to a server; the unlikely ones as OpenSSH has them by default. */
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

/** What a server is started with, once its files are written. */
export interface SshdStart {
  readonly name: string;
  readonly port: number;
  readonly file: string;
  readonly keys: readonly string[];
  readonly under: Under;
  readonly paths: PeerPaths<typeof sshPeers[number]>;
}

/** One real ssh server, from the moment it takes connections. */
export class Sshd implements AsyncDisposable {
  readonly name: string;
  readonly port: number;
  /** Its private host keys, in the order of the types asked for. */
  readonly keys: readonly string[];
  /** What it was started with. */
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

  /** What it has said so far. */
  get log(): string {
    return this.#log;
  }

  /** How many have signed in. */
  get signIns(): number {
    return this.#log.match(/^Accepted /gm)?.length ?? 0;
  }

  /** Waits until it has said that exactly so many have signed in: it may say so after it has let them in. */
  async untilSignIns(count: number): Promise<void> {
    await eventually(`${this.name} has let in ${count}`, () => this.signIns >= count);
    if (this.signIns > count) throw new Error(`${this.name} has let in ${this.signIns}, not ${count}`);
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

  /** How many processes serve connections. */
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
      // Whoever stands still starts nobody, who would be left when the others are gone.
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

/** A way to run a program with an /etc/hosts of its own; the file is written to `path`. */
export async function underHosts(path: string, hosts: Readonly<Record<string, string>>): Promise<Under> {
  const namespace = inNamespace("--mount");
  if ("missing" in namespace) throw new Error(namespace.missing);
  const lines = Object.entries({ localhost: "127.0.0.1", ...hosts }).map(([name, at]) => `${at} ${name}\n`);
  await Deno.writeTextFile(path, lines.join(""));
  return namespace.wrap(`mount --bind ${path} /etc/hosts`);
}

/** Sets `all` to the processes below $1, without reading more than the shell can. */
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
