import { printable } from "./printable.ts";

/** One column of a table: its heading, and the cell for a row. */
export interface Column<Row> {
  readonly title: string;
  readonly show: (row: Row) => string | number;
  /** Aligns the cells to the right, for numbers. */
  readonly alignRight?: boolean;
}

/** Formats rows as aligned columns; never pads the last column. */
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
