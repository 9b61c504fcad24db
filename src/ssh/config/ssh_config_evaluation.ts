import { closest } from "../../config/mod.ts";
import { describe, formatIp, parseIp, PosternError } from "../../words/mod.ts";
import { sshOption, sshOptions, sshStructureWords } from "./language/ssh_config_options.ts";
import type { SshConfigLine } from "./language/ssh_config_lines.ts";
import { matchesSshHostLine, matchesSshPatternList } from "./language/ssh_config_pattern.ts";
import { parseSshCriteria } from "./language/ssh_config_criteria.ts";
import { type Expanded, expandSshTokens, expandTilde } from "./language/ssh_config_tokens.ts";
import { readSshValue } from "./language/ssh_config_values.ts";
import { type SshConfigDeps, sshConfigPaths } from "./ssh_config_deps.ts";
import type { SshConfigFiles, SshConfigWriters } from "./ssh_config_files.ts";
import { matchesSsh } from "./ssh_match.ts";
import { type SshConfigPlace, SshProblems, SshSettings } from "./ssh_settings.ts";
import { sshTokens } from "./ssh_tokens.ts";

/** How deep files may include each other, as in OpenSSH. */
const depthLimit = 16;
/** How many files and lines one host may need. The limit stops files that include many others. */
const fileCountLimit = 2048;
const lineCountLimit = 2_000_000;

const knownWords = [
  ...sshStructureWords,
  ...[...sshOptions.values()].map(({ name }) => name),
];

/** The host to look up, with settings that override the configuration. */
export interface SshHostQuestion {
  readonly alias: string;
  readonly user?: string;
  readonly port?: number;
}

/** The file being read. */
interface Reading {
  readonly file: string;
  readonly depth: number;
  readonly isUsers: boolean;
  /** Whether a section that does not apply includes the file; it is then read for its faults only. */
  readonly neverApplies: boolean;
  isActive: boolean;
}

/** Thrown to stop reading after the problem was recorded. */
const enough = Symbol("enough");

/**
 * Evaluates the configuration for one host, as ssh does: top to bottom, and a second time if it has `Match
 * final`.
 */
export class SshConfigEvaluation {
  readonly settings = new SshSettings();
  readonly problems = new SshProblems();
  readonly #alias: string;
  readonly #deps: SshConfigDeps;
  readonly #files: SshConfigFiles;
  #host: string;
  #isFinal = false;
  #wantsFinal = false;
  #fileCount = 0;
  #lineCount = 0;

  constructor(question: SshHostQuestion, deps: SshConfigDeps, files: SshConfigFiles) {
    const { alias, user, port } = question;
    this.#alias = this.#host = alias;
    this.#deps = deps;
    this.#files = files;
    if (user !== undefined) this.#preset("user", user);
    if (port !== undefined) this.#preset("port", String(port));
  }

  /** The name to connect to. */
  get host(): string {
    return this.#host;
  }

