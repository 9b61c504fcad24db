import assert from "node:assert/strict";
import type { Conn } from "../../src/core/mod.ts";
import { PosternError } from "../../src/words/mod.ts";
import { grpcRequest, type HeaderField, http2Codes } from "../../src/wire/mod.ts";
import { konnectivityAgentPath, konnectivityProxyPath } from "../../src/konnectivity/packets.ts";
import { HpackEncoder } from "../../src/wire/http2/hpack.ts";
import {
  clientPreface,
  frameFlags,
  http2FrameTypes,
  readU32,
  settingIds,
} from "../../src/wire/http2/http2_frames.ts";
import { Http2Output } from "../../src/wire/http2/http2_output.ts";
import { type FrameTaker, Http2Reader } from "../../src/wire/http2/http2_reader.ts";
import { frontends, KonnectivityLab, konnectivityPeers } from "../support/konnectivity_lab.ts";
import { konnectivityClient, OurAgent, OurServer } from "../support/konnectivity_programs.ts";
import { connectFront, secured } from "../support/konnectivity_raw.ts";
import { readAll } from "../support/memory_conn.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

const { signal } = new AbortController();
const [, bySocket] = frontends;
assert.ok(bySocket);

/** Frames of an attacker that follows no rules. */
interface Attack {
  readonly name: string;
  /** The bytes that repeat until the server closes the connection or `rounds` are done. */
  readonly rounds: number;
  readonly write: (frames: Frames, round: number) => void;
  /** The code with which the server closes the connection. */
  readonly code?: number;
  /** Whether the request is legal and only has to be cheap. */
  readonly isBorne?: true;
}

/** The attacker's request: a tunnel as a client, or a connection as an agent. */
interface Asking {
  readonly path: string;
  readonly metadata: readonly HeaderField[];
}

/** Those of one connection. */
class Frames extends Http2Output {
  readonly #encoder = new HpackEncoder();
  readonly #asking: Asking;

  constructor(asking: Asking) {
    super();
    this.#asking = asking;
  }

