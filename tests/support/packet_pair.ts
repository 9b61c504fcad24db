import { type Conn, relay } from "../../src/core/mod.ts";
import { PosternError } from "../../src/words/mod.ts";
import { type Answer, PacketAnswerer } from "../../src/konnectivity/packet_answerer.ts";
import { grpcAnswer, GrpcStream, Http2Connection, type Http2Exchange } from "../../src/mux/mod.ts";
import { PacketDialer } from "../../src/konnectivity/packet_dialer.ts";
import { PacketStream, posternMark } from "../../src/konnectivity/packet_stream.ts";
import { grpcRequest } from "../../src/wire/mod.ts";
import { FakeClock } from "./fake_clock.ts";
import { memoryPair } from "./memory_conn.ts";

export interface PacketPairOptions {
  /** Whether both sides support windows and half-closes. */
  readonly isPostern: boolean;
  readonly isShared?: boolean;
  readonly answer: Answer;
  /** Whether the test sends the dialer's packets itself through `stream`. */
  readonly isRaw?: boolean;
}

export interface PacketPair extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly exchange: Http2Exchange;
  /** The dialer's stream. */
  readonly stream: PacketStream;
  readonly dialer: PacketDialer;
  readonly answerer: PacketAnswerer;
  /** The errors of the answering side. */
  readonly errors: readonly unknown[];
  /** The number of drain messages of the answering side. */
  readonly drains: number;
}

/** Creates both sides of one packet stream with HTTP/2 in memory. */
export async function packetPair(
  { isPostern, isShared = true, answer, isRaw = false }: PacketPairOptions,
): Promise<PacketPair> {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const [near, far] = memoryPair();
  const metadata = isPostern ? [posternMark] : [];
  const errors: unknown[] = [];
  const arrived = Promise.withResolvers<PacketAnswerer>();
  let answering: Promise<void> = Promise.resolve();
  const server = new Http2Connection(far, {
    role: "server",
    clock,
    onRequest: (exchange) => {
      exchange.respond(grpcAnswer(metadata));
      const stream = new PacketStream(new GrpcStream(exchange));
      const answerer = new PacketAnswerer(stream, {
        clock,
        answer,
        isShared,
        most: 100,
        onError: (error) => errors.push(error),
      });
      answering = answerer.run({ signal }).catch((error) => void errors.push(error));
      arrived.resolve(answerer);
    },
  });
  const client = new Http2Connection(near, { role: "client", clock });
  const exchange = await client.request(
    grpcRequest({ path: "/p", authority: "a", scheme: "http", metadata }),
    {
      signal,
    },
  );
  await exchange.answer;
  let drains = 0;
  const stream = new PacketStream(new GrpcStream(exchange));
  const dialer = new PacketDialer(stream, {
    clock,
    isShared,
    onDrain: () => drains++,
  });
  const dialing = isRaw ? undefined : dialer.run();
  return {
    clock,
    exchange,
    stream,
    dialer,
    errors,
    answerer: await arrived.promise,
    get drains() {
      return drains;
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await Promise.all([dialing, answering]);
    },
  };
}

/** Answers every dial with one end of a memory connection; the other end is for `serve`. */
export function memoryAnswer(serve: (target: Conn, host: string) => Promise<void>, clock: FakeClock): Answer {
  return ({ host }) => {
    if (host === "refused.test") {
      return Promise.reject(new PosternError("refused", "Cannot reach refused.test:80: it refused"));
    }
    const [ours, theirs] = memoryPair();
    const served = serve(theirs, host).catch(() => {});
    return Promise.resolve(async (asker) => {
      const tally = { up: 0, down: 0 };
      await relay(asker, ours, { clock, tally, halfCloseLinger: 1000 });
      await served;
    });
  };
}
