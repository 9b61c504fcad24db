import assert from "node:assert/strict";
import type { Conn } from "../../../../src/core/mod.ts";
import {
  grpcAnswer,
  GrpcStream,
  Http2Connection,
  PacketAnswerer,
  PacketStream,
} from "../../../../src/sessions/mod.ts";
import { GrpcFrontend } from "../../../../src/transports/konnectivity/grpc_frontend.ts";
import type { FrontendReach } from "../../../../src/transports/konnectivity/reach_frontend.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { memoryAnswer } from "../../../support/packet_pair.ts";

const { signal } = new AbortController();

/** A server of somebody else, which knows no windows of single connections; `serve` is the target. */
function world(serve: (target: Conn, host: string) => Promise<void>) {
  const clock = new FakeClock();
  const connections: Http2Connection[] = [];
  const work: Promise<unknown>[] = [];
  const reach = {
    label: "the server",
    authority: "server",
    isSecure: true,
    texts: "first",
    certificates() {
      return Promise.resolve(this.texts);
    },
    connect() {
      const [near, far] = memoryPair();
      connections.push(
        new Http2Connection(far, {
          role: "server",
          clock,
          onRequest: (exchange) => {
            exchange.respond(grpcAnswer());
            const answerer = new PacketAnswerer(new PacketStream(new GrpcStream(exchange)), {
              clock,
              isShared: false,
              most: 10,
              onError: () => {},
              answer: memoryAnswer(serve, clock),
            });
            work.push(answerer.run({ signal }).then(() => exchange.end(), () => exchange.reset()));
          },
        }),
      );
      return Promise.resolve(near);
    },
  };
  const frontend = new GrpcFrontend(reach as Partial<FrontendReach> as FrontendReach, { clock });
  return {
    reach,
    frontend,
    async [Symbol.asyncDispose]() {
      await frontend[Symbol.asyncDispose]();
      for (const connection of connections) connection.abort();
      await Promise.all(work);
    },
  };
}

async function settle(isDone: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2000 && !isDone(); turn++) {
    await new Promise<void>((resolve) => setTimeout(resolve));
  }
  assert.ok(isDone());
}

const gush = async (target: Conn) => {
  while (true) await target.write(new Uint8Array(50_000));
};
const greet = async (target: Conn) => {
  await target.write(new Uint8Array(5));
  await target.closeWrite();
};

Deno.test("GrpcFrontend: connections that are not read keep no other waiting, whoever the server is", async () => {
  await using there = world((target, host) => host === "gush.test" ? gush(target) : greet(target));
  const stalled: Conn[] = [];
  for (let count = 0; count < 8; count++) {
    stalled.push(await there.frontend.dial({ host: "gush.test", port: 80 }, { signal }));
  }
  // All of them are as full as they get.
  for (let turn = 0; turn < 200; turn++) await new Promise<void>((resolve) => setTimeout(resolve));
  let read: number | null | undefined;
  const reading = (async () => {
    const conn = await there.frontend.dial({ host: "greet.test", port: 80 }, { signal });
    read = await conn.read(new Uint8Array(10));
    await conn[Symbol.asyncDispose]();
  })().catch(() => {});
  try {
    await settle(() => read === 5);
  } finally {
    for (const conn of stalled) conn.abort();
    await reading;
  }
});

Deno.test("GrpcFrontend closes what was opened with former certificates once nothing goes over it", async () => {
  await using there = world(async (target) => {
    await target.read(new Uint8Array(1));
    await target.closeWrite();
  });
  const first = await there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  there.reach.texts = "second";
  const second = await there.frontend.dial({ host: "a.test", port: 80 }, { signal });
  assert.deepEqual(there.frontend.counts, { sessions: 2, streams: 2 });
  await first.write(new Uint8Array(1));
  assert.equal(await first.read(new Uint8Array(1)), null);
  await first[Symbol.asyncDispose]();
  await settle(() => there.frontend.counts.sessions === 1);
  await second[Symbol.asyncDispose]();
});
