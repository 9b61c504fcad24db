import type { Status } from "../../control/mod.ts";
import { counted, formatAge, formatBytes } from "../../core/mod.ts";
import type { Paint } from "../output/paint.ts";
import { printable } from "../output/printable.ts";
import { type Column, table } from "../output/table.ts";
import { rateOf, type Shown, type TopChoice } from "./top_choice.ts";
import type { TopState } from "./top_state.ts";

export interface TopSize {
  readonly columns: number;
  readonly rows: number;
}

type TransportRow = Status["transports"][number];

/** The full screen: exactly as many lines as the screen has, each cut to its width. */
export function topScreen(
  state: TopState,
  choice: TopChoice,
  { columns, rows }: TopSize,
  paint: Paint,
): string[] {
  const { status } = state;
  if (!status) return fitted([{ text: "Waiting for the instance …" }], { columns, rows }, paint);
  const head = headLines(state, status, columns, paint);
  const room = Math.max(3, rows - head.length - 4);
  const transports = transportLines(state, status, paint).slice(0, 1 + Math.max(1, Math.floor(room / 3)));
  const shown = choice.rows(state);
  const place = choice.place(shown);
  const height = Math.max(1, rows - head.length - transports.length - 4);
  choice.page = Math.max(1, height - 1);
  const first = Math.max(0, Math.min(place - Math.floor(height / 2), shown.length - height));
  const [heading = "", ...lines] = lined(
    shown.slice(first, first + height),
    connectionColumns(state, choice.showsEnded),
  );
  const body = lines.map((text, at): Line => {
    const isChosen = first + at === place;
    return { text: `${isChosen ? ">" : " "} ${text}`, paint: isChosen ? paint.inverse : undefined };
  });
  if (body.length === 0) body.push({ text: `  ${emptyText(choice)}`, paint: paint.dim });
  const table: Line[] = [{ text: `  ${heading}`, paint: paint.dim }, ...body];
  const above = [...head, ...transports, { text: "" }, ...table].slice(0, rows - 2);
  while (above.length < rows - 2) above.push({ text: "" });
  return fitted([
    ...above,
    { text: countText(shown.length, choice, state), paint: paint.dim },
    footer(choice, paint),
  ], {
    columns,
    rows,
  }, paint);
}

/** The same content for a file or a pipe, without cutting lines or rows. */
export function topOnce(state: TopState, choice: TopChoice): string {
  const { status } = state;
  if (!status) return "";
  const transports = table(status.transports, transportColumns(state));
  const connections = table(choice.rows(state), connectionColumns(state, false));
  return `${titleText(state, status)}\n\n${transports}\n${connections}`;
}

interface Line {
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
}

function headLines(state: TopState, status: Status, columns: number, paint: Paint): Line[] {
  const { config: { problem } } = status;
  return [
    { text: titleText(state, status), paint: paint.bold },
    { text: plot(state, columns) },
    ...(problem === undefined ? [] : [{
      text: `Configuration problem: ${printable(problem.replace(/\s+/g, " "))}`,
      paint: paint.red,
    }]),
    { text: "" },
  ];
}

function titleText({ traffic, now }: TopState, status: Status): string {
  const { up = 0, down = 0 } = traffic.at(-1) ?? {};
  const { id, state, listeners: [first], connections, memory, startedAt } = status;
  const who = printable(`postern ${id}  ${state}  ${first?.address ?? ""}`);
  return `${who}  up ${formatAge(now - Date.parse(startedAt))}  ` +
    `${connections.open} open, ${connections.failed} failed of ${connections.total}  ` +
    `down ${formatBytes(down)}/s  up ${formatBytes(up)}/s  ${formatBytes(memory.resident)}`;
}

const bars = [..." ▁▂▃▄▅▆▇█"];

/** A graph of the recent traffic in both directions together, the newest at the right. */
function plot({ traffic }: TopState, columns: number): string {
  const sums = traffic.slice(-columns).map(({ up, down }) => up + down);
  const most = Math.max(1000, ...sums);
  return sums.map((sum) => bars[Math.ceil((sum / most) * (bars.length - 1))]).join("").padStart(columns);
}

function transportLines(state: TopState, { transports }: Status, paint: Paint): Line[] {
  const inUse = state.transportsInUse();
  const rank = ({ name, state }: TransportRow) =>
    isBroken(state) ? 0 : inUse.has(name) ? 1 : state === "idle" ? 3 : 2;
  const sorted = [...transports].sort((a, b) => rank(a) - rank(b));
  const [heading = "", ...lines] = lined(sorted, transportColumns(state));
  return [
    { text: `  ${heading}`, paint: paint.dim },
    ...lines.map((text, at) => ({
      text: `  ${text}`,
      paint: isBroken(sorted[at]?.state) ? paint.red : undefined,
    })),
  ];
}

function isBroken(state: TransportRow["state"] | undefined): boolean {
  return state === "failing" || state === "unusable";
}

