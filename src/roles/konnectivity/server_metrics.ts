import type { Clock, Log, Metric } from "../../core/mod.ts";
import type { PosternError } from "../../words/mod.ts";
import type { Agents, AgentStrategy, PacketCount } from "../../konnectivity/mod.ts";
import { PacketCounts } from "./packet_counts.ts";
import { gauge, gauges, TunnelRecord } from "./tunnel_record.ts";

/** The prefix of a server's metric names, as in upstream. */
export const serverPrefix = "konnectivity_network_proxy_server_";

export interface ServerMetricsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly agents: Agents;
  readonly strategies: readonly AgentStrategy[];
  readonly mode: "grpc" | "http-connect";
  readonly more: () => Metric[];
}

/** The metrics of a server, under the names that dashboards for upstream's server use. */
export class ServerMetrics {
  readonly record: TunnelRecord;
  /** Counts the packets of agents' streams. */
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
      failures: { name: "dial_failure_count", help: "Failed dials by reason.", reasonOf },
      bounds,
      open: { name: "established_connections", help: "Open connections." },
      connect: (target, options) => agents.dial(target, options),
    });
  }

  /** Counts a new client stream. */
  clientStream(): PacketCount & Disposable {
    this.#clientStreams++;
    return {
      ...this.#clientPackets,
      failed: (error, packet) => {
        this.#clientPackets.failed(error, packet);
        // The target is connected, but the client has gone.
        if (packet?.type === "dialResponse" && packet.error === "") this.record.failed("send_rsp");
      },
      [Symbol.dispose]: () => void this.#clientStreams--,
    };
  }

  /** Counts an agent's response to a dial that no client waits for. */
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
      gauges(name("ready_backends"), "Connected agents by strategy.", {
        label: "proxy_strategy",
        values: backends,
      }),
      gauge(name("ready_backend_connections"), "Connections of agents.", agents.size),
      gauges(name("grpc_connections"), "Streams of clients and agents.", {
        label: "service_method",
        values: streams,
      }),
      gauges(name("full_receive_channels"), "Streams paused until a reader makes room.", {
        label: "service_method",
        values: { Proxy: this.#packets.full("from_client"), Connect: this.#packets.full("from_agent") },
      }),
      gauge(
        name("http_connections"),
        "Client connections that use HTTP CONNECT.",
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
