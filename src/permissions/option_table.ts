/** The options that the program reads before the parser is loaded. The parser's own are made of these. */
export const optionNames = {
  config: "--config",
  logLevel: "--log-level",
  logFormat: "--log-format",
  verbose: ["-v", "--verbose"],
  id: "--id",
} as const;

/** Before the name of the command, only these take the next word. */
export const globalValues: readonly string[] = [
  optionNames.config,
  optionNames.logLevel,
  optionNames.logFormat,
];

/** Options without a value. An option that is in no list of this table takes the next word. */
export const flags: readonly string[] = [
  ...optionNames.verbose,
  "--help",
  "-h",
  "--version",
  "--all",
  "--allow-empty",
  "--allow-open",
  "--always",
  "--apply",
  "--background",
  "--device",
  "--dial",
  "--dry-run",
  "--each",
  "--etcd-names",
  "--exec-credential",
  "--follow",
  "-f",
  "--force",
  "--hosted",
  "--import-kharon",
  "--learned",
  "--live",
  "--merge",
  "--no-sign-in",
  "--on-demand",
  "--once",
  "--own-sessions",
  "--page",
  "--print",
  "--proxy-internal-api",
  "--renew",
  "--show",
  "--socks",
  "--take-over",
  "--temp",
  "--trust-on-first-use",
  "--undo",
  "--unset",
  "--update-timer",
  "--watch",
  "--with-credentials",
  "--yes",
];

/** Options that are flags of other commands and take a value in this one. */
export const notFlags: Readonly<Record<string, readonly string[]>> = {
  proxy: ["--on-demand"],
  dns: ["--print"],
};

/** Switches for the log of upstream's Konnectivity programs. */
const logSwitches = [
  "--logtostderr",
  "--alsologtostderr",
  "--one_output",
  "--skip_headers",
  "--skip_log_headers",
  "--add_dir_header",
  "--legacy_stderr_threshold_behavior",
] as const;

/** Log options of upstream's Konnectivity programs. A word with an underscore is an option only if it is one of these. */
export const logOptions = [
  "--v",
  "--vmodule",
  ...logSwitches,
  "--stderrthreshold",
  "--log_dir",
  "--log_file",
  "--log_file_max_size",
  "--log_backtrace_at",
] as const;

/** Switches as Go has them: `--x`, `--x=true`, `--x=false`. */
export const switches = [
  "--enable-lease-controller",
  "--count-server-leases",
  "--sync-forever",
  "--delete-existing-uds-file",
  "--enable-profiling",
  "--enable-contention-profiling",
  "--warn-on-channel-limit",
  "--close-idle-conn",
  "--cluster-proxy",
  "--enable-http2-healthchecks",
  "--connect-directly-to-cloud-apis",
  "--resolve-from-guest-cluster-dns",
  "--resolve-from-management-cluster-dns",
  "--disable-resolver",
  "--prefer-ipv4",
  ...logSwitches,
] as const;

/** Options whose value is optional: they take the next word unless it begins with `-`. */
export const optionalValues: readonly string[] = ["--kubernetes", ...switches];

/** Commands that pass words to another program unchanged, and how many words they keep. */
export const passingOn: Readonly<Record<string, number>> = { kubectl: 1, oc: 1, completion: 1, kubelogin: 0 };

/** `clusters NAME VERB` is the command of that name. */
export const clusterVerbs = [
  "kubeconfig",
  "shell",
  "kubectl",
  "oc",
  "console",
  "emergency-credentials",
] as const;

/** Options that name a file or socket to create. */
export const writingOptions: Readonly<Record<string, readonly string[]>> = {
  proxy: ["--listen-unix", "--ready-file", "--log-file"],
  config: [optionNames.config],
  kubeconfig: ["--file"],
  "emergency-credentials": ["--file"],
  konnectivity: ["--uds-name", "--proxy-uds"],
};
