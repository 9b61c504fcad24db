import { printable } from "./printable.ts";

/** One column of a table: its heading, and what it shows of a row. */
export interface Column<Row> {
  readonly title: string;
  readonly show: (row: Row) => string | number;
  /** Numbers stand at the right side of their column. */
  readonly alignRight?: boolean;
}

/** Lines of columns for a terminal; the last column is never padded. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  heading: (text: string) => string = (text) => text,
): string {
  const cells = rows.map((row) => columns.map((column) => printable(String(column.show(row)))));
  const widths = columns.map((column, at) =>
    Math.max(column.title.length, ...cells.map((row) => row[at]?.length ?? 0))
  );
  const line = (row: readonly string[]) =>
    row.map((cell, at) => {
      const width = widths[at] ?? 0;
      if (columns[at]?.alignRight) return cell.padStart(width);
      return at === row.length - 1 ? cell : cell.padEnd(width);
    }).join("  ").trimEnd();
  return [heading(line(columns.map(({ title }) => title))), ...cells.map(line)].map((text) => `${text}\n`)
    .join("");
}