  async run(): Promise<void> {
    try {
      await this.#pass();
      this.#host = this.#hostNow(true);
      if (!this.#wantsFinal) return;
      this.#isFinal = true;
      await this.#pass();
    } catch (error) {
      if (error !== enough) throw error;
    }
  }

  async #pass(): Promise<void> {
    const { user, isUserNamed, system } = sshConfigPaths(this.#deps);
    const usual = { depth: 0, neverApplies: false, isActive: true };
    await this.#readFile({ ...usual, file: user, isUsers: true }, {
      mustExist: isUserNamed,
      isChecked: !isUserNamed,
    });
    if (system === undefined) return;
    await this.#readFile({ ...usual, file: system, isUsers: false }, { mustExist: false, isChecked: false });
  }

  async #readFile(reading: Reading, { mustExist, isChecked }: { mustExist: boolean; isChecked: boolean }) {
    const { file } = reading;
    if (++this.#fileCount > fileCountLimit) this.#giveUp({ file, line: 0 }, "too many included files");
    const read = await this.#files.load(file);
    if ("fault" in read) return this.#fileFault("blocking", reading, read.fault);
    if ("isMissing" in read) {
      return mustExist ? this.#fileFault("blocking", reading, "the file does not exist") : undefined;
    }
    // ssh ignores included directories. A directory as the whole configuration is a mistake.
    if ("isDirectory" in read) {
      return this.#fileFault(reading.depth === 0 ? "blocking" : "note", reading, "the path is a directory");
    }
    if (isChecked) this.#checkWriters(reading, read.writers);
    for (const line of read.lines) {
      if (++this.#lineCount > lineCountLimit) {
        this.#giveUp({ file, line: line.line }, "too many lines");
      }
      // Only `include` and `match` wait, and a file may have many lines.
      if (line.keyword === "include") await this.#include(line, reading);
      else if (line.keyword === "match") await this.#match(line, reading);
      else if (line.keyword === "host") this.#hostLine(line, reading);
      else this.#option(line, reading);
    }
  }

  #hostLine(line: SshConfigLine, reading: Reading): void {
    reading.isActive = false;
    const fault = line.fault ?? (line.arguments.includes("") ? "a pattern is empty" : undefined);
    if (fault !== undefined) return this.#say("blocking", line, reading, fault);
    if (reading.neverApplies) return;
    reading.isActive = matchesSshHostLine(this.#isFinal ? this.#host : this.#alias, line.arguments);
  }

  async #match(line: SshConfigLine, reading: Reading): Promise<void> {
    reading.isActive = false;
    const read = line.fault === undefined ? parseSshCriteria(line.rest) : { fault: line.fault };
    if ("fault" in read) return this.#say("blocking", line, reading, read.fault);
    if (read.criteria.some(({ name }) => name === "final")) this.#wantsFinal = true;
    if (reading.neverApplies) return;
    const { settings } = this;
    const state = { alias: this.#alias, host: this.#hostNow(false), isFinal: this.#isFinal, settings };
    try {
      reading.isActive = await matchesSsh(read.criteria, state, this.#deps);
    } catch (error) {
      this.#deps.signal.throwIfAborted();
      const hint = error instanceof PosternError ? error.hint : undefined;
      this.#say("blocking", line, reading, `${describe(error)}${hint === undefined ? "" : `: ${hint}`}`);
    }
  }

  async #include(line: SshConfigLine, reading: Reading): Promise<void> {
    const fault = line.fault ?? (line.arguments.includes("") ? "an argument is empty" : undefined);
    if (fault !== undefined) return this.#say(this.#blockingIf(reading), line, reading, fault);
    for (const argument of line.arguments) {
      const pattern = this.#includePattern(argument, reading);
      if ("fault" in pattern) {
        this.#say(this.#blockingIf(reading), line, reading, pattern.fault);
        continue;
      }
      if (reading.depth >= depthLimit) {
        this.#giveUp(
          { file: reading.file, line: line.line },
          `includes are nested more than ${depthLimit} deep`,
        );
      }
      for (const file of await this.#matching(pattern.text, line, reading)) {
        const { isUsers, isActive, depth } = reading;
        const neverApplies = reading.neverApplies || !isActive;
        await this.#readFile(
          { file, depth: depth + 1, isUsers, isActive, neverApplies },
          { mustExist: false, isChecked: true },
        );
      }
    }
  }

  async #matching(
    pattern: string,
    line: SshConfigLine,
    reading: Reading,
  ): Promise<readonly string[]> {
    try {
      return await this.#files.matching(pattern);
    } catch (error) {
      this.#say(this.#blockingIf(reading), line, reading, describe(error));
      return [];
    }
  }

  #includePattern(argument: string, { isUsers }: Reading): Expanded {
    if (argument.startsWith("~") && !isUsers) return { fault: 'the system\'s file cannot use "~"' };
    const { userDirectory, systemDirectory } = sshConfigPaths(this.#deps);
    // As in OpenSSH 9.9 and newer; older versions treat both as plain text.
    const { settings } = this;
    const host = this.#hostNow(false);
    const user = settings.value("user") ?? this.#deps.localUser;
    const proxyJump = settings.value("proxyjump");
    const port = settings.port;
    const values = { alias: this.#alias, host, port, user, keyName: host, proxyJump };
    const tokens = sshTokens(values, this.#deps);
    const expanded = expandSshTokens(argument, tokens, (name) => this.#deps.env(name));
    if ("fault" in expanded) return expanded;
    const tilde = expandTilde(expanded.text, this.#deps);
    if ("fault" in tilde || tilde.text.startsWith("/")) return tilde;
    // Windows has one root per drive.
    if (onDrive.test(userDirectory) && onDrive.test(tilde.text)) return tilde;
    return { text: `${isUsers ? userDirectory : systemDirectory}/${tilde.text}` };
  }

  #option(line: SshConfigLine, reading: Reading): void {
    const option = sshOption(line.keyword);
    if (!option) return this.#unknown(line, reading);
    if (!reading.isActive) return;
    const value = readSshValue(option.kind ?? "loose", line);
    if ("fault" in value) {
      return this.#say(option.class === "harmless" ? "note" : "blocking", line, reading, value.fault);
    }
    // ssh treats "none" like a missing option, so a later line applies.
    if (option.kind === "time" && value.values[0] === "none") return;
    this.settings.give({ option, values: value.values, file: reading.file, line: line.line });
  }

  #unknown(line: SshConfigLine, reading: Reading): void {
    const ignored = this.settings.value("ignoreunknown")?.toLowerCase();
    if (ignored !== undefined && matchesSshPatternList(line.keyword, ignored)) {
      if (reading.isActive) this.#say("harmless", line, reading, "ignored because of IgnoreUnknown");
      return;
    }
    const meant = closest(line.keyword, knownWords);
    // We cannot tell which host the lines after a misspelled "Host" belong to.
    const isStructure = meant !== undefined && sshStructureWords.includes(meant);
    const severity = isStructure ? "blocking" : this.#blockingIf(reading);
    const question = meant === undefined ? "" : `, did you mean "${meant}"?`;
    this.#say(severity, line, reading, `unknown option "${line.written.slice(0, 64)}"${question}`);
  }

  /** The current host name: the alias, or the value of HostName. */
  #hostNow(isSettled: boolean): string {
    const given = this.settings.given("hostname");
    if (!given || this.#isFinal) return isSettled ? canonical(this.#host) : this.#host;
    const expanded = expandSshTokens(given.values[0] ?? "", { h: this.#alias });
    if ("fault" in expanded) {
      this.problems.add("blocking", given, { option: "HostName", message: expanded.fault });
      return this.#alias;
    }
    return isSettled ? canonical(expanded.text) : expanded.text;
  }

  #preset(name: string, value: string): void {
    const option = sshOption(name);
    if (option && !this.settings.given(name)) {
      this.settings.give({ option, values: [value], file: "", line: 0 });
    }
  }

  #blockingIf({ isActive }: Reading): "blocking" | "note" {
    return isActive ? "blocking" : "note";
  }

  #say(
    severity: "blocking" | "note" | "harmless",
    { line, written }: SshConfigLine,
    { file }: Reading,
    message: string,
  ): void {
    const option = sshOption(written.toLowerCase())?.name ?? written.slice(0, 64);
    this.problems.add(severity, { file, line }, { option, message });
  }

  #checkWriters(reading: Reading, writers: SshConfigWriters): void {
    if (writers === "others") {
      this.#fileFault(
        "blocking",
        reading,
        "other users can write to the file, and ssh rejects such files; run chmod go-w on it",
      );
    } else if (writers === "group") {
      // Debian's ssh accepts a file if only the user is in its group. We cannot check the group's members.
      this.#fileFault("note", reading, "the file's group can write to it; run chmod g-w on it");
    }
  }

  #fileFault(severity: "blocking" | "note", { file, neverApplies }: Reading, message: string): void {
    this.problems.add(neverApplies ? "note" : severity, { file, line: 0 }, { option: "", message });
  }

  #giveUp(place: SshConfigPlace, message: string): never {
    this.problems.add("blocking", place, { option: "Include", message });
    throw enough;
  }
}

const onDrive = /^[A-Za-z]:\//;

/** ssh writes each address in one form, and names in lower case. */
function canonical(host: string): string {
  const address = parseIp(host);
  return address ? formatIp(address) : host.toLowerCase();
}
