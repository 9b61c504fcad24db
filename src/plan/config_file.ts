import {
  type ConfigDocument,
  configError,
  documentLimit,
  formatProblems,
  isError,
  parseDocument,
  type Path,
  type Problem,
  rootContext,
} from "../config/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import { absoluteFrom, directoryOf, fileNameOf, readSettled, type World } from "../world/mod.ts";
import type { CatalogueState } from "../control/mod.ts";
import { parseRouteLines, type Rule, rulesOfSettings } from "../routing/mod.ts";
import {
  conflictLines,
  dnsProblems,
  missingFiles,
  ownListenerProblems,
  tableProblems,
  transportNameLines,
  transportNameProblems,
} from "./config_checks.ts";
import { ConfigFiles } from "./config_files.ts";
import { onlyProblems, passwordProblems } from "./listener_checks.ts";
import { instanceKubeconfigs } from "./kubeconfigs.ts";
import { overridden, type Overrides } from "./overrides.ts";
import { listenOf, type Settings, settingsSchemaFor } from "./settings.ts";
import { fleetOfMapping, type StoredFleet, storedFleet } from "./stored_fleet.ts";

export interface ConfigSource {
  /** The file (default: from the environment or the platform). */
  readonly config?: string | undefined;
  readonly overrides?: Overrides | undefined;
  /** The configuration itself, instead of the text of the file. */
  readonly text?: string;
  /** Skips the stored catalogues, for commands that need none or are about to fetch them. */
  readonly withoutCatalogues?: boolean;
}

/** A valid configuration. */
export interface LoadedConfig {
  /** Absent without a file. */
  readonly path?: string;
  readonly settings: Settings;
  /** The transports that the command line created. */
  readonly ofOptions: readonly string[];
  /** The rules of the command line, of the file and its lists, and of the catalogues. */
  readonly rules: readonly Rule[];
  readonly catalogues: readonly CatalogueState[];
  /** `FILE:LINE:COLUMN: …` */
  readonly warnings: readonly string[];
}

/** The configuration that an instance has read, or the reason why it is invalid. */
export type ConfigReading =
  & { readonly texts: ConfigReport["texts"] }
  & ({ readonly config: LoadedConfig } | { readonly error: unknown });

/** The result of reading a configuration: all problems, and the configuration if it has no errors. */
export interface ConfigReport {
  /** The path of the file, even if it does not exist. */
  readonly path: string;
  readonly isThere: boolean;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly loaded?: LoadedConfig;
  /** The raw configuration, with the command line's changes. */
  readonly value: unknown;
  /**
   * Every file of the configuration, including passwords, with its text if readable. A change of any file
   * requires a reload.
   */
  readonly texts: ReadonlyMap<string, string | undefined>;
  /** Returns `FILE:LINE:COLUMN` of a value. */
  readonly place: (path: Path) => string;
}

/** Returns the path of the configuration, even if it does not exist. */
export function configPath(world: World, named?: string): string {
  const written = named ?? world.process.env("POSTERN_CONFIG");
  if (!written) return `${world.places.config}/config.yaml`;
  return absoluteFrom(world.process.directory, written);
}

/** Reads and checks the configuration without starting anything; rejects with `config` and all problems. */
export async function loadConfig(world: World, source: ConfigSource): Promise<LoadedConfig> {
  return demandLoaded(await readConfig(world, source));
}

/** Returns the configuration of a report; throws `config` with all its problems. */
export function demandLoaded({ loaded, errors, path }: ConfigReport): LoadedConfig {
  if (loaded) return loaded;
  const isOfOptions = errors.every((line) => line.startsWith("--"));
  throw isOfOptions
    ? configError("these options", errors, { hint: "see postern proxy --help" })
    : configError(`"${path}"`, errors);
}

