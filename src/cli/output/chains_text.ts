import type { Status } from "../../control/mod.ts";
import { type ClusterStatus, formatAge, type HopStatus } from "../../core/mod.ts";
import type { Paint } from "./paint.ts";
import { printable } from "./printable.ts";
import { type Column, table } from "./table.ts";

/** The tables of hops and clusters in `status`, with hints for transports that fail. */
export function chainsText(
  transports: Status["transports"],
  { paint, now }: { readonly paint: Paint; readonly now: number },
): string {
  const rows = transports.flatMap(({ name, hops = [] }) =>
    hops.map((hop, at): Row => ({ transport: at === 0 ? name : "", ...hop }))
  );
  const chains = rows.length === 0 ? "" : `\n${table(rows, columns(now), paint.dim)}`;
  const hints = transports.flatMap(({ name, state, hint }) =>
    hint === undefined || !broken.has(state) ? [] : [`${printable(name)}: ${printable(hint)}\n`]
  );
  return `${chains}${clustersText(transports, paint)}${hints.length === 0 ? "" : `\n${hints.join("")}`}`;
}

/** The table of clusters in use; empty without any. */
function clustersText(transports: Status["transports"], paint: Paint): string {
  const rows = transports.flatMap(({ name, clusters = [] }) =>
    clusters.map((cluster, at): ClusterRow => ({ transport: at === 0 ? name : "", ...cluster }))
  );
  return rows.length === 0 ? "" : `\n${table(rows, clusterColumns, paint.dim)}`;
}

type ClusterRow = ClusterStatus & { readonly transport: string };

const clusterColumns: readonly Column<ClusterRow>[] = [
  { title: "CLUSTER", show: ({ transport }) => transport },
  { title: "CONTEXT", show: ({ name }) => name },
  { title: "SERVER", show: ({ server }) => server },
  { title: "VERSION", show: ({ version }) => version ?? "-" },
  { title: "STATE", show: ({ state }) => state },
  { title: "SESSIONS", show: ({ sessions }) => sessions, alignRight: true },
  { title: "STREAMS", show: ({ streams }) => streams, alignRight: true },
  {
    title: "WATCHES",
    show: ({ watches }) => [...new Set(watches.map(({ namespace }) => namespace))].join(",") || "-",
  },
  { title: "LAST ERROR", show: ({ lastError }) => lastError ?? "" },
];

type Row = HopStatus & { readonly transport: string };

const broken: ReadonlySet<string> = new Set(["failing", "unusable"]);

function columns(now: number): Column<Row>[] {
  return [
    { title: "CHAIN", show: ({ transport }) => transport },
    { title: "HOST", show: ({ host }) => host },
    { title: "ADDRESS", show: ({ address }) => address },
    { title: "STATE", show: ({ state }) => state },
    { title: "SINCE", show: ({ since }) => formatAge(now - Date.parse(since)), alignRight: true },
    {
      title: "ROUND TRIP",
      show: ({ roundTripMs }) => roundTripMs === undefined ? "-" : `${roundTripMs.toFixed(1)} ms`,
      alignRight: true,
    },
    { title: "CHANNELS", show: ({ channels }) => channels, alignRight: true },
    { title: "SESSIONS", show: ({ sessions }) => sessions, alignRight: true },
    { title: "RECONNECTS", show: ({ reconnects }) => reconnects, alignRight: true },
    { title: "LAST ERROR", show: ({ lastError }) => lastError ?? "" },
  ];
}
