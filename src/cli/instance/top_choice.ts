import type { ConnectionInfo, EndedConnection } from "../../control/mod.ts";
import type { LiveConnection, TopState } from "./top_state.ts";

/** A row of the table: a live or an ended connection. */
export type Shown = LiveConnection | EndedConnection;

/** The sort keys, in the order in which the key `s` selects them. */
export const sortKeys = ["age", "down now", "up now", "down", "up", "target", "path"] as const;
export type SortKey = typeof sortKeys[number];

/** A user's request that the caller of the table must handle. */
export type TopAction = { readonly kind: "quit" | "interrupt" } | {
  readonly kind: "close";
  readonly id: number;
};

/** The sort order, filter and selected row that the user has chosen. */
export class TopChoice {
  sort: SortKey = "age";
  isReversed = false;
  showsEnded = false;
  filter = "";
  /** While the user types a filter, keys are letters instead of commands. */
  isTyping = false;
  /** The connection to close, while the user is being asked to confirm. */
  closing: ConnectionInfo | undefined;
  /** The result of the last action. */
  said = "";
  #chosen: number | undefined;
  #at = 0;
  /** The number of rows on the last drawn page. */
  page = 10;

  /** The rows that pass the filter, sorted. */
  rows(state: TopState): readonly Shown[] {
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const all: readonly Shown[] = this.showsEnded ? state.ended : [...state.live.values()];
    const kept = all.filter((one) => words.every((word) => textOf(one).includes(word)));
    return kept.sort((a, b) => (this.isReversed ? -1 : 1) * compare(a, b, this.sort) || b.id - a.id);
  }

  /** The index of the selected row; the selection follows its connection. */
  place(rows: readonly Shown[]): number {
    const found = rows.findIndex(({ id }) => id === this.#chosen);
    this.#at = Math.max(0, Math.min(found >= 0 ? found : this.#at, rows.length - 1));
    return this.#at;
  }

  /** Handles keys as a terminal sends them; returns a request for the caller. */
  take(keys: string, state: TopState): TopAction | undefined {
    for (const key of keysOf(keys)) {
      const action = key === "\x03" ? { kind: "interrupt" as const } : this.#takeOne(key, state);
      if (action) return action;
    }
    return undefined;
  }

  #takeOne(key: string, state: TopState): TopAction | undefined {
    if (this.closing) return this.#answer(key, this.closing.id);
    if (this.isTyping) return void this.#type(key);
    this.said = "";
    const rows = this.rows(state);
    switch (key) {
      case "q":
        return { kind: "quit" };
      case "/":
        return void (this.isTyping = true);
      case "\x1b":
        return void (this.filter = "");
      case "s":
        this.isReversed = false;
        this.sort = sortKeys[(sortKeys.indexOf(this.sort) + 1) % sortKeys.length] ?? "age";
        return undefined;
      case "r":
        return void (this.isReversed = !this.isReversed);
      case "e":
        return void (this.showsEnded = !this.showsEnded);
      case "x":
      case "\x1b[3~":
        return void (this.closing = this.showsEnded ? undefined : rows[this.place(rows)]);
    }
    const move = moves[key] ?? (key === "\x1b[6~" ? this.page : key === "\x1b[5~" ? -this.page : 0);
    if (move !== 0) this.#move(move, rows);
    return undefined;
  }

  #answer(key: string, id: number): TopAction | undefined {
    this.closing = undefined;
    return key === "y" || key === "Y" ? { kind: "close", id } : undefined;
  }

  #type(key: string): void {
    if (key === "\r" || key === "\n") this.isTyping = false;
    else if (key === "\x1b") {
      this.isTyping = false;
      this.filter = "";
    } else if (key === "\x7f" || key === "\b") this.filter = [...this.filter].slice(0, -1).join("");
    else if (key === "\x15") this.filter = "";
    else if (!/\p{Cc}/u.test(key) && this.filter.length < 200) this.filter += key;
  }

  #move(by: number, rows: readonly Shown[]): void {
    const place = Math.max(0, Math.min(rows.length - 1, this.place(rows) + by));
    this.#at = place;
    this.#chosen = rows[place]?.id;
  }
}

const moves: Readonly<Record<string, number>> = {
  j: 1,
  k: -1,
  "\x1b[B": 1,
  "\x1b[A": -1,
  "\x1bOB": 1,
  "\x1bOA": -1,
  "\x1b[H": -Infinity,
  "\x1b[F": Infinity,
  "\x1b[1~": -Infinity,
  "\x1b[4~": Infinity,
};

/** Splits terminal input into keys; an escape sequence is one key (ECMA-48, section 5.4). */
function keysOf(text: string): string[] {
  // deno-lint-ignore no-control-regex
  return text.match(/\x1b\[[0-9;]*[@-~]|\x1bO[@-~]|[^]/gu) ?? [];
}

function compare(a: Shown, b: Shown, key: SortKey): number {
  switch (key) {
    case "age":
      return order(b.startedAt, a.startedAt);
    case "target":
      return order(a.target, b.target);
    case "path":
      return order(a.transport, b.transport);
    case "down now":
      return rateOf(b).down - rateOf(a).down;
    case "up now":
      return rateOf(b).up - rateOf(a).up;
    case "down":
    case "up":
      return b[key] - a[key];
  }
}

/** The rates of a connection; 0 for an ended one. */
export function rateOf(one: Shown): { readonly up: number; readonly down: number } {
  return "upRate" in one ? { up: one.upRate, down: one.downRate } : { up: 0, down: 0 };
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function textOf(one: Shown): string {
  const { id, target, transport, because, client, user = "", protocol, forward = "" } = one;
  const end = "outcome" in one ? `${one.outcome} ${one.reason ?? ""}` : "";
  return `#${id} ${target} ${transport} ${because} ${client} ${user} ${protocol} ${forward} ${end}`
    .toLowerCase();
}
