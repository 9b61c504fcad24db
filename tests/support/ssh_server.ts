import type { Duplex } from "node:stream";
import { type Clock, type Conn, duplex } from "../../src/core/mod.ts";
import { ServerChannel, type Ssh2Channel, type Ssh2KeyPair } from "../../src/demo/ssh2_server.ts";
import { SshSession } from "../../src/ssh/session/ssh_session.ts";
import { SshWriter } from "../../src/ssh/session/ssh_writer.ts";
import { FakeClock } from "./fake_clock.ts";
import { memoryPair } from "./memory_conn.ts";

/** The server's reaction to a channel request. */
export type OnChannel = (target: string) => "accept" | "ignore" | "refuse";

/** A channel that a server may request from a client. */
export type BackChannel = "forwarded" | "x11";

export interface MemorySshServerOptions {
  readonly onChannel?: OnChannel;
  /** The maximum number of channels; further ones get a resource shortage. */
  readonly channels?: number;
}

/** ssh2's server in memory. */
export class MemorySshServer implements AsyncDisposable {
  /** The host key, in the format of known_hosts. */
  readonly publicKey: string;
  /** The server's ends of channels, in order. */
  readonly far: Conn[] = [];
  /** The server's ends of connections. */
  readonly sessions: Conn[] = [];
  readonly #clients: Ssh2Client[] = [];
  readonly #server: Ssh2Server;

  private constructor(
    { Server, utils }: Ssh2,
    { onChannel = () => "accept", channels }: MemorySshServerOptions,
  ) {
    const key = hostKey(utils);
    this.publicKey = key.public.trim();
    this.#server = new Server({ hostKeys: [key.private] }, (client) => {
      this.#clients.push(client);
      client.on("authentication", (attempt) => attempt.accept());
      // The client closed, which some tests do deliberately.
      client.on("error", () => {});
      client.on("tcpip", (accept, reject, { destIP, destPort }) => {
        const answer = onChannel(`${destIP}:${destPort}`);
        if (answer === "accept") this.far.push(new ServerChannel(accept(), { peer: "ssh2" }));
        else if (answer === "refuse") reject();
      });
      if (channels !== undefined) limitChannels(client, channels);
    });
  }

  static async start(options: MemorySshServerOptions = {}): Promise<MemorySshServer> {
    const { default: library }: { default: Ssh2 } = await import("ssh2");
    return new MemorySshServer(library, options);
  }

  /** Connects to the server. */
  async connect(): Promise<Conn> {
    const [near, there] = memoryPair({ capacity: 256 * 1024 });
    await this.take(there);
    return near;
  }

  /** Serves a connected client. */
  async take(conn: Conn): Promise<void> {
    this.sessions.push(conn);
    this.#server.injectSocket(await duplex(conn));
  }

  /** Opens a channel to the client, as for `ssh -R` and `ssh -X`; returns the refusal. */
  openBack(kind: BackChannel): Promise<Error | undefined> {
    const client = this.#clients.at(-1);
    if (!client) throw new Error("no client is connected");
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    if (kind === "x11") client.x11("203.0.113.1", 4711, resolve);
    else client.forwardOut("127.0.0.1", 22, "203.0.113.1", 4711, resolve);
    return promise;
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const conn of this.sessions) conn.abort();
    return Promise.resolve();
  }
}

/** Limits channels through ssh2's internals, because ssh2 has no option. */
function limitChannels({ _chanMgr: channels }: Ssh2Client, most: number): void {
  const add = channels.add.bind(channels);
  channels.add = () => channels._count >= most ? -1 : add();
}

/** An ssh session with ssh2's server in memory. */
export class MemorySsh implements AsyncDisposable {
  readonly session: SshSession;
  readonly #server: MemorySshServer;

  private constructor(session: SshSession, server: MemorySshServer) {
    this.session = session;
    this.#server = server;
  }

  static async open(
    { clock = new FakeClock(), keepalive = 3000, deadAfter = 6000, ...options }: MemorySshServerOptions & {
      clock?: Clock;
      keepalive?: number;
      deadAfter?: number;
    } = {},
  ): Promise<MemorySsh> {
    const server = await MemorySshServer.start(options);
    const session = await SshSession.open(await server.connect(), {
      label: "ssh memory",
      clock,
      algorithms: { ciphers: [memoryCipher] },
      verifyHostKey: () => Promise.resolve(),
      signIn: async (link) => {
        const message = new SshWriter().byte(50).string("me").string("ssh-connection").string("none");
        await link.ask("none", message.bytes());
      },
      keepalive,
      deadAfter,
      signal: new AbortController().signal,
    });
    return new MemorySsh(session, server);
  }

  /** The server's ends of channels, in order. */
  get far(): readonly Conn[] {
    return this.#server.far;
  }

  /** Lets the server open a channel to us; returns the refusal. */
  openBack(kind: BackChannel): Promise<Error | undefined> {
    return this.#server.openBack(kind);
  }

  /** Drops the connection on the server's side. */
  drop(): void {
    for (const conn of this.#server.sessions) conn.abort(new Error("dropped"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.session[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
  }
}

/** The cipher for ssh2's server, whose chacha20 leaks system ciphers. */
export const memoryCipher = "aes128-gcm@openssh.com";

/** Generates a host key again if ssh2 cannot read it, which happens once in some hundred keys. */
function hostKey(utils: Ssh2Utils): Ssh2KeyPair {
  while (true) {
    const pair = utils.generateKeyPairSync("ed25519");
    if (!(utils.parseKey(pair.private) instanceof Error)) return pair;
  }
}

interface Ssh2Utils {
  generateKeyPairSync(type: string): Ssh2KeyPair;
  parseKey(text: string): unknown;
}

interface Ssh2Server {
  injectSocket(socket: Duplex): void;
}

interface Ssh2 {
  readonly Server: new (options: object, onClient: (client: Ssh2Client) => void) => Ssh2Server;
  readonly utils: Ssh2Utils;
}

type Opened = (error: Error | undefined) => void;

interface Ssh2Client {
  readonly _chanMgr: { readonly _count: number; add(): number };
  forwardOut(address: string, port: number, from: string, fromPort: number, done: Opened): void;
  x11(from: string, fromPort: number, done: Opened): void;
  on(event: "authentication", handle: (attempt: { accept(): void }) => void): void;
  on(event: "error", handle: () => void): void;
  on(
    event: "tcpip",
    handle: (
      accept: () => Ssh2Channel,
      reject: () => void,
      target: { destIP: string; destPort: number },
    ) => void,
  ): void;
}
