import type { MatrixClient } from "./client_matrix.ts";
import type { MatrixRow } from "./client_matrix_run.ts";

/** The comments around the table in the guide. */
export const tableMarks = ["<!-- clients -->", "<!-- end of clients -->"] as const;

/** The rows of the guide's table: measured, or as expected where a program is missing. */
export function clientTable(clients: readonly MatrixClient[], measured: readonly MatrixRow[]): string[][] {
  return [
    ["program", "settings", "a routed name", "a name of `direct`", "remarks"],
    ...clients.map((client) => {
      const row = measured.find((row) => row.client === client);
      const routed = row ? row.routed : [client.routed ?? "postern"];
      const leaks = row ? row.leaks : client.leaks ?? false;
      const isRouted = routed.every((arrival) => arrival === "postern");
      return [
        client.name,
        settingsOf(client),
        isRouted ? `through postern${leaks ? "; asks the resolver" : ""}` : "fails",
        (row ? row.direct : client.direct ?? "direct") === "postern" ? "through postern" : "directly",
        client.note ?? "",
      ];
    }),
  ];
}

function settingsOf({ programs, socks }: MatrixClient): string {
  return `\`env${programs ? ` --for ${programs}` : ""}${socks ? " --socks" : ""}\``;
}

/** The table in a page. */
export function tableIn(page: string): string[][] {
  const [, table = ""] = page.split(tableMarks[0]);
  return (table.split(tableMarks[1])[0] ?? "").split("\n").filter((line) => /^\|[^-]*[a-z]/.test(line))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
}

/** The page with another table. */
export function withTable(page: string, [head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const lines = [line(head), line(head.map(() => "---")), ...rows.map(line)];
  const [before = "", rest = ""] = page.split(tableMarks[0]);
  const [, after = ""] = rest.split(tableMarks[1]);
  return `${before}${tableMarks[0]}\n\n${lines.join("\n")}\n\n${tableMarks[1]}${after}`;
}
