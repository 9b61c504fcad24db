import type { World } from "../../world/mod.ts";

/** Colors for one output stream; without a terminal they do not change the text. */
export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly inverse: (text: string) => string;
}

/** The colors for an output: none unless the output is a terminal and NO_COLOR is unset or empty. */
export function paintFor({ terminal, process }: World, output: "out" | "err"): Paint {
  const isTerminal = output === "out" ? terminal.isOutput : terminal.isErrorOutput;
  const isPlain = !isTerminal || (process.env("NO_COLOR") ?? "") !== "";
  const sgr = (on: number, off: number) => (text: string) =>
    isPlain ? text : `\x1b[${on}m${text}\x1b[${off}m`;
  return {
    bold: sgr(1, 22),
    dim: sgr(2, 22),
    red: sgr(31, 39),
    green: sgr(32, 39),
    yellow: sgr(33, 39),
    inverse: sgr(7, 27),
  };
}