  request(
    stream: number,
    more: readonly HeaderField[] = [],
    flags: number = frameFlags.endHeaders,
    path: string = this.#asking.path,
  ): void {
    const { metadata } = this.#asking;
    const request = grpcRequest({ path, authority: "server", scheme: "http", metadata });
    this.frame(http2FrameTypes.headers, flags, stream, this.#encoder.encode([...request, ...more]));
  }
}

const attacks: readonly Attack[] = [
  {
    name: "rapid resets",
    code: http2Codes.enhanceYourCalm,
    rounds: 400,
    write: (frames, round) => {
      for (let at = 0; at < 100; at++) {
        const stream = (round * 100 + at) * 2 + 1;
        frames.request(stream);
        frames.numbers(http2FrameTypes.reset, 0, stream, [8]);
      }
    },
  },
  {
    name: "an endless list of fields",
    code: http2Codes.enhanceYourCalm,
    rounds: 400,
    write: (frames, round) => {
      if (round === 0) frames.request(1, [], 0);
      for (let at = 0; at < 100; at++) frames.frame(http2FrameTypes.continuation, 0, 1, new Uint8Array(100));
    },
  },
  {
    name: "empty continuations",
    code: http2Codes.enhanceYourCalm,
    rounds: 400,
    write: (frames, round) => {
      if (round === 0) frames.request(1, [], 0);
      for (let at = 0; at < 100; at++) frames.frame(http2FrameTypes.continuation, 0, 1, new Uint8Array(0));
    },
  },
  {
    name: "settings",
    code: http2Codes.enhanceYourCalm,
    rounds: 400,
    write: (frames) => {
      const payload = new Uint8Array(6);
      new DataView(payload.buffer).setUint16(0, settingIds.initialWindowSize);
      for (let at = 0; at < 100; at++) frames.frame(http2FrameTypes.settings, 0, 0, payload);
    },
  },
  {
    name: "pings",
    code: http2Codes.enhanceYourCalm,
    rounds: 400,
    write: (frames) => {
      for (let at = 0; at < 100; at++) frames.frame(http2FrameTypes.ping, 0, 0, new Uint8Array(8));
    },
  },
  {
    name: "empty data",
    code: http2Codes.enhanceYourCalm,
    rounds: 400,
    write: (frames, round) => {
      if (round === 0) frames.request(1);
      for (let at = 0; at < 100; at++) frames.frame(http2FrameTypes.data, 0, 1, new Uint8Array(0));
    },
  },
  {
    name: "an overflowing connection window",
    code: http2Codes.flowControlError,
    rounds: 3,
    write: (frames) => frames.numbers(http2FrameTypes.windowUpdate, 0, 0, [0x7fff_ffff]),
  },
  {
    name: "more data than the stream's window allows",
    rounds: 500,
    write: (frames, round) => {
      // No stream consumer reads the data.
      if (round === 0) frames.request(1, [], frameFlags.endHeaders, "/Nothing");
      frames.frame(http2FrameTypes.data, 0, 1, new Uint8Array(16_000));
    },
    isBorne: true,
  },
  {
    name: "fields that expand a thousandfold",
    rounds: 200,
    write: (frames, round) => {
      // One field of 4 kB enters the HPACK table; then single bytes refer to it ten thousand times.
      const block = new Uint8Array(14_000).fill(0x80 | 62);
      if (round === 0) frames.request(1, [["x-large", "v".repeat(3900)]]);
      frames.frame(http2FrameTypes.headers, frameFlags.endHeaders, round * 2 + 3, block);
    },
    isBorne: true,
  },
  {
    name: "bytes that are not HTTP/2",
    code: http2Codes.frameSizeError,
    rounds: 50,
    write: (frames) => frames.raw(new Uint8Array(10_000).fill(0x47)),
  },
];

/** The error code in the server's GOAWAY. */
async function attack(
  conn: Conn,
  asking: Asking,
  { rounds, write, isBorne }: Attack,
): Promise<number | undefined> {
  const frames = new Frames(asking);
  frames.raw(clientPreface);
  frames.frame(http2FrameTypes.settings, 0, 0, new Uint8Array(0));
  let hasEnded = false;
  let code: number | undefined;
  const farewells: FrameTaker = {
    head: () => {},
    piece: () => {},
    frame: ({ type }, payload) => {
      if (type === http2FrameTypes.goAway) code = readU32(payload, 4);
    },
  };
  const reader = new Http2Reader(farewells, { mostBytes: 16_384, expectsPreface: false });
  const reading = (async () => {
    const into = new Uint8Array(64 * 1024);
    for (let count; (count = await conn.read(into)) !== null;) reader.read(into.subarray(0, count));
  })().catch(() => {}).finally(() => hasEnded = true);
  try {
    for (let round = 0; round < rounds && !hasEnded; round++) {
      write(frames, round);
      await conn.write(frames.take());
    }
  } catch (error) {
    // The server has closed the connection.
    assert.ok(error instanceof PosternError, String(error));
  }
  if (!isBorne) await eventually("the server has closed the connection", () => hasEnded);
  conn.abort();
  await reading;
  return code;
}

interface Flooded extends Asking {
  readonly name: string;
  readonly connect: (lab: KonnectivityLab, server: OurServer) => Promise<Conn>;
  /** Whether the server's GOAWAY may get lost: over TCP, a reset overtakes unread data. */
  readonly mayBeLost: boolean;
}

const floodedFrontends: readonly Flooded[] = [
  {
    name: "the front",
    connect: (_lab, server) => connectFront(server),
    path: konnectivityProxyPath,
    metadata: [],
    mayBeLost: false,
  },
  {
    name: "the port for agents, with an agent's certificate,",
    connect: (lab, server) => secured(server.agents, { ca: lab.ca("agent"), ...lab.pair("agent", "client") }),
    path: konnectivityAgentPath,
    metadata: [["agentid", "attacker"]],
    mayBeLost: true,
  },
];

for (const { name, connect, mayBeLost, ...asking } of floodedFrontends) {
  peerTest(
    `floods, overflows and bombs at ${name} end only their own connection and use no memory`,
    konnectivityPeers,
    async (paths, context) => {
      await using lab = await KonnectivityLab.create(paths);
      const page = await lab.page();
      await using server = new OurServer(lab, bySocket);
      await using _agent = new OurAgent(lab, server);
      await eventually("an agent has joined", () => server.known.isReady);
      await using client = konnectivityClient(lab, bySocket, server.front);
      const dial = () => client.dial({ host: "127.0.0.1", port: page }, { signal });
      // Stays open during all attacks, and is used afterwards.
      await using held = await dial();
      const request = new TextEncoder().encode("GET /success HTTP/1.0\r\nHost: a\r\n\r\n");
      for (const each of attacks) {
        await context.step(each.name, async () => {
          const before = Deno.memoryUsage().rss;
          const code = await attack(await connect(lab, server), asking, each);
          if (code !== undefined || !mayBeLost) assert.equal(code, each.code);
          await eventually("the attacker is not an agent", () => server.known.size === 1);
          const grown = Deno.memoryUsage().rss - before;
          assert.ok(grown < 150e6, `${Math.round(grown / 1e6)} MB were taken`);
          await using conn = await dial();
          await conn.write(request);
          assert.match(new TextDecoder().decode(await readAll(conn)), /success test page/);
        });
      }
      await held.write(request);
      assert.match(new TextDecoder().decode(await readAll(held)), /success test page/);
    },
  );
}
