import type { Needs } from "../world/mod.ts";
import type { NeedsTable, WorkerPermissions } from "../runtime/mod.ts";

/** What Deno can grant and we ever ask for; `ffi` and `import` are never granted. */
export type PermissionKind = "net" | "read" | "write" | "env" | "run" | "sys";

/**
 * Everything, or these names; `{state}` and the like stand for the platform's directories, `{self}` for the program,
 * `{control}` for the control sockets of the doors that run, `{ssh}` for the person's ssh directory, `{shell}` and
 * `{askpass}` for the programs that the environment names for that, `{agent}` for the socket of its ssh agent,
 * `{browser}` for what opens a web address, `{kube}` for the directories of kubeconfigs,
 * `{services}` for where the files of a person's services are, `{serviceLogs}` for where launchd puts what they log,
 * `{resolver}` for what the system's resolver reads.
 */
export type Grant = "any" | readonly string[];

/** What one command may do. A kind that is not named is not granted. */
export type Grants = Readonly<Partial<Record<PermissionKind, Grant>>>;

/** The platform's directories, as `World.places` has them. */
export interface Directories {
  readonly config: string;
  readonly state: string;
  readonly cache: string;
  readonly runtime: string;
  readonly home: string;
}

/** All kinds, in the order in which `main.ts` gives them up. */
export const permissionKinds: readonly PermissionKind[] = ["net", "read", "write", "env", "run", "sys"];

/** The environment that any command may read: places, output, and what the YAML parser asks for. */
const commonEnv = [
  "HOME",
  "USERPROFILE",
  "APPDATA",
  "LOCALAPPDATA",
  "XDG_CONFIG_HOME",
  "XDG_STATE_HOME",
  "XDG_CACHE_HOME",
  "XDG_RUNTIME_DIR",
  "TMPDIR",
  "TMP",
  "TEMP",
  "POSTERN_CONFIG",
  "POSTERN_ROOT",
  "NO_COLOR",
];

/** Speaks to a running door: the control socket and its lock, nothing else. */
const client: Grants = {
  net: ["{control}"],
  read: ["{config}", "{state}", "{runtime}"],
  write: ["{state}", "{runtime}"],
  env: commonEnv,
  sys: ["uid"],
};

/**
 * Asks a running door, else answers from the configuration, which may name files and variables (`${NAME}`) at will. A
 * stored catalogue is a store of SQLite, which wants to be writable.
 */
const reader: Grants = {
  ...client,
  read: "any",
  write: ["{state}", "{cache}", "{runtime}"],
  env: "any",
};

/** Adds to the kubeconfig of the person, where it is told to; asks API servers for their certificates through the door. */
const kubeconfigWriter: Grants = {
  ...reader,
  net: "any",
  write: ["{state}", "{cache}", "{runtime}", "{kube}"],
};

/** What the ssh configuration may have run: `Match exec` and ProxyCommand by a shell, `engine: openssh`, SSH_ASKPASS. */
const sshPrograms = ["{shell}", "ssh", "{askpass}"];

/** What kubeconfigs usually name to sign in with; a door that is compiled may start any. */
const signInPrograms = [
  ...["kubectl", "kubelogin", "kubectl-oidc_login", "oc", "postern", "tsh"],
  ...["aws", "aws-iam-authenticator", "gke-gcloud-auth-plugin", "doctl", "exo"],
];

/** What the ssh configuration asks of the machine. */
const sshFacts = ["uid", "gid", "username", "homedir", "hostname", "networkInterfaces"];

/** Asks a running door, else goes the way that a door would go. */
const walker: Grants = {
  ...reader,
  net: "any",
  // Deno wants a unix socket to be writable to connect to it.
  write: ["{state}", "{cache}", "{runtime}", "{ssh}", "{agent}"],
  run: [...sshPrograms, ...signInPrograms],
  sys: sshFacts,
};

/** Signs in, with a browser, and asks an API, perhaps through a transport of the configuration. */
const fetcher: Grants = { ...walker, run: ["{browser}", ...sshPrograms] };

