import type { Status } from "../../control/mod.ts";
import { counted, formatAge, formatBytes } from "../../core/mod.ts";
import type { World } from "../../world/mod.ts";
import { chainsText } from "../output/chains_text.ts";
import { type Paint, paintFor } from "../output/paint.ts";
import { printable, printableLines } from "../output/printable.ts";
import { type Column, table } from "../output/table.ts";

type TransportState = Status["transports"][number];

export function statusText(status: Status, world: World): string {
  const paint = paintFor(world, "out");
  const now = world.clock.date().getTime();
  const since = (date: string) => formatAge(now - Date.parse(date));
  const { listeners, transports, config, catalogues = [], dns, connections, bytes, memory, udp } = status;
  const facts: [string, string][] = [
    ...listeners.filter(({ kind }) => kind !== "forward").map(({ kind, address, auth }): [string, string] => [
      "listens",
      printable(`${address} (${kind}${auth ? ", with authentication" : ""})`),
    ]),
    ...listeners.filter(({ kind }) => kind === "forward").map((
      { address, target = "?", name, ofCommand },
    ): [string, string] => [
      "forwards",
      printable(
        `${address} to ${target}${name === undefined ? "" : ` (${name})`}${
          ofCommand ? " (for postern forward)" : ""
        }`,
      ),
    ]),
    ...(listeners.some(({ kind, address }) => kind === "forward" && !address.startsWith("unix:"))
      ? [["forwards", paint.dim("any local user can connect to a TCP forward")] satisfies [string, string]]
      : []),
    ...(dns?.loopback
      ? [["loopback", printable(loopbackText(dns.loopback))] satisfies [string, string]]
      : []),
    ["config", `${printable(config.path ?? "no file")}, loaded ${since(config.loadedAt)} ago`],
    ...(config.problem === undefined
      ? []
      : [["problem", paint.red(lines(config.problem))] satisfies [string, string]]),
    ...catalogues.map(({ name, clusters, fetchedAt, problem }): [string, string] => [
      "catalogue",
      `${printable(name)}: ${counted(clusters, "cluster")}${
        fetchedAt === undefined ? "" : `, fetched ${since(fetchedAt)} ago`
      }` +
      (problem === undefined ? "" : paint.red(` ${lines(problem)}`)),
    ]),
    ...transports.flatMap(({ name, type, detail }): [string, string][] =>
      type === "kubernetes" && typeof detail === "string"
        ? [["cluster", printable(`${name}: ${detail}`)]]
        : []
    ),
    ...transports.flatMap(({ name, table }): [string, string][] => {
      if (table === undefined || table.state === "known" || (table.state === "unknown" && !table.reason)) {
        return [];
      }
      const why = table.reason === undefined ? "the API server has not answered yet" : table.reason;
      const hint = table.hint === undefined ? "" : ` (${table.hint})`;
      return [[
        "rejects",
        paint.yellow(lines(`targets that may belong to the cluster of ${name}: ${why}${hint}`)),
      ]];
    }),
    [
      "traffic",
      `${counted(connections.open, "connection")} open, ${connections.total} so far, ` +
      `${connections.failed} failed; ${formatBytes(bytes.up)} up, ${formatBytes(bytes.down)} down`,
    ],
    ...(udp === undefined ? [] : [
      [
        "UDP",
        `relayed for ${counted(udp.associations, "SOCKS5 client")}, ${
          counted(udp.refused, "datagram")
        } refused` +
        (udp.lastRefusal === undefined ? "" : `; last: ${lines(udp.lastRefusal)}`),
      ] satisfies [string, string],
    ]),
    ["memory", formatBytes(memory.resident)],
  ];
  const title = `${paint.bold(printable(status.id))}  ${stateText(status.state, paint)}  ` +
    paint.dim(printable(`pid ${status.pid}, up ${since(status.startedAt)}, postern ${status.version}`));
  const shown = facts.map(([name, value], at) =>
    `  ${(facts[at - 1]?.[0] === name ? "" : name).padEnd(10)}${value}\n`
  );
  if (transports.length === 0) return `${title}\n${shown.join("")}`;
  const tables = table(transports, transportColumns, paint.dim) + chainsText(transports, { paint, now });
  return `${title}\n${shown.join("")}\n${tables.replace(/^(?=.)/gm, "  ")}`;
}

function loopbackText(
  { range, names, listeners }: NonNullable<NonNullable<Status["dns"]>["loopback"]>,
): string {
  return `${range}: ${counted(names, "name")} on ${counted(listeners, "port")}, ` +
    "open to every user of this machine";
}

const transportColumns: readonly Column<TransportState>[] = [
  { title: "TRANSPORT", show: ({ name }) => name },
  { title: "TYPE", show: ({ type }) => type },
  { title: "VIA", show: ({ via }) => via ?? "-" },
  { title: "STATE", show: ({ state }) => state },
  { title: "DIALS", show: ({ dials }) => dials, alignRight: true },
  { title: "FAILED", show: ({ failures }) => failures, alignRight: true },
  { title: "LAST ERROR", show: ({ lastError }) => lastError ?? "" },
];

function stateText(state: Status["state"], { green, yellow }: Paint): string {
  return state === "ready" ? green(state) : yellow(printable(state));
}

/** Indents the further lines of a problem under its heading. */
function lines(text: string): string {
  return printableLines(text).replaceAll("\n", `\n${" ".repeat(12)}`);
}
