import type { Duplex } from "node:stream";
import { type Clock, type Conn, duplex } from "../../src/core/mod.ts";
import { ServerChannel, type Ssh2Channel, type Ssh2KeyPair } from "../../src/demo/ssh2_server.ts";
import { SshSession } from "../../src/ssh/session/ssh_session.ts";
import { SshWriter } from "../../src/ssh/session/ssh_writer.ts";
import { FakeClock } from "./fake_clock.ts";
import { memoryPair } from "./memory_conn.ts";

/** What the server does with a channel that is asked for. */
export type OnChannel = (target: string) => "accept" | "ignore" | "refuse";

/** What a server may ask a client for. */
export type BackChannel = "forwarded" | "x11";

export interface MemorySshServerOptions {
  readonly onChannel?: OnChannel;
  /** How many channels a session takes; another one is refused for want of room. */
  readonly channels?: number;
}

/** ssh2's server in memory. */
export class MemorySshServer implements AsyncDisposable {
  /** Of its host key, as known_hosts has it behind the host. */
  readonly publicKey: string;
  /** Its ends of channels that were opened, in order. */
  readonly far: Conn[] = [];
  /** Its ends of the connections to it. */
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
      // The other side went away: some tests are about that.
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

  /** A connection to it. */
  async connect(): Promise<Conn> {
    const [near, there] = memoryPair({ capacity: 256 * 1024 });
    await this.take(there);
    return near;
  }

  /** Serves a client that has connected. */
  async take(conn: Conn): Promise<void> {
    this.sessions.push(conn);
    this.#server.injectSocket(await duplex(conn));
  }

  /** Opens a channel to the client, as servers do for `ssh -R` and `ssh -X`; gives the refusal. */
  openBack(kind: BackChannel): Promise<Error | undefined> {
    const client = this.#clients.at(-1);
    if (!client) throw new Error("nobody is connected");
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

/** ssh2 has no setting for it. */
function limitChannels({ _chanMgr: channels }: Ssh2Client, most: number): void {
  const add = channels.add.bind(channels);
  channels.add = () => channels._count >= most ? -1 : add();
}

/** An ssh session with ssh2's server in memory at the other end. */
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

  /** The server's ends of channels that were opened, in order. */
  get far(): readonly Conn[] {
    return this.#server.far;
  }

  /** The server opens a channel to us; gives the refusal. */
  openBack(kind: BackChannel): Promise<Error | undefined> {
    return this.#server.openBack(kind);
  }

  /** Drops the connection at the server's side. */
  drop(): void {
    for (const conn of this.#server.sessions) conn.abort(new Error("dropped"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.session[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
  }
}

/** What to speak with ssh2's server: its chacha20 would leave ciphers behind. */
export const memoryCipher = "aes128-gcm@openssh.com";

/** One of some hundred keys that ssh2 makes is one that it cannot read. */
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