/** Asks services where the rules lead, and adds to the kubeconfig of the person, where it is told to. */
const emergency: Grants = {
  ...walker,
  write: ["{state}", "{cache}", "{runtime}", "{ssh}", "{agent}", "{kube}"],
};

/** Starts whatever a person names, in a cluster, and where no door runs is one itself for as long. */
const runner: Grants = {
  ...walker,
  write: ["{state}", "{cache}", "{runtime}", "{ssh}", "{agent}", "{kube}"],
  run: "any",
};

/** Reads the configuration as a door would, writes the files of a service, and has the service manager read them. */
const installer: Grants = {
  read: "any",
  write: ["{cache}", "{services}"],
  env: "any",
  run: ["systemctl", "launchctl"],
  sys: ["uid"],
};

const uninstaller: Grants = { ...installer, read: ["{services}"], write: ["{services}"], env: commonEnv };

/** Runs a door. */
const instance: Grants = {
  net: "any",
  read: "any",
  // Host keys that are accepted are written down where ssh would.
  write: ["{state}", "{cache}", "{runtime}", "{ssh}", "{agent}", "{resolver}"],
  env: "any",
  run: ["{self}", ...sshPrograms, ...signInPrograms],
  sys: sshFacts,
};

/** Whether a command starts doors, itself or by a service: from source it hands on the flags of one. */
export function startsInstances(command: string): boolean {
  return commandGrants[command] === instance || commandGrants[command] === installer;
}

/** Whether others depend on what a command line runs, for as long as it does. */
export function isDependedOn(args: readonly string[]): boolean {
  return ["proxy", "proxy-out", "konnectivity", "shell", "kubectl", "oc"].includes(commandOf(args));
}

/** The command that kubeconfigs name as the way to sign in. */
export const plugin = "exec-credential";

/** Whether a command writes kubeconfigs that name the plugin. */
export function writesKubeconfigs(command: string): boolean {
  const grants = commandGrants[command];
  return grants === kubeconfigWriter || grants === runner || command === "oc-web-login";
}

/** What each command may do. */
export const commandGrants: Readonly<Record<string, Grants>> = {
  proxy: instance,
  "proxy-out": instance,
  connect: instance,
  disconnect: client,
  quit: client,
  status: client,
  connections: client,
  top: client,
  reload: client,
  stop: client,
  // The log of a service is the journal's, or where launchd was told to put it.
  logs: {
    ...client,
    read: ["{config}", "{state}", "{runtime}", "{services}", "{serviceLogs}"],
    run: ["journalctl"],
  },
  explain: walker,
  test: walker,
  env: reader,
  pac: reader,
  update: fetcher,
  login: fetcher,
  logout: walker,
  clusters: kubeconfigWriter,
  kubeconfig: kubeconfigWriter,
  shell: runner,
  kubectl: runner,
  oc: runner,
  // What a cluster names as its sign-in is reached through the door, or as a door would reach it.
  "exec-credential": fetcher,
  switch: kubeconfigWriter,
  "oc-web-login": { ...fetcher, write: ["{state}", "{cache}", "{runtime}", "{ssh}", "{agent}", "{kube}"] },
  kubelogin: { read: ["{config}", "{cache}"], env: "any", run: "any", sys: ["uid"] },
  console: { ...reader, run: ["{browser}"] },
  "emergency-credentials": emergency,
  dns: { ...reader, write: ["{state}", "{cache}", "{runtime}", "{resolver}"], run: ["systemctl"] },
  cleanup: {
    ...client,
    net: ["{control}", "127.0.0.1", "[::1]"],
    read: ["{config}", "{state}", "{cache}", "{runtime}", "{resolver}"],
    write: ["{state}", "{cache}", "{runtime}", "{resolver}"],
    run: ["systemctl"],
  },
  // A far side listens where it is told to, with the files that it is told of.
  konnectivity: {
    net: "any",
    read: "any",
    write: ["{runtime}"],
    env: "any",
    sys: ["uid", "networkInterfaces"],
  },
  // It speaks to an API server, and asks endpoints through the proxy that is to be accepted.
  egress: { net: "any", read: "any", env: "any", sys: ["uid", "hostname"] },
  "service-install": installer,
  "service-uninstall": uninstaller,
  service: installer,
  install: installer,
  config: { ...walker, net: ["{control}"], write: ["{config}", "{state}", "{cache}", "{runtime}"] },
  doctor: walker,
  demo: { net: ["127.0.0.1", "[::1]", "localhost"], env: commonEnv, sys: ["uid"] },
  completion: { env: commonEnv },
  version: { env: commonEnv },
  help: { env: commonEnv },
};

