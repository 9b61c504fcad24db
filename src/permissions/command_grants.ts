/** The kinds of Deno permissions that postern uses; it never gets `ffi` and `import`. */
export type PermissionKind = "net" | "read" | "write" | "env" | "run" | "sys";

/**
 * Everything, or these names. Names in braces stand for paths:
 *
 * - `{config}`, `{state}`, `{cache}`, `{runtime}`: the platform's directories
 * - `{self}`: the program
 * - `{control}`: the control sockets of running instances
 * - `{ssh}`: the user's ssh directory
 * - `{shell}`, `{askpass}`: the programs in `$SHELL` and `$SSH_ASKPASS`
 * - `{agent}`: the socket of the ssh agent
 * - `{browser}`: the program that opens web addresses
 * - `{kube}`: the directories of kubeconfigs
 * - `{services}`, `{serviceLogs}`: the directories of the user's services and of their launchd logs
 * - `{resolver}`: the directories of the system's resolver
 */
export type Grant = "any" | readonly string[];

/** The permissions of one command. A missing kind is not granted. */
export type Grants = Readonly<Partial<Record<PermissionKind, Grant>>>;

/** All kinds, in the order in which postern revokes them. */
export const permissionKinds: readonly PermissionKind[] = ["net", "read", "write", "env", "run", "sys"];

/** The environment variables that every command may read. */
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

/** For commands that only connect to a running instance: the control socket and its lock. */
const client: Grants = {
  net: ["{control}"],
  read: ["{config}", "{state}", "{runtime}"],
  write: ["{state}", "{runtime}"],
  env: commonEnv,
  sys: ["uid"],
};

/**
 * For commands that ask a running instance, or else read the configuration, which may name any file and variable
 * (`${NAME}`). SQLite must be able to write to the stored catalogue.
 */
const reader: Grants = {
  ...client,
  read: "any",
  write: ["{state}", "{cache}", "{runtime}"],
  env: "any",
};

/** For commands that can change the user's kubeconfig, and get certificates from API servers through the instance. */
const kubeconfigWriter: Grants = {
  ...reader,
  net: "any",
  write: ["{state}", "{cache}", "{runtime}", "{kube}"],
};

/** The programs that an ssh configuration can start: a shell for `Match exec` and ProxyCommand, ssh, SSH_ASKPASS. */
export const sshPrograms = ["{shell}", "ssh", "{askpass}"];

/** Common exec plugins of kubeconfigs. A compiled instance may start any program. */
export const signInPrograms = [
  ...["kubectl", "kubelogin", "kubectl-oidc_login", "oc", "postern", "tsh"],
  ...["aws", "aws-iam-authenticator", "gke-gcloud-auth-plugin", "doctl", "exo"],
];

/** The system facts that an ssh configuration can use. */
const sshFacts = ["uid", "gid", "username", "homedir", "hostname", "networkInterfaces"];

/** For commands that ask a running instance, or else connect as an instance would. */
const walker: Grants = {
  ...reader,
  net: "any",
  // Deno requires write permission to connect to a unix socket.
  write: ["{state}", "{cache}", "{runtime}", "{ssh}", "{agent}"],
  run: [...sshPrograms, ...signInPrograms],
  sys: sshFacts,
};

/** For commands that sign in with a browser and call an API, if configured through a transport. */
const fetcher: Grants = { ...walker, run: ["{browser}", ...sshPrograms] };

/** For commands that connect to services by the rules, and can change the user's kubeconfig. */
const emergency: Grants = {
  ...walker,
  write: ["{state}", "{cache}", "{runtime}", "{ssh}", "{agent}", "{kube}"],
};

/**
 * For commands that start any program for a cluster. If no instance runs, they start one until the program
 * ends.
 */
const runner: Grants = {
  ...walker,
  write: ["{state}", "{cache}", "{runtime}", "{ssh}", "{agent}", "{kube}"],
  run: "any",
};

/** For commands that read the configuration, write the files of a service and reload the service manager. */
const installer: Grants = {
  read: "any",
  write: ["{cache}", "{services}"],
  env: "any",
  run: ["systemctl", "launchctl"],
  sys: ["uid"],
};

const uninstaller: Grants = { ...installer, read: ["{services}"], write: ["{services}"], env: commonEnv };

/** The programs that read and write the proxy settings of a desktop. */
const desktopPrograms = [
  ...["gsettings", "kreadconfig5", "kreadconfig6", "kwriteconfig5", "kwriteconfig6", "dbus-send"],
  ...["networksetup", "reg"],
];

/** The variables that name the desktop of this session. */
const desktopEnv = ["XDG_CURRENT_DESKTOP", "KDE_SESSION_VERSION"];

