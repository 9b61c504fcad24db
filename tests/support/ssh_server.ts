import type { Duplex } from "node:stream";
import { type Clock, type Conn, duplex, DuplexConn, type DuplexConnOptions } from "../../src/core/mod.ts";
import { SshSession } from "../../src/transports/ssh/ssh_session.ts";
import { SshWriter } from "../../src/transports/ssh/ssh_writer.ts";
import { FakeClock } from "./fake_clock.ts";
import { memoryPair } from "./memory_conn.ts";

/** What the server does with a channel that is asked for. */
export type OnChannel = (target: string) => "accept" | "ignore" | "refuse";

/** An ssh session with ssh2's server in memory at the other end. */
export class MemorySsh implements AsyncDisposable {
  readonly session: SshSession;
  /** The server's ends of channels that were opened, in order. */
  readonly far: readonly Conn[];
  readonly #server: Conn;

  private constructor(session: SshSession, { server, far }: { server: Conn; far: readonly Conn[] }) {
    this.session = session;
    this.#server = server;
    this.far = far;
  }

  static async open(
    { clock = new FakeClock(), onChannel = () => "accept", keepalive = 3000, deadAfter = 6000 }: {
      clock?: Clock;
      onChannel?: OnChannel;
      keepalive?: number;
      deadAfter?: number;
    } = {},
  ): Promise<MemorySsh> {
    const { default: { Server, utils } }: { default: Ssh2 } = await import("ssh2");
    const [near, there] = memoryPair({ capacity: 256 * 1024 });
    const far: Conn[] = [];
    const server = new Server({ hostKeys: [hostKey(utils)] }, (client) => {
      client.on("authentication", (attempt) => attempt.accept());
      // The other side went away: some tests are about that.
      client.on("error", () => {});
      client.on("tcpip", (accept, reject, { destIP, destPort }) => {
        const answer = onChannel(`${destIP}:${destPort}`);
        if (answer === "accept") far.push(new FarChannel(accept(), { peer: "ssh2" }));
        else if (answer === "refuse") reject();
      });
    });
    server.injectSocket(await duplex(there));
    const session = await SshSession.open(near, {
      label: "ssh memory",
      clock,
      // ssh2's chacha20, at the server, would leave ciphers behind.
      algorithms: { ciphers: ["aes128-gcm@openssh.com"] },
      verifyHostKey: () => Promise.resolve(),
      signIn: async (link) => {
        const message = new SshWriter().byte(50).string("me").string("ssh-connection").string("none");
        await link.ask("none", message.bytes());
      },
      keepalive,
      deadAfter,
      signal: new AbortController().signal,
    });
    return new MemorySsh(session, { server: there, far });
  }

  /** Drops the connection at the server's side. */
  drop(): void {
    this.#server.abort(new Error("dropped"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.session[Symbol.asyncDispose]();
    this.#server.abort();
  }
}

/** ssh2's channels say "close" only to who has read them to the end, and an `end` of the server's closes both sides. */
class FarChannel extends DuplexConn {
  readonly #channel: Ssh2Channel;

  constructor(channel: Ssh2Channel, options: DuplexConnOptions) {
    super(channel, options);
    this.#channel = channel;
  }

  override closeWrite(): Promise<void> {
    this.#channel.eof();
    return Promise.resolve();
  }

  override [Symbol.asyncDispose](): Promise<void> {
    this.abort();
    return Promise.resolve();
  }
}

/** One of some hundred keys that ssh2 makes is one that it cannot read. */
function hostKey(utils: Ssh2Utils): string {
  while (true) {
    const key = utils.generateKeyPairSync("ed25519").private;
    if (!(utils.parseKey(key) instanceof Error)) return key;
  }
}

interface Ssh2Utils {
  generateKeyPairSync(type: string): { private: string };
  parseKey(text: string): unknown;
}

interface Ssh2 {
  readonly Server: new (options: object, onClient: (client: Ssh2Client) => void) => {
    injectSocket(socket: Duplex): void;
  };
  readonly utils: Ssh2Utils;
}

interface Ssh2Channel extends Duplex {
  eof(): void;
}

interface Ssh2Client {
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
