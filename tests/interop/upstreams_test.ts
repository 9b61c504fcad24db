import assert from "node:assert/strict";
import { type PeerServer, runPeer } from "../support/peer_program.ts";
import { type PeerPaths, peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { RawClient, socks5Asking, socks5Request } from "../support/raw_client.ts";
import { startDante, startMicrosocks, startTinyproxy } from "../support/real_proxies.ts";
import { tlsFront } from "../support/target_server.ts";
import { testTls } from "../support/tls_files.ts";
import { large, sha256, WebSite } from "../support/web_site.ts";

const account = { user: "me", password: "s3cret-p.ss_word" };

/** A household with a password file and a CA file. */
async function openHousehold(): Promise<Household> {
  const home = await Household.open();
  await Deno.writeTextFile(`${home.directory}/password`, `${account.password}\n`);
  await Deno.writeTextFile(`${home.directory}/wrong`, "wrong\n");
  await Deno.writeTextFile(`${home.directory}/ca.crt`, testTls.ca);
  return home;
}

/** Downloads through an instance with these transports; `it` is the default. */
async function download(home: Household, transports: string, curl: string): Promise<string> {
  await home.configure(`transports:\n${transports}\ndefault: it\n`);
  await using site = new WebSite();
  await using instance = await home.instance();
  const file = `${home.directory}/down`;
  for (const option of ["--socks5-hostname", "--proxytunnel --proxy", "--proxy"]) {
    const { code, stderr } = await runPeer(curl, [
      ...["-sS", "--noproxy", "", ...option.split(" "), await instance.address()],
      ...["--output", file, `http://localhost:${site.port}/large`],
    ]);
    assert.equal(code, 0, stderr);
    assert.equal(await sha256(await Deno.readFile(file)), await sha256(large()), option);
  }
  await instance.says(new RegExp(`(conn\\.done .*target=localhost:${site.port} transport=it [^]*){3}`));
  return instance.stderr;
}

type Upstreams = "curl" | "danted" | "microsocks" | "tinyproxy";

interface UpstreamCase {
  readonly name: string;
  readonly peers: readonly Upstreams[];
  /** Starts the proxies and returns the transports that use them. */
  readonly start: (
    paths: PeerPaths<Upstreams>,
    home: Household,
    held: AsyncDisposableStack,
  ) => Promise<string>;
}

const signIn = (home: Household, file = "password") =>
  `user: ${account.user}, passwordFile: ${home.directory}/${file}`;

const cases: readonly UpstreamCase[] = [
  {
    name: "tinyproxy",
    peers: ["tinyproxy"],
    start: async ({ tinyproxy }, { directory }, held) => {
      const { address } = held.use(await startTinyproxy(tinyproxy, directory));
      return `  it: { proxy: { url: "http://${address}" } }`;
    },
  },
  {
    name: "tinyproxy with a password",
    peers: ["tinyproxy"],
    start: async ({ tinyproxy }, home, held) => {
      const { address } = held.use(await startTinyproxy(tinyproxy, home.directory, account));
      return `  it: { proxy: { url: "http://${address}", ${signIn(home)} } }`;
    },
  },
  {
    name: "microsocks",
    peers: ["microsocks"],
    start: async ({ microsocks }, _home, held) => {
      const { address } = held.use(await startMicrosocks(microsocks));
      return `  it: { proxy: { url: "socks5h://${address}" } }`;
    },
  },
  {
    name: "microsocks with a password",
    peers: ["microsocks"],
    start: async ({ microsocks }, home, held) => {
      const { address } = held.use(await startMicrosocks(microsocks, account));
      return `  it: { proxy: { url: "socks5://${address}", ${signIn(home)} } }`;
    },
  },
  {
    name: "dante",
    peers: ["danted"],
    start: async ({ danted }, { directory }, held) => {
      const { address } = held.use(await startDante(danted, directory));
      return `  it: { proxy: { url: "socks5h://${address}" } }`;
    },
  },
  {
    name: "tinyproxy behind TLS",
    peers: ["tinyproxy"],
    start: async ({ tinyproxy }, { directory }, held) => {
      const plain = held.use(await startTinyproxy(tinyproxy, directory));
      const { address } = held.use(tlsFront(plain.address, testTls.server));
      return `  it: { proxy: { url: "https://${address}", ca: ${directory}/ca.crt } }`;
    },
  },
  {
    name: "tinyproxy through microsocks through dante",
    peers: ["tinyproxy", "microsocks", "danted"],
    start: async ({ tinyproxy, microsocks, danted }, home, held) => {
      const last: PeerServer = held.use(await startTinyproxy(tinyproxy, home.directory, account));
      const middle = held.use(await startMicrosocks(microsocks, account));
      const first = held.use(await startDante(danted, home.directory));
      return [
        `  it: { proxy: { url: "http://${last.address}", ${signIn(home)} }, via: middle }`,
        `  middle: { proxy: { url: "socks5h://${middle.address}", ${signIn(home)} }, via: first }`,
        `  first: { proxy: { url: "socks5h://${first.address}" } }`,
      ].join("\n");
    },
  },
];

for (const { name, peers, start } of cases) {
  peerTest(
    `20 MB through ${name}, by name`,
    ["curl", ...peers],
    async (paths) => {
      await using home = await openHousehold();
      await using held = new AsyncDisposableStack();
      const known = paths as PeerPaths<Upstreams>;
      const log = await download(home, await start(known, home, held), known.curl);
      assert.ok(
        !log.includes(account.password) && !log.includes(btoa(`${account.user}:${account.password}`)),
      );
    },
  );
}

const refusals = [
  { protocol: "http", peer: "tinyproxy", start: startTinyproxy },
  {
    protocol: "socks5h",
    peer: "microsocks",
    start: (path: string, _directory: string, given: typeof account) => startMicrosocks(path, given),
  },
] as const;

for (const { protocol, peer, start } of refusals) {
  peerTest(
    `a password that ${peer} rejects is an error of the upstream, not of the client`,
    [peer],
    async (paths) => {
      await using home = await openHousehold();
      await using upstream = await start(
        (paths as Readonly<Record<string, string>>)[peer] ?? "",
        home.directory,
        account,
      );
      await home.configure(`
transports: { it: { proxy: { url: "${protocol}://${upstream.address}", ${signIn(home, "wrong")} } } }
default: it
`);
      await using instance = await home.instance();
      const address = await instance.address();
      const target = { host: "site.example", port: 80 };

      using socks = await RawClient.connect(address);
      await socks.send(socks5Asking(target));
      assert.deepEqual([...(await socks.take(12)).subarray(0, 4)], [5, 0, 5, 2]);

      for (const head of ["CONNECT site.example:80 HTTP/1.1", "GET http://site.example/ HTTP/1.1"]) {
        using http = await RawClient.connect(address);
        await http.send(`${head}\r\nHost: site.example\r\nConnection: close\r\n\r\n`);
        const answer = await http.restText();
        assert.match(answer, /^HTTP\/1\.1 403 /);
        assert.match(answer, /\r\nPostern-Error: auth; Cannot sign in at the proxy "it" /i);
        assert.doesNotMatch(answer, /proxy-authenticate/i);
      }
      await instance.says(/Cannot sign in at the proxy/);
      assert.equal((await home.run(["explain", "site.example:80", "--dial"])).code, 5);
    },
  );
}

peerTest("an upstream with a certificate of another CA is rejected", ["tinyproxy"], async ({ tinyproxy }) => {
  await using home = await openHousehold();
  await using plain = await startTinyproxy(tinyproxy, home.directory);
  await using front = tlsFront(plain.address, testTls.server);
  await home.configure(`transports: { it: { proxy: { url: "https://${front.address}" } } }\ndefault: it\n`);
  await using instance = await home.instance();
  using client = await RawClient.connect(await instance.address());
  await client.send(new Uint8Array([5, 1, 0, ...socks5Request({ host: "site.example", port: 80 })]));
  assert.notEqual((await client.take(12))[3], 0);
  const [line] = await instance.says(/conn\.done .*\n/);
  assert.match(line, /Cannot use the proxy \\?"it\\?" .*certificate/i);
});
