import type { Clock, Log, Metric } from "../../core/mod.ts";
import type { PosternError } from "../../words/mod.ts";
import type { Agents, AgentStrategy, PacketCount } from "../../konnectivity/mod.ts";
import { PacketCounts } from "./packet_counts.ts";
import { gauge, gauges, TunnelRecord } from "./tunnel_record.ts";

/** How the names of a server's metrics begin, as upstream's. */
export const serverPrefix = "konnectivity_network_proxy_server_";

export interface ServerMetricsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly agents: Agents;
  readonly strategies: readonly AgentStrategy[];
  readonly mode: "grpc" | "http-connect";
  /** What else there is to tell. */
  readonly more: () => Metric[];
}

/** What a server counts, under the names that dashboards of upstream's server know. */
export class ServerMetrics {
  readonly record: TunnelRecord;
  /** Of the streams of agents. */
  readonly agentPackets: PacketCount;
  readonly #options: ServerMetricsOptions;
  readonly #packets: PacketCounts;
  readonly #clientPackets: PacketCount;
  #clientStreams = 0;

  constructor(options: ServerMetricsOptions) {
    const { clock, log, agents } = options;
    this.#options = options;
    this.#packets = new PacketCounts(clock, serverPrefix);
    this.agentPackets = this.#packets.between("to_agent", "from_agent");
    this.#clientPackets = this.#packets.between("to_client", "from_client");
    this.record = new TunnelRecord({
      clock,
      log,
      prefix: serverPrefix,
      failures: { name: "dial_failure_count", help: "Dials that failed, by reason.", reasonOf },
      bounds,
      open: { name: "established_connections", help: "Connections that are open." },
      connect: (target, options) => agents.dial(target, options),
    });
  }

  /** A stream of a client begins. */
  clientStream(): PacketCount & Disposable {
    this.#clientStreams++;
    return {
      ...this.#clientPackets,
      failed: (error, packet) => {
        this.#clientPackets.failed(error, packet);
        // The target is there, and whoever asked for it has gone.
        if (packet?.type === "dialResponse" && packet.error === "") this.record.failed("send_rsp");
      },
      [Symbol.dispose]: () => void this.#clientStreams--,
    };
  }

  /** An agent answered a dial that nobody waits for. */
  stray(): void {
    this.record.failed("unrecognized_response");
  }

  all(): Metric[] {
    const { agents, strategies, mode, more } = this.#options;
    const { record } = this;
    const streams = { Proxy: this.#clientStreams, Connect: agents.size };
    const backends = Object.fromEntries(strategies.map((strategy) => [strategy, agents.count(strategy)]));
    const name = (end: string) => `${serverPrefix}${end}`;
    return [
      ...record.metrics(),
      ...this.#packets.metrics({ writes: true }),
      gauge(name("pending_backend_dials"), "Dials that wait for an agent.", record.pending),
      gauges(name("ready_backends"), "Agents that are connected, by who may be chosen.", {
        label: "proxy_strategy",
        values: backends,
      }),
      gauge(name("ready_backend_connections"), "Connections of agents.", agents.size),
      gauges(name("grpc_connections"), "Streams of clients and of agents.", {
        label: "service_method",
        values: streams,
      }),
      gauges(name("full_receive_channels"), "Streams that wait until a reader of theirs has made room.", {
        label: "service_method",
        values: { Proxy: this.#packets.full("from_client"), Connect: this.#packets.full("from_agent") },
      }),
      gauge(
        name("http_connections"),
        "Connections of clients of HTTP CONNECT.",
        mode === "http-connect" ? record.open + record.pending : 0,
      ),
      ...more(),
    ];
  }
}

function reasonOf(
  { detail }: PosternError,
  { isGivenUp }: { readonly isGivenUp: boolean },
): string {
  if (isGivenUp) return "frontend_close";
  if (detail === "no_agent") return "no_agent";
  if (detail === "silent_agent") return "backend_dial_timeout";
  return detail === "reset" ? "backend_close" : "error_response";
}

const bounds = [0.000001, 0.00001, 0.0001, 0.005, 0.025, 0.1, 0.5, 2.5, 12.5];
