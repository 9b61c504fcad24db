import type { ProgramKind } from "../../src/routing/mod.ts";
import type { PeerName } from "../../scripts/peer_table.ts";

/** Where a client's connection arrived: through postern, directly, or nowhere. */
export type Arrival = "postern" | "direct" | "nowhere";

/** One row of the table of clients: how a program is set up, and where it connects. */
export interface MatrixClient {
  readonly name: string;
  readonly peers: readonly PeerName[];
  /** The value of `--for`; `env` alone if undefined. */
  readonly programs?: ProgramKind;
  readonly socks?: true;
  /** The command for a URL; `peers` has the paths, `scratch` a directory. */
  readonly command: (at: ClientTarget) => readonly string[];
  /** The scheme if it is not HTTP. */
  readonly scheme?: "jdbc" | "ssh" | "ws";
  /** Whether the test also requests an HTTPS URL, whose handshake the origin ends. */
  readonly https?: true;
  readonly env?: (at: Pick<ClientTarget, "scratch" | "host">) => Readonly<Record<string, string>>;
  /** Where a routed name arrives (default: through postern), and a target of `direct` (default: directly). */
  readonly routed?: Arrival;
  readonly direct?: Arrival;
  /** Whether the program also asks the local resolver for a routed name. */
  readonly leaks?: true;
  /** What the guide says about the program. */
  readonly note?: string;
}

export interface ClientTarget {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly peers: Readonly<Record<string, string>>;
  readonly scratch: string;
}

const python = (code: string) => ({ url, peers }: ClientTarget) => [peers["python"] ?? "", "-c", code, url];
const node = (peer: "node" | "node24", code: string) => ({ url, peers }: ClientTarget) => [
  peers[peer] ?? "",
  "-e",
  code,
  url,
  ...peers["undici"] ? [peers["undici"]] : [],
];
const java = (main: string) => ({ url, peers, scratch }: ClientTarget) => [
  (peers["javac"] ?? "").replace(/javac$/, "java"),
  // A program of this length ends before better code would help.
  "-XX:TieredStopAtLevel=1",
  ...["-cp", [scratch, peers["postgresql_jdbc"] ?? ""].filter(Boolean).join(":")],
  main,
  url,
];
const nodeFetch =
  "fetch(process.argv[1]).then(async (got) => console.log(await got.text())).catch(fail); function fail(e) { console.error(e); process.exit(1) }";
const nodeGet =
  "require(process.argv[1].startsWith('https') ? 'https' : 'http').get(process.argv[1], (got) => got.pipe(process.stdout)).on('error', (e) => { console.error(e); process.exit(1) })";
const nodeUndici =
  "const { EnvHttpProxyAgent, fetch } = require(process.argv[2]); fetch(process.argv[1], { dispatcher: new EnvHttpProxyAgent() }).then(async (got) => console.log(await got.text())).catch((e) => { console.error(e); process.exit(1) })";
const httpx = "import httpx, sys; print(httpx.get(sys.argv[1]).text)";
const withoutSocks = "import sys; sys.modules['socksio'] = None\n";
const aiohttp = (call: string) => `
import aiohttp, asyncio, sys
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session:
        ${call}
asyncio.run(main())
`;

