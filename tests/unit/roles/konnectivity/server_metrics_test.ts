import assert from "node:assert/strict";
import { ServerMetrics } from "../../../../src/roles/konnectivity/server_metrics.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { Agents } from "../../../../src/konnectivity/server/agents.ts";
import { grpcAnswer, GrpcStream, Http2Connection } from "../../../../src/mux/mod.ts";
import { PacketAnswerer } from "../../../../src/konnectivity/packet_answerer.ts";
import { PacketStream } from "../../../../src/konnectivity/packet_stream.ts";
import { grpcRequest } from "../../../../src/wire/mod.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { memoryAnswer } from "../../../support/packet_pair.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const { signal } = new AbortController();
const target = { host: "a.test", port: 80 };

function world() {
  const clock = new FakeClock();
  const log = recordingLog();
  const strategies = ["default"] as const;
  const agents = new Agents({ clock, strategies, dialTimeout: 1000, random: () => 0 });
  const metrics = new ServerMetrics({ clock, log, agents, strategies, mode: "grpc", more: () => [] });
  /** The samples of a metric by label value. */
  const shown = (end: string) => {
    const metric = metrics.all().find(({ name }) => name === `konnectivity_network_proxy_server_${end}`);
    assert.ok(metric && metric.kind !== "histogram");
    return Object.fromEntries(metric.samples.map(({ labels, value }) => [Object.values(labels)[0], value]));
  };
  return { clock, metrics, shown };
}

Deno.test("ServerMetrics counts a dial without an agent", async () => {
  const { metrics, shown } = world();
  await assert.rejects(metrics.record.dial({ target, client: "c", protocol: "konnectivity" }, { signal }));
  assert.deepEqual(shown("dial_failure_count"), { no_agent: 1 });
});

Deno.test("ServerMetrics counts an unsent response only if its dial succeeded", () => {
  const { metrics, shown } = world();
  using stream = metrics.clientStream();
  const gone = new PosternError("unreachable", "gone");
  const answer = { type: "dialResponse", connectId: 1n, random: 1n } as const;
  stream.failed(gone, { ...answer, error: "refused" });
  stream.failed(gone, { type: "closeResponse", connectId: 1n, error: "" });
  stream.failed(gone);
  assert.deepEqual(shown("dial_failure_count"), {});
  stream.failed(gone, { ...answer, error: "" });
  assert.deepEqual(shown("dial_failure_count"), { send_rsp: 1 });
});

Deno.test("ServerMetrics reports a client's stream as full while its target does not read", async () => {
  const { clock, metrics, shown } = world();
  const [near, far] = memoryPair();
  const read = Promise.withResolvers<void>();
  let served: Promise<void> = Promise.resolve();
  const server = new Http2Connection(far, {
    role: "server",
    clock,
    onRequest: (exchange) => {
      exchange.respond(grpcAnswer());
      const stream = new PacketStream(new GrpcStream(exchange), metrics.clientStream());
      const answer = memoryAnswer(async (target) => {
        await read.promise;
        while (await target.read(new Uint8Array(64 * 1024)) !== null);
      }, clock);
      const answerer = new PacketAnswerer(stream, {
        clock,
        answer,
        isShared: false,
        most: 1,
        onError: () => {},
      });
      served = answerer.run({ signal }).catch(() => {});
    },
  });
  const client = new Http2Connection(near, { role: "client", clock });
  const fields = grpcRequest({ path: "/p", authority: "a", scheme: "http", metadata: [] });
  const exchange = await client.request(fields, { signal });
  const stream = new PacketStream(new GrpcStream(exchange));
  await stream.send({ type: "dialRequest", protocol: "tcp", address: "a.test:80", random: 1n });
  await stream.receive();
  const full = async (count: number) => {
    for (let turn = 0; turn < 1000 && shown("full_receive_channels")["Proxy"] !== count; turn++) {
      await new Promise<void>((resolve) => setTimeout(resolve));
    }
    assert.deepEqual(shown("full_receive_channels"), { Proxy: count, Connect: 0 });
  };
  await full(0);
  const data = new Uint8Array(60_000);
  for (let at = 0; at < 10; at++) await stream.send({ type: "data", connectId: 1n, error: "", data });
  await full(1);
  read.resolve();
  await full(0);
  client.abort();
  server.abort();
  await served;
});
