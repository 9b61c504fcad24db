import { type CommandLine, valueOf } from "./command_line.ts";
import { writingOptions } from "./option_table.ts";

/** The directories of the command line's output files: postern replaces files by renaming. */
export function placesNamed(line: CommandLine): string[] {
  const paths = (writingOptions[line.command] ?? []).flatMap((option) =>
    option === "--listen-unix" ? line.options.get(option) ?? [] : valueOf(line, option) ?? []
  );
  const [action, directory] = line.words;
  const isMade = line.command === "konnectivity" && action === "certs" && directory !== undefined;
  return [...paths.filter((path) => path !== "").map(parentOf), ...(isMade ? [directory] : [])];
}

/** The directory of a path; `.` for a bare name. */
export function parentOf(path: string): string {
  const end = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return end < 0 ? "." : path.slice(0, Math.max(end, 1));
}