/** Options that name a file or socket to be made: its directory, because files are replaced by renaming. */
const writingOptions: Readonly<Record<string, readonly string[]>> = {
  proxy: ["--listen-unix", "--ready-file", "--log-file"],
  config: ["--config"],
  clusters: ["--file"],
  kubeconfig: ["--file"],
  "emergency-credentials": ["--file"],
  konnectivity: ["--uds-name", "--proxy-uds"],
  // A cluster may be called as one of its verbs is.
  shell: ["--file"],
};

/** Options whose value is the next word, so that it is not taken for the command. */
const valuedOptions = ["--config", "--log-level", "--log-format"];

/** A file of suffix to jump host alone is a door; all else is a mistake. */
function otherwise(word: string): string {
  return word.endsWith(".json") ? "proxy" : "help";
}

/** The command a command line asks for; "help" when it names none that we know. */
export function commandOf(args: readonly string[]): string {
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (valuedOptions.includes(word)) at++;
    else if (word === "--version") return "version";
    else if (word === "clusters") return clustersForm(args.slice(at + 1));
    else if (!word.startsWith("-")) return Object.hasOwn(commandGrants, word) ? word : otherwise(word);
  }
  return "help";
}

/** `postern clusters` may be one of the forms that start a program or ask services: words of it alone do not tell. */
function clustersForm(words: readonly string[]): string {
  if (words.some((word) => ["shell", "kubectl", "oc", "console", "--each"].includes(word))) return "shell";
  return words.includes("emergency-credentials") ? "emergency-credentials" : "clusters";
}

/**
 * The kinds a command line needs: the program gives up the rest first of all. `usesSsh` is whether the configuration
 * may name an ssh host.
 */
export function kindsFor(
  args: readonly string[],
  { platform = "linux", usesSsh = false }: { readonly platform?: string; readonly usesSsh?: boolean } = {},
): PermissionKind[] {
  const command = commandOf(args);
  const grants = grantsFor(command, platform);
  // A door starts itself to go into the background, a sign-in a browser, a shell what a person says, a service its
  // manager, its log the journal's reader; all else that is run is named by the ssh configuration.
  const mayRun = usesSsh || grants.run === "any" ||
    ["{browser}", "systemctl", "journalctl"].some((program) => grants.run?.includes(program)) ||
    (command === "proxy" && args.includes("--background")) || command === "connect";
  return permissionKinds.filter((kind) => grants[kind] !== undefined && (kind !== "run" || mayRun));
}

/** Commands whose words behind the name of a cluster are another program's. */
const wrapping = ["kubectl", "oc", "shell", "kubelogin"];

/** Whether a command line asks for the log level `debug`, and so for stack traces. */
export function wantsTraces(args: readonly string[]): boolean {
  const isWrapping = wrapping.includes(commandOf(args)) || args.includes("--each");
  for (const [at, word] of args.entries()) {
    // What stands behind belongs to another program, which may have such an option too.
    if (word === "--" || (isWrapping && wrapping.includes(word))) return false;
    if (word === "--log-level=debug" || (word === "--log-level" && args[at + 1] === "debug")) return true;
  }
  return false;
}

/** The file a command line names with `--config`. */
export function configNamed(args: readonly string[]): string | undefined {
  for (const [at, word] of args.entries()) {
    if (word === "--config") return args[at + 1];
    if (word.startsWith("--config=")) return word.slice("--config=".length);
  }
  return undefined;
}