/** All rows, in the order of the guide's table. */
export const matrixClients: readonly MatrixClient[] = [
  {
    name: "curl",
    peers: ["curl"],
    https: true,
    command: ({ url, peers }) => [peers["curl"] ?? "", "-sS", url],
  },
  {
    name: "wget",
    peers: ["wget"],
    https: true,
    command: ({ url, peers }) => [peers["wget"] ?? "", "-q", "-t1", "-O-", url],
  },
  {
    name: "aria2",
    peers: ["aria2"],
    https: true,
    direct: "postern",
    note: "Ignores the subdomains of a name in `no_proxy`; postern connects to them directly.",
    command: ({ url, host, peers, scratch }) => [
      peers["aria2"] ?? "",
      ...["--no-conf", "--quiet", "--max-tries=1", `--dir=${scratch}`, `--out=${host}`, url],
    ],
  },
  {
    name: "Python httpx",
    peers: ["python"],
    https: true,
    command: python(withoutSocks + httpx),
    note: "The SDKs of OpenAI and Anthropic send their requests with it.",
  },
  {
    name: "Python httpx with `--socks`",
    peers: ["python"],
    socks: true,
    https: true,
    command: python(httpx),
    note: "Needs `httpx[socks]`; without it, httpx fails to start.",
  },
  {
    name: "Python requests",
    peers: ["python"],
    https: true,
    command: python("import requests, sys; print(requests.get(sys.argv[1]).text)"),
  },
  {
    name: "Python urllib",
    peers: ["python"],
    https: true,
    command: python("import urllib.request, sys; print(urllib.request.urlopen(sys.argv[1]).read())"),
  },
  {
    name: "Python aiohttp",
    peers: ["python"],
    https: true,
    command: python(
      aiohttp("async with session.get(sys.argv[1]) as got: print(await got.text())"),
    ),
    note: "Only with `ClientSession(trust_env=True)`.",
  },
  {
    name: "Python aiohttp WebSocket",
    peers: ["python"],
    scheme: "ws",
    command: python(aiohttp("await session.ws_connect(sys.argv[1])")),
    note: "Only with `ClientSession(trust_env=True)`; reads `ws_proxy` and `wss_proxy`.",
  },
  {
    name: "pip",
    peers: ["python"],
    command: ({ url, host, peers }) => [
      peers["python"] ?? "",
      ...["-m", "pip", "index", "versions", "demo", "--retries=0", "--disable-pip-version-check"],
      ...[`--index-url=${url}simple`, `--trusted-host=${host}`],
    ],
  },
  {
    name: "Node.js `fetch`, 24 and newer",
    peers: ["node24"],
    https: true,
    command: node("node24", nodeFetch),
    note: "`NODE_USE_ENV_PROXY=1`, which `env` sets; also 22.21.",
  },
  {
    name: "Node.js `http` and `https`, 24 and newer",
    peers: ["node24"],
    https: true,
    command: node("node24", nodeGet),
    direct: "postern",
    note: "The same variable. Ignores the subdomains of a name in `no_proxy`.",
  },
  {
    name: "Node.js `fetch`, older",
    peers: ["node"],
    command: node("node", nodeFetch),
    routed: "nowhere",
    leaks: true,
    note: "Ignores all variables. Use undici, a newer Node.js, or a forward.",
  },
  {
    name: "undici with `EnvHttpProxyAgent`",
    peers: ["node", "undici"],
    https: true,
    command: node("node", nodeUndici),
  },
  {
    name: "npm",
    peers: ["npm"],
    command: ({ url, peers, scratch, host }) => [
      peers["npm"] ?? "",
      ...["view", "demo", "version", `--registry=${url}`, `--cache=${scratch}/npm-${host}`],
      ...["--fetch-retries=0", "--no-update-notifier"],
    ],
  },
  {
    name: "Deno `fetch`",
    peers: [],
    https: true,
    leaks: true,
    command: ({ url, peers }) => [
      peers["deno"] ?? "",
      ...["run", "--no-config", "--no-prompt", "--allow-net", "--allow-env"],
      "data:text/javascript,console.log(await (await fetch(Deno.args[0])).text())",
      url,
    ],
  },
  {
    name: "Go `net/http`",
    peers: ["goclient"],
    https: true,
    command: ({ url, peers }) => [peers["goclient"] ?? "", "environment", url],
  },
  {
    name: "kubectl",
    peers: ["kubectl"],
    command: ({ url, peers }) => [
      peers["kubectl"] ?? "",
      ...["--kubeconfig=/dev/null", `--server=${url}`, "get", "--raw", "/"],
    ],
    note: "A `proxy-url` in the kubeconfig overrides the variables.",
  },
  {
    name: "Java `HttpClient`",
    peers: ["javac"],
    programs: "java",
    https: true,
    command: java("Fetch"),
  },
  {
    name: "Java `HttpURLConnection`",
    peers: ["javac"],
    programs: "java",
    https: true,
    command: java("Open"),
  },
  {
    name: "JDBC, PostgreSQL driver",
    peers: ["javac", "postgresql_jdbc"],
    programs: "jdbc",
    scheme: "jdbc",
    command: java("Query"),
    note: "The driver lets the SOCKS proxy resolve the name. Other drivers may resolve it first.",
  },
  {
    name: "Ruby `Net::HTTP`",
    peers: ["ruby"],
    https: true,
    leaks: true,
    note: "Looks for loopback addresses before it uses a proxy.",
    command: ({ url, peers }) => [
      peers["ruby"] ?? "",
      ...["-rnet/http", "-e", "puts Net::HTTP.get(URI(ARGV[0]))", url],
    ],
  },
  {
    name: "PHP curl",
    peers: ["php"],
    https: true,
    command: ({ url, peers }) => [
      peers["php"] ?? "",
      "-r",
      "$c = curl_init($argv[1]); $got = curl_exec($c); exit($got === false ? 1 : 0);",
      url,
    ],
  },
  {
    name: "PHP streams (`file_get_contents`)",
    peers: ["php"],
    command: ({ url, peers }) => [
      peers["php"] ?? "",
      "-r",
      "$got = @file_get_contents($argv[1]); echo $got; exit($got === false ? 1 : 0);",
      url,
    ],
    routed: "nowhere",
    leaks: true,
    note: "Ignores all variables. Pass a stream context with `proxy`, or use a forward.",
  },
  {
    name: "Perl LWP",
    peers: ["lwp"],
    command: ({ url, peers }) => [peers["lwp"] ?? "", url],
    note: "In a program: `LWP::UserAgent->new(env_proxy => 1)`.",
  },
  {
    name: "Perl `HTTP::Tiny`",
    peers: ["perl", "lwp"],
    command: ({ url, peers }) => [
      peers["perl"] ?? "",
      ...[
        "-MHTTP::Tiny",
        "-e",
        "$r = HTTP::Tiny->new->get($ARGV[0]); print $r->{content}; exit !$r->{success}",
      ],
      url,
    ],
  },
  {
    name: "git over HTTP",
    peers: ["git"],
    https: true,
    command: ({ url, peers }) => [peers["git"] ?? "", "ls-remote", `${url}demo.git`],
  },
  {
    name: "git over ssh",
    peers: ["git", "ssh"],
    programs: "git",
    scheme: "ssh",
    direct: "postern",
    command: ({ url, peers }) => [peers["git"] ?? "", "ls-remote", url],
    note:
      "The rules apply to every host and replace `ProxyJump` and `ProxyCommand` of your ssh configuration.",
  },
  {
    name: "cargo",
    peers: ["cargo"],
    command: ({ url, peers }) => [
      peers["cargo"] ?? "",
      ...["search", "demo", "--index", `sparse+${url}index/`],
    ],
    env: ({ scratch, host }) => ({
      CARGO_HOME: `${scratch}/cargo-${host}`,
      CARGO_NET_RETRY: "0",
      // The compiler's installer starts cargo from its own directory.
      RUSTUP_HOME: `${Deno.env.get("HOME")}/.rustup`,
    }),
  },
  {
    name: "apt",
    peers: ["apt_get"],
    command: ({ url, host, scratch }) => [
      "/usr/lib/apt/apt-helper",
      ...["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=0"],
      ...["download-file", url, `${scratch}/apt-${host}`],
    ],
    note:
      "`sudo` removes the variables: `sudo --preserve-env=http_proxy,https_proxy,no_proxy apt-get update`.",
  },
];
