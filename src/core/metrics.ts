/** A number with labels; labels never contain host names. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface HistogramSample {
  readonly labels: Readonly<Record<string, string>>;
  /** Counts per bucket, not cumulative; the last one counts values above every bound. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** A metric of `/metrics`; `wire` formats it. */
export type Metric =
  | {
    readonly kind: "counter" | "gauge";
    readonly name: string;
    readonly help: string;
    readonly samples: readonly Sample[];
  }
  | {
    readonly kind: "histogram";
    readonly name: string;
    readonly help: string;
    readonly bounds: readonly number[];
    readonly samples: readonly HistogramSample[];
  };

/** A counter with a fixed list of label names. */
export class Counter {
  readonly #values = new Map<string, { labels: Record<string, string>; value: number }>();
  readonly name: string;
  readonly help: string;
  readonly #labels: readonly string[];

  constructor(name: string, help: string, labels: readonly string[] = []) {
    this.name = name;
    this.help = help;
    this.#labels = labels;
  }

  add(amount: number, ...values: readonly string[]): void {
    const key = values.length === 1 ? values[0] ?? "" : values.join("\0");
    const known = this.#values.get(key);
    if (known) known.value += amount;
    else this.#values.set(key, { labels: labelled(this.#labels, values), value: amount });
  }

  metric(): Metric {
    return { kind: "counter", name: this.name, help: this.help, samples: [...this.#values.values()] };
  }
}

/** A histogram with fixed bounds. */
export class Histogram {
  readonly #values = new Map<string, { labels: Record<string, string>; counts: number[]; sum: number }>();
  readonly name: string;
  readonly help: string;
  readonly bounds: readonly number[];
  readonly #labels: readonly string[];

  constructor(name: string, help: string, bounds: readonly number[], labels: readonly string[] = []) {
    this.name = name;
    this.help = help;
    this.bounds = bounds;
    this.#labels = labels;
  }

  observe(amount: number, ...values: readonly string[]): void {
    const key = values.length === 1 ? values[0] ?? "" : values.join("\0");
    let known = this.#values.get(key);
    if (!known) {
      known = { labels: labelled(this.#labels, values), counts: this.bounds.map(() => 0).concat(0), sum: 0 };
      this.#values.set(key, known);
    }
    let at = 0;
    while (at < this.bounds.length && amount > (this.bounds[at] ?? 0)) at++;
    known.counts[at] = (known.counts[at] ?? 0) + 1;
    known.sum += amount;
  }

  metric(): Metric {
    return {
      kind: "histogram",
      name: this.name,
      help: this.help,
      bounds: this.bounds,
      samples: [...this.#values.values()],
    };
  }
}

function labelled(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? ""]));
}
