import { accepting, type Listening, type World } from "../world/mod.ts";
import { type Conn, duplex, type Log, relay, Tasks } from "../core/mod.ts";
import { describe, formatTarget, type Target } from "../words/mod.ts";
import {
  loadSsh2Server,
  ServerChannel,
  type SignInAttempt,
  type Ssh2Channel,
  type Ssh2Client,
  type Ssh2KeyPair,
  type Ssh2Server,
} from "./ssh2_server.ts";

/** The demo's ssh configuration, in memory. */
export const sshConfigPath = "/demo/ssh/config";
const keyPath = "/demo/ssh/id_ed25519";
const knownHostsPath = "/demo/ssh/known_hosts";

export interface JumpHostOptions {
  readonly log: Log;
  /** Connects from the jump host, which resolves names of the private network. */
  readonly connect: (target: Target, options: { signal: AbortSignal }) => Promise<Conn>;
}

/** An ssh server on loopback that accepts one key and forwards connections. */
export class JumpHost implements AsyncDisposable {
  /** The ssh configuration and keys for it, like those in a user's `~/.ssh`. */
  readonly sshFiles: Readonly<Record<string, string>>;
  /** The targets that clients requested. */
  readonly asked: string[] = [];
  readonly #world: World;
  readonly #options: JumpHostOptions;
  readonly #ssh2: Ssh2Server;
  readonly #userKey: Ssh2KeyPair;
  readonly #tasks: Tasks;
  readonly #listening: Listening;

  private constructor(world: World, options: JumpHostOptions, ssh2: Ssh2Server) {
    this.#world = world;
    this.#options = options;
    this.#ssh2 = ssh2;
    this.#tasks = new Tasks(
      undefined,
      (error) => options.log.error("demo.failed", { reason: describe(error) }),
    );
    const hostKey = ssh2.makeKey();
    this.#userKey = ssh2.makeKey();
    this.#listening = world.network.listen({ host: "127.0.0.1", port: 0 });
    this.sshFiles = {
      [sshConfigPath]: sshConfig(this.port),
      [keyPath]: this.#userKey.private,
      [knownHostsPath]: `[127.0.0.1]:${this.port} ${hostKey.public}\n`,
    };
    // The chacha20 code of this server leaks cipher objects.
    const algorithms = { cipher: ["aes128-gcm@openssh.com", "aes128-ctr"] };
    const server = new ssh2.Server(
      { hostKeys: [hostKey.private], algorithms },
      (client) => this.#greet(client),
    );
    this.#tasks.spawn(async (signal) => {
      const { clock } = world;
      for await (const conn of accepting(this.#listening, { signal, clock, log: options.log })) {
        signal.addEventListener("abort", () => conn.abort(signal.reason), { once: true });
        server.injectSocket(await duplex(conn));
      }
    });
  }

  static async open(world: World, options: JumpHostOptions): Promise<JumpHost> {
    return new JumpHost(world, options, await loadSsh2Server());
  }

  get port(): number {
    const { endpoint } = this.#listening;
    return "port" in endpoint ? endpoint.port : 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening.close();
    await this.#tasks[Symbol.asyncDispose]();
  }

  #greet(client: Ssh2Client): void {
    client.on("authentication", (attempt) => this.#judge(attempt));
    // A client that leaves is not a failure of the demo.
    client.on("error", (error) => this.#options.log.debug("demo.ssh", { reason: describe(error) }));
    client.on("tcpip", (accept, reject, { destIP: host, destPort: port }) => {
      const target = { host, port };
      this.asked.push(formatTarget(target));
      this.#tasks.spawn((signal) => this.#carry(target, { accept, reject, signal }));
    });
  }

  #judge(attempt: SignInAttempt): void {
    const isIn = attempt.method === "publickey" && this.#ssh2.isSignedBy(this.#userKey, attempt);
    if (isIn) attempt.accept();
    else attempt.reject(["publickey"]);
  }

  async #carry(
    target: Target,
    { accept, reject, signal }: {
      readonly accept: () => Ssh2Channel;
      readonly reject: (reason: number) => void;
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    let conn: Conn;
    try {
      conn = await this.#options.connect(target, { signal });
    } catch (error) {
      signal.throwIfAborted();
      this.#options.log.debug("demo.ssh", { reason: describe(error) });
      return reject(connectFailed);
    }
    const channel = new ServerChannel(accept(), { peer: "ssh" });
    const { clock } = this.#world;
    await relay(channel, conn, { signal, clock, tally: { up: 0, down: 0 }, halfCloseLinger: 5000 });
  }
}

/** The reason for a refused channel (RFC 4254, section 5.1). */
const connectFailed = 2;

function sshConfig(port: number): string {
  return `Host jump
  HostName 127.0.0.1
  Port ${port}
  User demo
  IdentityFile ${keyPath}
  IdentitiesOnly yes
  UserKnownHostsFile ${knownHostsPath}
  GlobalKnownHostsFile none
  StrictHostKeyChecking yes
`;
}
