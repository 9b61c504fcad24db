import { type CommandLine, valueOf } from "./command_line.ts";
import { writingOptions } from "./option_table.ts";

/** The directories of what the command line has written: files are replaced by renaming. */
export function placesNamed(line: CommandLine): string[] {
  const paths = (writingOptions[line.command] ?? []).flatMap((option) =>
    option === "--listen-unix" ? line.options.get(option) ?? [] : valueOf(line, option) ?? []
  );
  const [action, directory] = line.words;
  const isMade = line.command === "konnectivity" && action === "certs" && directory !== undefined;
  return [...paths.filter((path) => path !== "").map(directoryOf), ...(isMade ? [directory] : [])];
}

/** The directory of a path; `.` for a name alone. */
export function directoryOf(path: string): string {
  const end = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return end < 0 ? "." : path.slice(0, Math.max(end, 1));
}
