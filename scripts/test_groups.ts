/** Test directories that run together with exactly these permissions. */
export interface TestGroup {
  readonly name: string;
  readonly directories: readonly string[];
  /** Flags of `deno test`, in addition to `--no-prompt`. */
  readonly flags: readonly string[];
  /** For tests that neither measure time nor start programs. */
  readonly isParallel: boolean;
  /** For tests that let Deno fetch files and so need the machine's certificates and proxies. */
  readonly keepsEnvironment: boolean;
}

/** Variables of the machine that must not affect a test. */
export const hiddenEnvironment: readonly string[] = [
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()]),
  ...["SSL_CERT_FILE", "POSTERN_CONFIG", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"],
];

/** The parameters of the groups' flags. */
export interface TestPlace {
  /** The project's directory. */
  readonly root: string;
  /** A private directory, given to the tests as TMPDIR and removed after the run. */
  readonly temporary: string;
  /** The path of Deno. */
  readonly deno: string;
  /** The compiled program under test, if any. */
  readonly compiled: string | undefined;
  /** The paths of the installed programs. */
  readonly peers: readonly string[];
  /** Directories to read, for example Python's packages. */
  readonly environment: readonly string[];
}

/**
 * No test connects to another machine, but Deno grants a unix socket in a new directory only with the whole
 * network.
 */
const sockets = "--allow-net";

/** The YAML parser reads these on every parse. */
const parserEnv = ["LOG_TOKENS", "LOG_STREAM"];

/** Variables for tests of real programs: the peers, the platform's directories, the program to test. */
const programEnv = [
  ...parserEnv,
  "POSTERN_TEST_PEERS",
  "POSTERN_BIN",
  "POSTERN_IDLE_CONNECTIONS",
  "POSTERN_LONG",
  "POSTERN_CONFIG",
  "PATH",
  "HOME",
  "TMPDIR",
  "SHELL",
  "SSL_CERT_FILE",
  "NO_COLOR",
  "XDG_CONFIG_HOME",
  "XDG_STATE_HOME",
  "XDG_CACHE_HOME",
  "XDG_RUNTIME_DIR",
];

/** Variables that select the faults. */
const faultEnv = ["POSTERN_FAULT_SEED", "POSTERN_FAULT_SECONDS", "POSTERN_FAULT_ONLY"];

/** All groups, fast ones first. */
export function testGroups(place: TestPlace): TestGroup[] {
  const { root, temporary, deno } = place;
  const env = (names: readonly string[]) => `--allow-env=${names.join(",")}`;
  const files = [`--allow-read=${root},${temporary}`, `--allow-write=${temporary}`];
  const programs = [deno, ...place.compiled === undefined ? [] : [place.compiled], ...place.peers];
  const run = `--allow-run=${programs.join(",")}`;
  const outsideWith = (names: readonly string[]) => [
    sockets,
    `--allow-read=${[root, temporary, ...place.environment].join(",")}`,
    `--allow-write=${temporary}`,
    run,
    env([...programEnv, ...names]),
    "--allow-sys=uid",
  ];
  const outside = outsideWith([]);
  // The library that controls a browser reads the whole environment and information about the system.
  const browser = [
    sockets,
    `--allow-read=${[root, temporary, ...place.environment, ...place.peers].join(",")}`,
    `--allow-write=${temporary},${root}/docs/pictures`,
    run,
    "--allow-env",
    "--allow-sys",
  ];
  // Deno cannot grant links by path, and the started programs depend on the system.
  const system = [
    sockets,
    "--allow-read",
    "--allow-write",
    "--allow-run",
    env(programEnv),
    "--allow-sys=uid",
  ];
  return [
    group("pure", ["unit/words", "unit/core", "unit/world", "unit/wire", "unit/config", "unit/egress"], [
      env(parserEnv),
      `--allow-read=${root}`,
    ]),
    group("memory", [
      "unit/http",
      "unit/mux",
      "unit/control",
      "unit/clusters",
      "unit/signin",
      "unit/kube",
      "unit/ssh",
      "unit/catalogue",
      "unit/emergency",
      "unit/konnectivity",
      "unit/listeners",
      "unit/dns",
      "unit/transports",
      "unit/plan",
      "unit/instances",
      "unit/resolver",
      "unit/instance",
      "unit/fleet",
      "unit/roles",
      "unit/service",
      "unit/doctor",
      "unit/setup",
      "unit/programs",
      "unit/cli",
    ], [
      env(parserEnv),
    ]),
    group("routing", ["unit/routing"], [env([...parserEnv, "POSTERN_TEST_PEERS"]), run]),
    group("fuzz", ["fuzz"], [env([...parserEnv, "POSTERN_FUZZ_RUNS"]), `--allow-read=${root}/tests/fuzz`]),
    group(
      "scripts",
      ["unit/scripts", "unit/permissions"],
      [...files, `--allow-run=${deno}`, env(programEnv)],
      {
        keepsEnvironment: true,
      },
    ),
    group("runtime", ["unit/runtime"], system, { isParallel: false }),
    group("contract", ["contract"], [sockets, ...files, run, env(programEnv)]),
    group("interop", ["interop"], outside, { isParallel: false }),
    group("browser", ["browser"], browser, { isParallel: false }),
    group("cli", ["cli"], outside, { isParallel: false }),
    group("docs", ["docs"], outside, { isParallel: false }),
    group("faults", ["faults"], outsideWith(faultEnv), { isParallel: false }),
  ];
}

function group(
  name: string,
  directories: readonly string[],
  flags: readonly string[],
  { isParallel = true, keepsEnvironment = false } = {},
): TestGroup {
  return {
    name,
    directories: directories.map((directory) => `tests/${directory}`),
    flags,
    isParallel,
    keepsEnvironment,
  };
}