/** Reads the configuration for a running instance; after a failure, it still lists the files to watch. */
export async function tryConfig(world: World, source: ConfigSource): Promise<ConfigReading> {
  const files = new ConfigFiles(world);
  try {
    return { texts: files.texts, config: demandLoaded(await reportOf(world, source, files)) };
  } catch (error) {
    return { texts: files.texts, error };
  }
}

/** Reads the configuration and reports every problem; rejects only when the file itself cannot be read. */
export function readConfig(world: World, source: ConfigSource): Promise<ConfigReport> {
  return reportOf(world, source, new ConfigFiles(world));
}

async function reportOf(world: World, source: ConfigSource, files: ConfigFiles): Promise<ConfigReport> {
  const isFile = source.text === undefined || source.config !== undefined;
  const path = isFile ? configPath(world, source.config) : "the configuration";
  const isNamed = source.config !== undefined || Boolean(world.process.env("POSTERN_CONFIG"));
  const text = await files.read(path, () => source.text ?? documentText(world, path));
  if (text === undefined && isNamed) throw noSuchFile(path);
  const document = await parseDocument(text ?? "", { name: path });
  const { value, transports: ofOptions, fileRoutes, optionAt } = overridden(
    document.value,
    source.overrides ?? {},
  );
  const parsed = document.value === undefined ? undefined : await parseSettings(world, value, path);
  const lists = await readLists(files, parsed?.settings?.routesFrom ?? []);
  const problems = [
    ...document.problems,
    ...parsed?.problems ?? [],
    ...transportNameProblems(value),
    ...onlyProblems(value),
    ...lists.problems,
  ];
  const lines = [...lists.errors];
  let rules: readonly Rule[] = [];
  if (parsed?.settings) {
    const { settings } = parsed;
    const fileRules = rulesOfSettings(settings, sourceIn(document, path, optionAt), (place) => {
      const position = document.locate(place);
      return position && `${path}:${position.line}:${position.column}`;
    });
    const own = commandLineRules(fileRules, settings, fileRoutes);
    rules = [...own, ...fileRules.filter((rule) => !own.includes(rule)), ...lists.rules];
    const passwords = await passwordProblems(files, listenOf(settings), value);
    problems.push(
      ...ownListenerProblems(settings),
      ...dnsProblems(settings),
      ...tableProblems(settings),
      ...passwords,
      ...await missingFiles(world.files, settings),
    );
    lines.push(...transportNameLines(settings, lists.rules), ...conflictLines(rules.slice(own.length)));
  }
  // Values from the command line have no place in the file.
  const format = (problems: readonly Problem[]) => [
    ...formatProblems(problems.filter(({ path }) => optionAt(path) === undefined), document),
    ...problems.flatMap(({ path, message }) => {
      const option = optionAt(path);
      return option === undefined ? [] : [`${option}: ${message}`];
    }),
  ];
  const errors = [...format(problems.filter(isError)), ...lines];
  const warnings = [...format(problems.filter((problem) => !isError(problem))), ...lists.warnings];
  const place = (at: Path) => {
    const position = document.locate(at);
    return position ? `${path}:${position.line}:${position.column}` : path;
  };
  const report = { path, isThere: text !== undefined, errors, warnings, value, texts: files.texts, place };
  if (!parsed?.settings || errors.length > 0) return report;
  const { settings } = parsed;
  const config = {
    ...(text !== undefined && { path }),
    settings,
    ofOptions,
    rules,
    warnings,
    catalogues: [],
  };
  // A configuration passed as text does not use the user's stored catalogues.
  const isAlone = source.text !== undefined && !settings.catalogues;
  const { mappingFile } = source.overrides ?? {};
  if (mappingFile === undefined && (source.withoutCatalogues || isAlone)) {
    return { ...report, loaded: config };
  }
  const fleet = mappingFile === undefined
    ? await storedFleet(world, settings)
    : await fleetOfFile(world, mappingFile, { transports: settings.transports, files });
  const loaded = withFleet(config, fleet);
  return { ...report, warnings: loaded.warnings, loaded };
}