export const instance: Grants = {
  net: "any",
  read: "any",
  // postern stores accepted host keys in ssh's files.
  write: ["{state}", "{cache}", "{runtime}", "{ssh}", "{agent}", "{resolver}"],
  env: "any",
  run: ["{self}", ...sshPrograms, ...signInPrograms],
  sys: sshFacts,
};

/**
 * The command that a command lets other programs start: instances in the background, services, exec plugins of
 * kubeconfigs, a ProxyCommand. From source, it gets Deno's flags for that command.
 */
export function startedLater(command: string): string | undefined {
  const grants = commandGrants[command];
  if (grants === instance || grants === installer) return "proxy";
  if (grants === kubeconfigWriter || grants === runner || command === "oc-web-login") {
    return "exec-credential";
  }
  return ["env", "run", "ssh-config"].includes(command) ? "nc" : undefined;
}

/** Whether other programs depend on a command while it runs. */
export function isDependedOn(command: string): boolean {
  return ["proxy", "proxy-out", "konnectivity", "shell", "kubectl", "oc", "run"].includes(command);
}

/** The permissions of each command. */
export const commandGrants: Readonly<Record<string, Grants>> = {
  proxy: instance,
  "proxy-out": instance,
  connect: instance,
  disconnect: client,
  quit: client,
  status: client,
  connections: client,
  top: client,
  hosts: client,
  reload: client,
  stop: client,
  // The log of a service is in the journal, or in the file that its launchd agent names.
  logs: {
    ...client,
    read: ["{config}", "{state}", "{runtime}", "{services}", "{serviceLogs}"],
    run: ["journalctl"],
  },
  explain: walker,
  nc: walker,
  // In this process when no instance runs.
  forward: walker,
  // Reads the ssh configuration of the jump hosts.
  "ssh-config": { ...walker, net: ["{control}"], write: ["{state}", "{cache}", "{runtime}"] },
  test: walker,
  env: reader,
  // Starts any program. Without an instance, it runs one until the program ends.
  run: { ...walker, run: "any" },
  pac: reader,
  update: fetcher,
  login: fetcher,
  logout: walker,
  clusters: kubeconfigWriter,
  kubeconfig: kubeconfigWriter,
  shell: runner,
  kubectl: runner,
  oc: runner,
  // Reaches a cluster's sign-in through the instance, or as an instance would.
  "exec-credential": fetcher,
  switch: kubeconfigWriter,
  "oc-web-login": { ...fetcher, write: ["{state}", "{cache}", "{runtime}", "{ssh}", "{agent}", "{kube}"] },
  kubelogin: { read: ["{config}", "{cache}"], env: "any", run: "any", sys: ["uid"] },
  console: { ...reader, run: ["{browser}"] },
  "emergency-credentials": emergency,
  dns: { ...reader, write: ["{state}", "{cache}", "{runtime}", "{resolver}"], run: ["systemctl"] },
  "system-proxy": { ...client, env: [...commonEnv, ...desktopEnv], run: desktopPrograms },
  cleanup: {
    ...client,
    net: ["{control}", "127.0.0.1", "[::1]"],
    read: ["{config}", "{state}", "{cache}", "{runtime}", "{resolver}"],
    write: ["{state}", "{cache}", "{runtime}", "{resolver}"],
    env: [...commonEnv, ...desktopEnv],
    run: ["systemctl", ...desktopPrograms],
  },
  // The options name any listen address and file.
  konnectivity: {
    net: "any",
    read: "any",
    write: ["{runtime}"],
    env: "any",
    sys: ["uid", "networkInterfaces"],
  },
  // Connects to an API server, and to readiness endpoints through the checked proxy.
  egress: { net: "any", read: "any", env: "any", sys: ["uid", "hostname"] },
  "service-install": installer,
  "service-uninstall": uninstaller,
  service: installer,
  install: installer,
  config: { ...walker, net: ["{control}"], write: ["{config}", "{state}", "{cache}", "{runtime}"] },
  // Tries what it proposes as an instance would, then writes the configuration and the password of a proxy.
  setup: { ...walker, write: ["{config}", "{state}", "{cache}", "{runtime}", "{ssh}", "{agent}"] },
  doctor: walker,
  demo: { net: ["127.0.0.1", "[::1]", "localhost"], env: commonEnv, sys: ["uid"] },
  completion: { env: commonEnv },
  version: { env: commonEnv },
  help: { env: commonEnv },
};

/** The permissions on a platform: on Windows, the control protocol uses loopback TCP. */
export function grantsFor(command: string, platform: string): Grants {
  const grants = commandGrants[command] ?? commandGrants["help"] ?? {};
  const isOverTcp = platform === "windows" && grants.net !== "any" && grants.net?.includes("{control}");
  return isOverTcp ? { ...grants, net: ["127.0.0.1"] } : grants;
}
