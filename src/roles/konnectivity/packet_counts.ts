import { asPosternError } from "../../words/mod.ts";
import { type Clock, Counter, Histogram, type Metric } from "../../core/mod.ts";
import type { PacketCount } from "../../konnectivity/mod.ts";

/** The source or destination of packets, by upstream's names. */
export type Segment = "from_client" | "to_client" | "from_agent" | "to_agent";

/** Counts packets and errors of streams under upstream's metric names. */
export class PacketCounts {
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #errors: Counter;
  readonly #writes: Histogram;
  /** Plain numbers, because every packet updates one of them. */
  readonly #full = new Map<Segment, number>();
  readonly #packets = new Map<string, { readonly labels: Record<string, string>; value: number }>();

  constructor(clock: Clock, prefix: string) {
    this.#clock = clock;
    this.#prefix = prefix;
    const labels = ["segment", "code", "packet_type"];
    this.#errors = new Counter(
      `${prefix}stream_errors_total`,
      "Stream errors by gRPC code.",
      labels,
    );
    const about = "How long packets waited until the client's stream accepted them, in seconds.";
    this.#writes = new Histogram(`${prefix}frontend_write_duration_seconds`, about, bounds);
  }

  /** A counter for one kind of stream. */
  between(sent: Segment, received: Segment): PacketCount {
    const failed = (segment: Segment, error: unknown, type: string) =>
      this.#errors.add(1, segment, codeOf(error), type);
    return {
      sending: () => this.#clock.now(),
      sent: (type, since) => {
        this.#add(sent, type);
        if (sent === "to_client") this.#writes.observe((this.#clock.now() - since) / 1000);
      },
      received: (type) => this.#add(received, type),
      failed: (error, packet) =>
        packet === undefined ? failed(received, error, "Unknown") : failed(sent, error, nameOf(packet.type)),
      full: (isFull) => this.#full.set(received, (this.#full.get(received) ?? 0) + (isFull ? 1 : -1)),
    };
  }

  /** The number of streams paused until a reader makes room. */
  full(received: Segment): number {
    return this.#full.get(received) ?? 0;
  }

  /** `writes` adds the write durations of clients. */
  metrics({ writes = false } = {}): Metric[] {
    return [
      {
        kind: "counter",
        name: `${this.#prefix}stream_packets_total`,
        help: "Packets by source or destination, and by type.",
        samples: [...this.#packets.values()],
      },
      this.#errors.metric(),
      ...writes ? [this.#writes.metric()] : [],
    ];
  }

  #add(segment: Segment, type: string): void {
    const key = segment + type;
    const known = this.#packets.get(key);
    if (known) known.value++;
    else this.#packets.set(key, { labels: { segment, packet_type: nameOf(type) }, value: 1 });
  }
}

/** Upstream's packet name; postern's own packet types have similar names. */
function nameOf(type: string): string {
  return names.get(type) ?? type.toUpperCase();
}

const names = new Map([
  ["dialRequest", "DIAL_REQ"],
  ["dialResponse", "DIAL_RSP"],
  ["closeRequest", "CLOSE_REQ"],
  ["closeResponse", "CLOSE_RSP"],
  ["closeDial", "DIAL_CLS"],
]);

/** The gRPC code of an error, as Go names it. */
function codeOf(error: unknown): string {
  const { code, detail } = asPosternError(error);
  if (detail === "too_large") return "ResourceExhausted";
  return {
    unreachable: "Unavailable",
    timeout: "DeadlineExceeded",
    cancelled: "Canceled",
    protocol: "Internal",
  }[
    code as string
  ] ?? "Unknown";
}

const bounds = [0.000001, 0.00001, 0.0001, 0.005, 0.025, 0.1, 0.5, 2.5, 12.5];