/** Whether what is configured may want programs: ssh hosts, also those of a catalogue, and what signs in to a cluster. Told from the text, since understanding it takes more than what is loaded by then. */
export function mayUseSsh(args: readonly string[], configText: string | undefined): boolean {
  const config = withoutRemarks(configText);
  const isMapping = args.some((word) => word.startsWith("--mapping-file") || word.endsWith(".json"));
  // What kubevpn calls so is a door into a cluster, though it names no word of that.
  const isIntoCluster = commandOf(args) === "proxy-out";
  return isMapping || isIntoCluster ||
    [...args, config].some((text) => /\b(?:ssh|kubernetes)\b/.test(text)) ||
    /\bcatalogues\b/.test(config);
}

/** What `config init` writes explains ssh and DNS in remarks. */
function withoutRemarks(configText: string | undefined): string {
  return (configText ?? "").replace(/^\s*#.*$/gm, "");
}

/** What is only known where a command is run. */
export interface SourceFacts {
  readonly directories: Directories;
  /** Deno itself, with which a door starts itself in the background. */
  readonly self: string;
  /** Tells the working directory. */
  readonly directory?: () => string;
  readonly platform: string;
  /** The control sockets there are. */
  readonly sockets?: readonly string[];
  /** Where an earlier postern has its sockets; a command may only look there, unless the directory is ours alone. */
  readonly former?: { readonly path: string; readonly isOurs: boolean } | undefined;
  /** What SHELL, SSH_ASKPASS and SSH_AUTH_SOCK name. */
  readonly shell?: string | undefined;
  readonly askpass?: string | undefined;
  readonly agent?: string | undefined;
  /** What POSTERN_BROWSER, KHARON_BROWSER or BROWSER name, a command line. */
  readonly browser?: string | undefined;
  /** Where the system's files begin, if not at the root. */
  readonly system?: string | undefined;
  /** What KUBECONFIG names. */
  readonly kubeconfig?: string | undefined;
  /** Programs that a person lets postern start besides: `--allow-run` before the command. */
  readonly programs?: readonly string[];
}

/** Names programs that a person lets postern start besides, with commas between them. */
export const programsVariable = "POSTERN_ALLOW_RUN";

/** The facts that the environment tells, and these. */
export function sourceFacts(
  known: Pick<SourceFacts, "directories" | "self" | "directory" | "platform" | "sockets" | "former">,
  env: (name: string) => string | undefined,
): SourceFacts {
  return {
    ...known,
    shell: env("SHELL"),
    askpass: env("SSH_ASKPASS"),
    agent: env("SSH_AUTH_SOCK"),
    browser: env("POSTERN_BROWSER") || env("KHARON_BROWSER") || env("BROWSER"),
    kubeconfig: env("KUBECONFIG"),
    system: env("POSTERN_ROOT"),
    programs: (env(programsVariable) ?? "").split(",").filter(Boolean),
  };
}

/** The flags of `deno run` for one command line from source: the narrowest that do. */
export function flagsFor(args: readonly string[], facts: SourceFacts): string[] {
  return toFlags(grantsFor(commandOf(args), facts.platform), narrowFor(args, facts));
}

/** The same for a worker of the compiled program, which uses no ssh and starts no programs. */
export function workerPermissions(
  args: readonly string[],
  facts: SourceFacts,
  { resolver }: Needs,
): WorkerPermissions {
  const unneeded = ["{ssh}", "{agent}", ...resolver ? [] : ["{resolver}"]];
  const narrow: Narrow = (kind, grant) =>
    narrowFor(args, facts)(kind, grant.filter((name) => !unneeded.includes(name)));
  const grants = grantsFor(commandOf(args), facts.platform);
  const kinds = permissionKinds.map((kind) => {
    const grant = kind === "run" ? undefined : grants[kind];
    return [kind, grant === undefined || grant === "any" ? grant === "any" : narrow(kind, grant)];
  });
  return Object.fromEntries(kinds);
}

/** Whether an instance writes to no place that only its configuration names, and starts no program. */
export function isConfinable(args: readonly string[], needs: Needs, configText: string | undefined): boolean {
  const namesSocket = /\bunix\b/.test(withoutRemarks(configText)) ||
    args.some((word) => /\bunix:/.test(word));
  return commandGrants[commandOf(args)] === instance && !needs.ssh && !namesSocket &&
    !kindsFor(args).includes("run");
}

function narrowFor(args: readonly string[], facts: SourceFacts): Narrow {
  const named = placesNamed(args);
  return (kind, grant) => {
    const names = grant.flatMap((name) => fill(name, facts));
    if (kind === "run") return [...new Set([...names, ...facts.programs ?? []])];
    if (kind !== "read" && kind !== "write") return names;
    const { former } = facts;
    const isSeen = former && grant.includes("{runtime}") && (kind === "read" || former.isOurs);
    return [...new Set([...names, ...(isSeen ? [former.path] : []), ...named])];
  };
}

/**
 * What a command may give up, by what needs it. A place inside a directory that stays stays too: Deno would take away
 * the whole directory.
 */
export function needsTable(args: readonly string[], facts: SourceFacts): NeedsTable {
  const { write = [] } = commandGrants[commandOf(args)] ?? {};
  const filled = (names: readonly string[]) => names.flatMap((name) => fill(name, facts));
  const given = write === "any" ? [] : write;
  const runsMore = kindsFor(args, { platform: facts.platform }).includes("run");
  const stays = [
    ...filled(given.filter((name) => !["{ssh}", "{agent}", "{resolver}"].includes(name))),
    ...placesNamed(args).map((place) => isAbsolute(place) ? place : `${facts.directory?.()}/${place}`),
  ].map(withoutDots);
  const goes = (name: string) =>
    given.includes(name)
      ? filled([name]).filter((place) => !stays.some((stay) => `${place}/`.startsWith(`${stay}/`)))
      : [];
  return {
    ssh: { run: filled(sshPrograms), write: [...goes("{ssh}"), ...goes("{agent}")] },
    // A kubeconfig that postern wrote from source names Deno as the program, which could start with any permission.
    plugins: [...signInPrograms, ...facts.programs ?? [], ...runsMore ? [] : [facts.self]],
    resolver: goes("{resolver}"),
    runsMore,
  };
}

/** The most that a command may need, told from its words and the text of the configuration. */
export function mayNeed(
  args: readonly string[],
  configText: string | undefined,
  { hasCatalogue, hasResolverFiles }: { readonly hasCatalogue: boolean; readonly hasResolverFiles: boolean },
): Needs {
  const usesPrograms = hasCatalogue || mayUseSsh(args, configText);
  // Other commands that have these places are there to write them; an instance repairs what a killed one has left.
  const isInstance = commandGrants[commandOf(args)] === instance;
  const usesDns = [...args, withoutRemarks(configText)].some((text) => /\bdns\b/.test(text));
  return {
    ssh: usesPrograms,
    plugins: usesPrograms ? "any" : [],
    resolver: !isInstance || usesDns || hasResolverFiles,
  };
}

/** Whether a command speaks to control sockets and to nothing else, so that it may not look at what is above them. */
export function isControlClient(args: readonly string[]): boolean {
  const { net, read } = commandGrants[commandOf(args)] ?? {};
  return read !== "any" && net !== undefined && net !== "any" && net.includes("{control}");
}

/**
 * The flags the program is compiled with: the union of all commands. Directories and the program's own path
 * are not known then, so those kinds become unrestricted, and `kindsFor` takes away what a command does not need.
 */
export function compiledFlags(): string[] {
  const union: Partial<Record<PermissionKind, Grant>> = {};
  for (const grants of Object.values(commandGrants)) {
    for (const kind of permissionKinds) {
      const grant = grants[kind];
      if (grant === undefined) continue;
      const isOpen = grant === "any" || union[kind] === "any" || grant.some((name) => name.startsWith("{"));
      union[kind] = isOpen ? "any" : [...new Set([...(union[kind] ?? []), ...grant])];
    }
  }
  return toFlags(union, (_kind, grant) => grant);
}

/** On Windows a door is controlled over loopback TCP. */
function grantsFor(command: string, platform: string): Grants {
  const grants = commandGrants[command] ?? commandGrants["help"] ?? {};
  const isOverTcp = platform === "windows" && grants.net !== "any" && grants.net?.includes("{control}");
  return isOverTcp ? { ...grants, net: ["127.0.0.1"] } : grants;
}

type Narrow = (kind: PermissionKind, grant: readonly string[]) => string[];

function toFlags(
  grants: Grants,
  narrow: (kind: PermissionKind, grant: readonly string[]) => readonly string[],
): string[] {
  return permissionKinds.flatMap((kind) => {
    const grant = grants[kind];
    if (grant === undefined) return [];
    if (grant === "any") return [`--allow-${kind}`];
    const names = narrow(kind, grant).map(escape);
    return names.length === 0 ? [] : [`--allow-${kind}=${names.join(",")}`];
  });
}

function fill(
  name: string,
  { directories, self, platform, sockets = [], system = "", shell, askpass, agent, browser, kubeconfig }:
    SourceFacts,
): readonly string[] {
  if (name === "{control}") return sockets.map((path) => `unix:${path}`);
  if (name === "{ssh}") return [`${directories.home}/.ssh`];
  if (name === "{shell}") return ["/bin/sh", ...(shell ? [shell] : [])];
  if (name === "{askpass}") return askpass ? [askpass] : [];
  if (name === "{services}") {
    const directory = `${directoryOf(directories.config)}/systemd`;
    return [platform === "darwin" ? `${directories.home}/Library/LaunchAgents` : directory];
  }
  if (name === "{serviceLogs}") return platform === "darwin" ? [`${directories.home}/Library/Logs`] : [];
  if (name === "{resolver}") return resolverDirectories.map((directory) => `${system}${directory}`);
  if (name === "{agent}") return agent ? [agent] : [];
  if (name === "{browser}") return [browserProgram(browser, platform)];
  if (name === "{kube}") {
    // Which of them is written to depends on which of them exist.
    const named = (kubeconfig ?? "").split(platform === "windows" ? ";" : ":").filter((path) => path !== "");
    return [...new Set([`${directories.home}/.kube`, ...named.map(directoryOf)])];
  }
  const places: Record<string, string> = { ...directories, self };
  return [name.replace(/^\{(\w+)\}$/, (whole, place: string) => places[place] ?? whole)];
}

/** What systemd-resolved and the resolver of macOS read, as `dns --apply` writes it. */
const resolverDirectories = ["/etc/systemd/resolved.conf.d", "/etc/systemd/dns-delegate.d", "/etc/resolver"];

/** The first word of what the environment says, else what the platform has for it. */
function browserProgram(line: string | undefined, platform: string): string {
  const [, quoted, word] = /^\s*(?:["']([^"']+)["']|(\S+))/.exec(line ?? "") ?? [];
  const usual: Record<string, string> = { darwin: "open", windows: "rundll32" };
  return quoted ?? word ?? usual[platform] ?? "xdg-open";
}

function isAbsolute(path: string): boolean {
  return /^(?:[\\/]|[A-Za-z]:)/.test(path);
}

/** A path without `.` and `..`, and without a slash at its end. */
function withoutDots(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return `${path.startsWith("/") ? "/" : ""}${parts.join("/")}`;
}

/** The directories of what the command line has written. */
function placesNamed(args: readonly string[]): string[] {
  return [...directoriesNamed(args, writingOptions[commandOf(args)] ?? []), ...directoryToMake(args)];
}

function directoriesNamed(args: readonly string[], options: readonly string[]): string[] {
  return args.flatMap((word, at) => {
    const [option = "", value] = word.split(/=(.*)/s);
    if (!options.includes(option)) return [];
    const path = value ?? args[at + 1];
    return path === undefined || path === "" ? [] : [directoryOf(path)];
  });
}

/** Certificates are made in a directory that is named without an option. */
function directoryToMake(args: readonly string[]): string[] {
  const at = args.indexOf("certs");
  if (at < 0 || args[at - 1] !== "konnectivity") return [];
  const words = args.slice(at + 1);
  return words.filter((word, at) => !word.startsWith("-") && !/^--(san|days)$/.test(words[at - 1] ?? ""))
    .slice(0, 1);
}

function directoryOf(path: string): string {
  const end = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return end < 0 ? "." : path.slice(0, Math.max(end, 1));
}

/** A comma inside a value is written twice. */
function escape(name: string): string {
  return name.replaceAll(",", ",,");
}
