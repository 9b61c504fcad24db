import assert from "node:assert/strict";
import type { GrpcStream } from "../../../src/mux/mod.ts";
import { PacketStream } from "../../../src/konnectivity/packet_stream.ts";

Deno.test("PacketStream.send() keeps the order in which it was asked, also at a change of turns", async () => {
  const first = Promise.withResolvers<void>();
  const said: number[] = [];
  const grpc = {
    send: (head: Uint8Array) => {
      said.push(head.at(-1) ?? NaN);
      return said.length === 1 ? first.promise : Promise.resolve();
    },
  };
  const stream = new PacketStream(grpc as unknown as GrpcStream);
  const end = (connectId: bigint) => stream.send({ type: "end", connectId });
  const sent = [end(1n), end(2n)];
  // Told after the first is through and before the second goes on.
  first.promise.then(() => sent.push(end(3n)));
  first.resolve();
  await first.promise;
  for (let at = 0; at < sent.length; at++) await sent[at];
  assert.deepEqual(said, [1, 2, 3]);
});

Deno.test("PacketStream.send() goes on with the next after one that failed", async () => {
  const said: number[] = [];
  const grpc = {
    send: (head: Uint8Array) => {
      said.push(head.at(-1) ?? NaN);
      return said.length === 1 ? Promise.reject(new Error("too large")) : Promise.resolve();
    },
  };
  const stream = new PacketStream(grpc as unknown as GrpcStream);
  const sent = [1n, 2n, 3n].map((connectId) => stream.send({ type: "end", connectId }));
  await assert.rejects(async () => await sent[0], /too large/);
  await Promise.all(sent.slice(1));
  assert.deepEqual(said, [1, 2, 3]);
});
