import { Counter, Histogram, type Metric } from "../core/mod.ts";

const seconds = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600, 3600];

/** The metrics of an instance. Labels are names from the configuration and fixed words, never host names. */
export class InstanceMetrics {
  readonly connections = new Counter("postern_connections_total", "Connections that have ended.", [
    "transport",
    "outcome",
  ]);
  readonly durations = new Histogram(
    "postern_connection_seconds",
    "Duration of connections in seconds.",
    seconds,
    [
      "transport",
    ],
  );
  readonly dials = new Histogram("postern_dial_seconds", "Time to reach the target in seconds.", seconds, [
    "transport",
  ]);
  readonly reloads = new Counter("postern_reloads_total", "Reloads of the configuration.", ["outcome"]);
  readonly #moved = new Map<string, { up: number; down: number }>();

  /** Adds the bytes of an ended connection. */
  moved(transport: string, { up, down }: { up: number; down: number }): void {
    const sum = this.#moved.get(transport);
    if (!sum) this.#moved.set(transport, { up, down });
    else {
      sum.up += up;
      sum.down += down;
    }
  }

  /** All metrics, including the bytes of open connections. */
  collect(open: Iterable<OpenConnection>, residentBytes: number): Metric[] {
    const bytes = new Map([...this.#moved].map(([name, sum]) => [name, { ...sum }]));
    // A transport that carried bytes stays listed: its count of open connections returns to 0.
    const counts = new Map([...bytes.keys()].map((name) => [name, 0]));
    for (const { transport, tally } of open) {
      const sum = bytes.get(transport) ?? { up: 0, down: 0 };
      bytes.set(transport, { up: sum.up + tally.up, down: sum.down + tally.down });
      counts.set(transport, (counts.get(transport) ?? 0) + 1);
    }
    return [
      this.connections.metric(),
      this.durations.metric(),
      this.dials.metric(),
      this.reloads.metric(),
      {
        kind: "counter",
        name: "postern_bytes_total",
        help: "Bytes moved, up to the target and down from it.",
        samples: [...bytes].flatMap(([transport, { up, down }]) => [
          { labels: { transport, direction: "up" }, value: up },
          { labels: { transport, direction: "down" }, value: down },
        ]),
      },
      {
        kind: "gauge",
        name: "postern_open_connections",
        help: "Connections open now.",
        samples: [...counts].map(([transport, value]) => ({ labels: { transport }, value })),
      },
      {
        kind: "gauge",
        name: "process_resident_memory_bytes",
        help: "Resident memory of this process.",
        samples: [{ labels: {}, value: residentBytes }],
      },
    ];
  }

  /** Bytes of ended connections. */
  get total(): { up: number; down: number } {
    const total = { up: 0, down: 0 };
    for (const { up, down } of this.#moved.values()) {
      total.up += up;
      total.down += down;
    }
    return total;
  }
}

export interface OpenConnection {
  readonly transport: string;
  readonly tally: { readonly up: number; readonly down: number };
}