function transportColumns(state: TopState): Column<TransportRow>[] {
  const inUse = state.transportsInUse();
  const speed = (bytes: number | undefined) =>
    bytes === undefined || bytes === 0 ? "-" : `${formatBytes(bytes)}/s`;
  return [
    { title: "TRANSPORT", show: ({ name }) => name },
    { title: "STATE", show: ({ state }) => state },
    { title: "OPEN", show: ({ name }) => inUse.get(name)?.open ?? 0, alignRight: true },
    { title: "DOWN NOW", show: ({ name }) => speed(inUse.get(name)?.down), alignRight: true },
    { title: "UP NOW", show: ({ name }) => speed(inUse.get(name)?.up), alignRight: true },
    { title: "DIALS", show: ({ dials }) => dials, alignRight: true },
    { title: "FAILED", show: ({ failures }) => failures, alignRight: true },
    { title: "THROUGH", show: throughText },
  ];
}

/** The hosts with their round trip times, the clusters, or the problem. */
function throughText({ state, type, via, hops = [], clusters = [], lastError, hint }: TransportRow): string {
  if (isBroken(state)) return `${lastError ?? state}${hint === undefined ? "" : ` – try: ${hint}`}`;
  const hosts = hops.map(({ host, state, roundTripMs }) =>
    `${host} ${roundTripMs === undefined ? state : `${roundTripMs.toFixed(1)} ms`}`
  );
  const reached = clusters.map(({ name, state, lastError }) =>
    `${name} ${state === "ready" ? "reachable" : `not reachable: ${lastError ?? ""}`}`
  );
  const parts = [...(via === undefined ? [] : [`via ${via}`]), ...hosts, ...reached];
  return parts.length === 0 ? type : parts.join(", ");
}

function connectionColumns(state: TopState, isEnded: boolean): Column<Shown>[] {
  const speed = (bytes: number) => bytes === 0 ? "-" : `${formatBytes(bytes)}/s`;
  const age: Column<Shown> = {
    title: "AGE",
    show: (one) => {
      if ("isDialling" in one) return "dialing";
      return formatAge("endedAt" in one ? one.ageMs : state.now - Date.parse(one.startedAt));
    },
    alignRight: true,
  };
  return [
    { title: "ID", show: ({ id }) => id, alignRight: true },
    { title: "TARGET", show: ({ target }) => target },
    { title: "PATH", show: ({ transport }) => pathText(transport, state.status?.transports ?? []) },
    ...(isEnded ? [{ title: "END", show: (one: Shown) => "outcome" in one ? one.outcome : "" }] : [
      { title: "DOWN NOW", show: (one: Shown) => speed(rateOf(one).down), alignRight: true },
      { title: "UP NOW", show: (one: Shown) => speed(rateOf(one).up), alignRight: true },
    ]),
    { title: "DOWN", show: ({ down }) => formatBytes(down), alignRight: true },
    { title: "UP", show: ({ up }) => formatBytes(up), alignRight: true },
    age,
    { title: "CLIENT", show: clientText },
    isEnded
      ? { title: "REASON", show: (one) => "reason" in one ? one.reason ?? "" : "" }
      : { title: "BECAUSE", show: ({ because }) => because },
  ];
}

function clientText({ client, user, protocol, forward = "" }: Shown): string {
  const who = user === undefined ? client : `${user}@${client}`;
  return protocol === "forward" ? `${who} (${`forward ${forward}`.trimEnd()})` : who;
}

/** A transport with the transports it goes through, the nearest first. */
function pathText(name: string, transports: readonly TransportRow[]): string {
  const path = [name];
  for (
    let via = viaOf(name, transports);
    via !== undefined && !path.includes(via);
    via = viaOf(via, transports)
  ) {
    path.unshift(via);
  }
  return path.join(" > ");
}

function viaOf(name: string, transports: readonly TransportRow[]): string | undefined {
  return transports.find((one) => one.name === name)?.via;
}

function lined<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string[] {
  return table(rows, columns).split("\n").slice(0, -1);
}

function emptyText({ filter, showsEnded }: TopChoice): string {
  if (filter !== "") return "No connection matches the filter.";
  return showsEnded ? "No connection has ended yet." : "No live connections.";
}

function countText(
  count: number,
  { filter, showsEnded, sort, isReversed }: TopChoice,
  state: TopState,
): string {
  const all = showsEnded ? state.ended.length : state.live.size;
  const few = filter === "" ? "" : `${count} of `;
  const words = filter === "" ? "" : `, filtered by "${printable(filter)}"`;
  return `  ${few}${counted(all, showsEnded ? "ended connection" : "live connection")}, by ${sort}${
    isReversed ? ", reversed" : ""
  }${words}`;
}

function footer({ isTyping, closing, filter, said }: TopChoice, { bold, yellow }: Paint): Line {
  if (closing) {
    return {
      text: `Close #${closing.id} ${printable(closing.target)}? Press y to close, any other key to cancel`,
      paint: yellow,
    };
  }
  if (isTyping) {
    return { text: `Filter: ${printable(filter)}_  (Enter keeps the filter, Esc clears it)`, paint: bold };
  }
  if (said !== "") return { text: printable(said), paint: bold };
  return { text: "q quit   / filter   s sort   r reverse   e ended   x close   arrows move" };
}

function fitted(lines: readonly Line[], { columns, rows }: TopSize, { inverse }: Paint): string[] {
  return lines.slice(0, rows).map(({ text, paint }) => {
    const cut = text.length > columns ? `${text.slice(0, Math.max(0, columns - 1))}…` : text;
    if (!paint) return cut;
    // The selected row is marked over its whole width.
    return paint(paint === inverse ? cut.padEnd(columns) : cut);
  });
}
