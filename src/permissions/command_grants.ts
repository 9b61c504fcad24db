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
export const sshPrograms = ["{shell}", "ssh", "{askpass}"];

/** What kubeconfigs usually name to sign in with; a door that is compiled may start any. */
export const signInPrograms = [
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
export const instance: Grants = {
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

/** Whether others depend on a command for as long as it runs. */
export function isDependedOn(command: string): boolean {
  return ["proxy", "proxy-out", "konnectivity", "shell", "kubectl", "oc"].includes(command);
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

/** On Windows a door is controlled over loopback TCP. */
export function grantsFor(command: string, platform: string): Grants {
  const grants = commandGrants[command] ?? commandGrants["help"] ?? {};
  const isOverTcp = platform === "windows" && grants.net !== "any" && grants.net?.includes("{control}");
  return isOverTcp ? { ...grants, net: ["127.0.0.1"] } : grants;
}
