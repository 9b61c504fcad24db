import { type CommandLine, valueOf } from "./command_line.ts";
import { writingOptions } from "./option_table.ts";

/** The directories of the command line's output files: postern replaces files by renaming. */
export function placesNamed(line: CommandLine): string[] {
  const paths = (writingOptions[line.command] ?? []).flatMap((option) =>
    option === "--listen-unix" ? line.options.get(option) ?? [] : valueOf(line, option) ?? []
  );
  const sockets = forwardsIn(line).flatMap(socketsOf);
  const [action, directory] = line.words;
  const isMade = line.command === "konnectivity" && action === "certs" && directory !== undefined;
  return [
    ...[...paths, ...sockets].filter((path) => path !== "").map(parentOf),
    ...(isMade ? [directory] : []),
  ];
}

const forwardOptions = ["--forward", "-L"];

/** The paths of sockets in a forward: `/run/db.sock:db.example:5432`, `5432:unix:db.sock`. */
function socketsOf(forward: string): string[] {
  const found = forward.matchAll(/(?:^|:)(?:unix:([^:]+)|((?:[/~]|\.\.?\/)[^:]*))/g);
  return [...found].flatMap(([, named, path]) => named ?? path ?? []);
}

/** The forwards of a command line, as ssh spells them. */
function forwardsIn({ command, options, words }: CommandLine): readonly string[] {
  if (command !== "proxy" && command !== "forward") return [];
  return [
    ...(command === "forward" ? words : []),
    ...forwardOptions.flatMap((name) => options.get(name) ?? []),
  ];
}

/** The directory of a path; `.` for a bare name. */
export function parentOf(path: string): string {
  const end = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return end < 0 ? "." : path.slice(0, Math.max(end, 1));
}
