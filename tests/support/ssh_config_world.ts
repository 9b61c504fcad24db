import { SshConfigReader } from "../../src/ssh/config/ssh_config_reader.ts";
import type { SshConfigDeps } from "../../src/ssh/config/ssh_config_deps.ts";
import type { SshHost } from "../../src/ssh/mod.ts";
import type { Files, RunOptions, RunResult } from "../../src/world/mod.ts";
import { FakeClock } from "./fake_clock.ts";
import { MemoryFiles } from "./memory_files.ts";

/** A machine in memory for the reader of the ssh configuration: user me, home /home/me. */
export class SshConfigWorld {
  readonly files: MemoryFiles;
  readonly clock = new FakeClock();
  readonly env = new Map<string, string>([["HOME", "/home/me"]]);
  readonly ending = new AbortController();
  /** The executed commands. */
  readonly commands: (readonly string[])[] = [];
  /** The result of a command (default: exit code 0). */
  answer: (command: readonly string[], options: RunOptions) => Promise<number> = () => Promise.resolve(0);

  /** Accepts the user's file, or all files by path. */
  constructor(files: string | Readonly<Record<string, string>>) {
    this.files = new MemoryFiles(typeof files === "string" ? { "/home/me/.ssh/config": files } : files);
  }

  deps(others: Partial<SshConfigDeps> = {}): SshConfigDeps {
    return {
      files: this.files,
      run: async (command, options): Promise<RunResult> => {
        this.commands.push(command);
        return { code: await this.answer(command, options), stdout: "", stderr: "" };
      },
      clock: this.clock,
      signal: this.ending.signal,
      env: (name) => this.env.get(name),
      home: "/home/me",
      localUser: "me",
      uid: 1000,
      hostname: () => "desk.example.net",
      ...others,
    };
  }

  reader(others: Partial<SshConfigDeps> = {}): SshConfigReader {
    return new SshConfigReader(this.deps(others));
  }

  read(alias = "host", others: Partial<SshConfigDeps> = {}): Promise<SshHost> {
    return this.reader(others).read(alias);
  }
}

/** Returns files with a different answer for one path. */
export function filesWith(
  files: Files,
  path: string,
  others: Partial<Pick<Files, "read" | "list" | "info">>,
): Pick<Files, "read" | "list" | "info"> {
  const { read, list, info } = others;
  return {
    read: (asked, options) => asked === path && read ? read(asked, options) : files.read(asked, options),
    list: (asked) => asked === path && list ? list(asked) : files.list(asked),
    info: (asked) => asked === path && info ? info(asked) : files.info(asked),
  };
}

/** Formats the problems of a host, one per line: `severity file:line option: message`. */
export function problemLines({ problems }: SshHost): string[] {
  return problems.map(({ severity, file, line, option, message }) =>
    `${severity} ${file}:${line} ${option}: ${message}`
  );
}