/** Adds the stored catalogues to a configuration; their rules and transports rank below its own. */
function withFleet(
  config: LoadedConfig,
  { rules, transports, states, warnings }: StoredFleet,
): LoadedConfig {
  return {
    ...config,
    settings: { ...config.settings, transports: { ...config.settings.transports, ...transports } },
    rules: [...config.rules, ...rules],
    catalogues: states,
    warnings: [...config.warnings, ...warnings],
  };
}

/** Reads a mapping file; it is watched like the files of the configuration. */
async function fleetOfFile(
  { process }: World,
  named: string,
  { transports, files }: { readonly transports: Settings["transports"]; readonly files: ConfigFiles },
): Promise<StoredFleet> {
  const path = absoluteFrom(process.directory, named);
  return await fleetOfMapping(await files.list(path), { path, transports });
}

async function documentText({ files, clock }: World, path: string): Promise<string | undefined> {
  try {
    const read = () => files.readTextIfThere(path, { limit: documentLimit });
    return await readSettled(path, { files, clock }, read);
  } catch (error) {
    if (!(error instanceof PosternError) || error.detail !== "too_large") throw error;
    throw new PosternError("config", `Cannot use "${path}": the file is over 2 MB`, {
      hint: "move long lists of routes to a separate file: routesFrom",
    });
  }
}

function noSuchFile(path: string): PosternError {
  return new PosternError("config", `Cannot read "${path}": no such file`, {
    hint: "check --config and POSTERN_CONFIG, or create a file: postern config init",
  });
}

async function parseSettings(
  world: World,
  value: unknown,
  path: string,
): Promise<{ settings: Settings | undefined; problems: readonly Problem[] }> {
  const context = rootContext({
    base: directoryOf(path),
    home: world.places.home,
    runtime: world.places.runtime,
    kubeconfigs: instanceKubeconfigs(world),
    env: (name) => world.process.env(name),
  });
  const settings = (await settingsSchemaFor(value)).parse(value, context);
  return { settings: context.problems.some(isError) ? undefined : settings, problems: context.problems };
}

interface Lists {
  readonly rules: Rule[];
  /** Lists that cannot be read. */
  readonly problems: Problem[];
  /** The problems of their lines. */
  readonly errors: string[];
  readonly warnings: string[];
}

async function readLists(files: ConfigFiles, paths: readonly string[]): Promise<Lists> {
  const lists: Lists = { rules: [], problems: [], errors: [], warnings: [] };
  for (const [index, file] of paths.entries()) {
    let text: string;
    try {
      // With half a list, the other names would take another route.
      text = await files.list(file);
    } catch (error) {
      lists.problems.push({ path: ["routesFrom", index], message: describe(error) });
      continue;
    }
    const { rules, problems } = parseRouteLines(text, { name: fileNameOf(file), path: file });
    for (const rule of rules) lists.rules.push(rule);
    for (const { line, message, severity } of problems) {
      if (severity === "error") lists.errors.push(`${file}:${line}: ${message}`);
      else lists.warnings.push(`${file}:${line}: warning: ${message}`);
    }
  }
  return lists;
}

/** Returns the source of a rule: `config.yaml:12`, or its option. */
function sourceIn(
  document: ConfigDocument,
  file: string,
  optionAt: (path: Path) => string | undefined,
): (path: Path) => string {
  const name = fileNameOf(file);
  return (path) => {
    const option = optionAt(path);
    if (option !== undefined) return option;
    const position = document.locate(path);
    return position ? `${name}:${position.line}` : name;
  };
}

/** Returns the command line's rules, which precede the file's: of equal patterns, the first one counts. */
function commandLineRules(rules: readonly Rule[], { routes }: Settings, fileRoutes: number): Rule[] {
  const count = routes.slice(fileRoutes).reduce((sum, { to }) => sum + to.length, 0);
  return count === 0 ? [] : rules.slice(-count);
}
