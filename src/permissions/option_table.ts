/** The options that postern reads before the parser loads. The parser uses the same names. */
export const optionNames = {
  config: "--config",
  logLevel: "--log-level",
  logFormat: "--log-format",
  verbose: ["-v", "--verbose"],
  id: "--id",
} as const;

/** The only options before the command's name that take the next word. */
export const globalValues: readonly string[] = [
  optionNames.config,
  optionNames.logLevel,
  optionNames.logFormat,
];

/** Options without a value. An option that is not in this table takes the next word. */
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
  "--release",
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
  "-N",
  "-z",
];

/** Options that take a value in this command and are flags in others. */
export const notFlags: Readonly<Record<string, readonly string[]>> = {
  proxy: ["--on-demand"],
  dns: ["--print"],
};

/** Log switches of upstream's Konnectivity programs. */
const logSwitches = [
  "--logtostderr",
  "--alsologtostderr",
  "--one_output",
  "--skip_headers",
  "--skip_log_headers",
  "--add_dir_header",
  "--legacy_stderr_threshold_behavior",
] as const;

/** Log options of upstream's Konnectivity programs. Other words with an underscore are not options. */
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

/** Switches in Go's syntax: `--x`, `--x=true`, `--x=false`. */
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

/** Options with an optional value: they take the next word unless it begins with `-`. */
export const optionalValues: readonly string[] = ["--kubernetes", ...switches];

/** Commands that pass words to another program unchanged, with the number of words that they keep. */
export const passingOn: Readonly<Record<string, number>> = {
  kubectl: 1,
  oc: 1,
  run: 1,
  completion: 1,
  kubelogin: 0,
};

/** `clusters NAME VERB` runs the command of that name. */
export const clusterVerbs = [
  "kubeconfig",
  "shell",
  "kubectl",
  "oc",
  "console",
  "emergency-credentials",
] as const;

/** Options that name a file or socket that postern creates. */
export const writingOptions: Readonly<Record<string, readonly string[]>> = {
  proxy: ["--listen-unix", "--ready-file", "--log-file"],
  forward: ["--ready-file"],
  config: [optionNames.config],
  setup: [optionNames.config],
  kubeconfig: ["--file"],
  "emergency-credentials": ["--file"],
  konnectivity: ["--uds-name", "--proxy-uds"],
};
