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
  /** The file; where the environment or the platform says when absent. */
  readonly config?: string | undefined;
  readonly overrides?: Overrides | undefined;
  /** The configuration itself, in the place of a file. */
  readonly text?: string;
  /** Leaves out what the catalogues add, for whoever needs none or is about to fetch them anew. */
  readonly withoutCatalogues?: boolean;
}

/** A configuration that can be used. */
export interface LoadedConfig {
  /** Absent where there is no file. */
  readonly path?: string;
  readonly settings: Settings;
  /** The transports that the command line made. */
  readonly ofOptions: readonly string[];
  /** The rules of the command line, of the file and of its lists, and those of the catalogues. */
  readonly rules: readonly Rule[];
  readonly catalogues: readonly CatalogueState[];
  /** `FILE:LINE:COLUMN: …` */
  readonly warnings: readonly string[];
}

/** A configuration that an instance has read, or why it cannot be used. */
export type ConfigReading =
  & { readonly texts: ConfigReport["texts"] }
  & ({ readonly config: LoadedConfig } | { readonly error: unknown });

/** What reading a configuration gave: everything that is wrong, and the configuration where nothing is. */
export interface ConfigReport {
  /** Where the file is, or would be. */
  readonly path: string;
  readonly isThere: boolean;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly loaded?: LoadedConfig;
  /** As written, with the command line's changes. */
  readonly value: unknown;
  /** Every file that it is made of, passwords too, with its text where it can be read: a change of any is a reason to reload. */
  readonly texts: ReadonlyMap<string, string | undefined>;
  /** `FILE:LINE:COLUMN` of something in the file. */
  readonly place: (path: Path) => string;
}

/** Where the configuration is, or would be. */
export function configPath(world: World, named?: string): string {
  const written = named ?? world.process.env("POSTERN_CONFIG");
  if (!written) return `${world.places.config}/config.yaml`;
  return absoluteFrom(world.process.directory, written);
}

/** Reads and checks the configuration without starting anything; throws `config` with all problems. */
export async function loadConfig(world: World, source: ConfigSource): Promise<LoadedConfig> {
  return demandLoaded(await readConfig(world, source));
}

/** The configuration of a report, or `config` with all its problems. */
export function demandLoaded({ loaded, errors, path }: ConfigReport): LoadedConfig {
  if (loaded) return loaded;
  const isOfOptions = errors.every((line) => line.startsWith("--"));
  throw isOfOptions
    ? configError("these options", errors, { hint: "see postern proxy --help" })
    : configError(`"${path}"`, errors);
}

/** Reads the configuration for an instance that runs: also after a failure it watches the files that were read. */
export async function tryConfig(world: World, source: ConfigSource): Promise<ConfigReading> {
  const files = new ConfigFiles(world);
  try {
    return { texts: files.texts, config: demandLoaded(await reportOf(world, source, files)) };
  } catch (error) {
    return { texts: files.texts, error };
  }
}

/** Reads the configuration and reports every problem; only a file that cannot be read at all is an error. */
export function readConfig(world: World, source: ConfigSource): Promise<ConfigReport> {
  return reportOf(world, source, new ConfigFiles(world));
}

async function reportOf(world: World, source: ConfigSource, files: ConfigFiles): Promise<ConfigReport> {
  const path = source.text === undefined ? configPath(world, source.config) : "the configuration";
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
  // What was said on the command line has no place in the file.
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
  // A configuration without a file of its own has nothing to do with what this person has stored.
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

/** A configuration with what is stored of its catalogues behind its own rules and transports. */
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

/** The file is watched as those of the configuration are. */
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
    throw new PosternError("config", `Cannot use "${path}": it is over 2 MB`, {
      hint: "put long lists of routes into a file of their own: routesFrom",
    });
  }
}

function noSuchFile(path: string): PosternError {
  return new PosternError("config", `Cannot read "${path}": no such file`, {
    hint: "check --config and POSTERN_CONFIG; postern config init writes a file to start with",
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
  /** What is wrong in their lines. */
  readonly errors: string[];
  readonly warnings: string[];
}

async function readLists(files: ConfigFiles, paths: readonly string[]): Promise<Lists> {
  const lists: Lists = { rules: [], problems: [], errors: [], warnings: [] };
  for (const [index, file] of paths.entries()) {
    let text: string;
    try {
      // Half a list would send the names of the other half another way.
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

/** What a rule gives as its source: `config.yaml:12`, or the option it came by. */
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

/** The command line's rules, which come before the file's: of equal patterns the first one counts. */
function commandLineRules(rules: readonly Rule[], { routes }: Settings, fileRoutes: number): Rule[] {
  const count = routes.slice(fileRoutes).reduce((sum, { to }) => sum + to.length, 0);
  return count === 0 ? [] : rules.slice(-count);
}
