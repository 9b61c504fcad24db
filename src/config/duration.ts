import { type Schema, shown } from "./schema.ts";

const form =
  /^(?=[0-9])(?:([0-9]{1,6})d)?(?:([0-9]{1,8})h)?(?:([0-9]{1,8})m)?(?:([0-9]{1,9}(?:\.[0-9]{1,3})?)s)?(?:([0-9]{1,12})ms)?$/;

export interface DurationOptions {
  /** The minimum in ms. */
  readonly min?: number;
  /** The maximum in ms. */
  readonly max?: number;
  /** Also accepts `off`, which means 0. */
  readonly off?: boolean;
}

/** A duration in ms, written as `10s`, `1m30s`, `500ms`, `24h`, or 0. */
export function duration({ min = 0, max = 2 ** 31 - 1, off = false }: DurationOptions = {}): Schema<number> {
  const expects = expectedDuration(min, max, off);
  return {
    expects,
    shapes: ["text", "number"],
    parse(value, context) {
      if (off && value === "off") return 0;
      const ms = value === 0 ? 0 : typeof value === "string" ? parseDuration(value) : undefined;
      if (ms !== undefined && ms >= min && ms <= max) return ms;
      const hint = typeof value === "number" && value > 0 ? `, add a unit: ${value}s` : "";
      context.report(`must be ${expects}: current value is ${shown(value)}${hint}`);
      return undefined;
    },
    json: () => ({
      anyOf: [
        { type: "string", pattern: form.source },
        ...(off ? [{ const: "off" }] : []),
        ...(min <= 0 ? [{ const: 0 }] : []),
      ],
    }),
    write: (value) => typeof value === "number" ? formatDuration(value) : value,
  };
}

function expectedDuration(min: number, max: number, off: boolean): string {
  const least = min > 0 ? ` of at least ${formatDuration(min)}` : "";
  const most = max < 2 ** 31 - 1 ? `${least ? " and" : " of"} at most ${formatDuration(max)}` : "";
  return `a duration${least}${most} such as 10s or 1m30s${off ? ', or "off"' : ""}`;
}

/** The milliseconds of a text such as `1m30s`; undefined for other text. */
export function parseDuration(text: string): number | undefined {
  const match = form.exec(text);
  if (!match) return undefined;
  const [, days = 0, hours = 0, minutes = 0, seconds = 0, ms = 0] = match;
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60_000 +
    Math.round(Number(seconds) * 1000) + Number(ms);
}

/** The shortest text for a duration in ms. */
export function formatDuration(ms: number): string {
  const units = [["h", 3_600_000], ["m", 60_000], ["s", 1000], ["ms", 1]] as const;
  let rest = Math.max(0, Math.round(ms));
  let text = "";
  for (const [unit, length] of units) {
    const count = Math.floor(rest / length);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * length;
  }
  return text === "" ? "0s" : text;
}
