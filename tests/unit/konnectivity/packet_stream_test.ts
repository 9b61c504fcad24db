import assert from "node:assert/strict";
import type { GrpcStream } from "../../../src/mux/mod.ts";
import { PacketStream } from "../../../src/konnectivity/packet_stream.ts";

Deno.test("PacketStream.send() keeps the order of calls, even when a new call comes between two sends", async () => {
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
  // Called after the first send and before the second continues.
  first.promise.then(() => sent.push(end(3n)));
  first.resolve();
  await first.promise;
  for (let at = 0; at < sent.length; at++) await sent[at];
  assert.deepEqual(said, [1, 2, 3]);
});

Deno.test("PacketStream.send() continues with the next packet after a failure", async () => {
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
