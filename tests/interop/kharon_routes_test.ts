import assert from "node:assert/strict";
import { runPeer } from "../support/peer_program.ts";
import { RawClient } from "../support/raw_client.ts";
import { type FarSide, farSideTest } from "../support/ssh_far_side.ts";
import { TargetServer, tlsFront } from "../support/target_server.ts";
import { testTls } from "../support/tls_files.ts";
import { WebSite } from "../support/web_site.ts";

const caFile = decodeURIComponent(new URL("../support/tls/ca.crt", import.meta.url).pathname);

/** A name, the transport it must use, and the number of sign-ins at each jump host. */
const rows: readonly { row: string; host: string; transport: string; signIns: readonly number[] }[] = [
  { row: "one hop", host: "api.c-lab-1.lab.internal", transport: "one", signIns: [1, 0, 0] },
  {
    row: "two hops by ProxyJump",
    host: "api.c-lab-2.lab.internal",
    transport: "two",
    signIns: [1, 1, 0],
  },
  {
    row: "three hops, the last by ProxyCommand ssh -W",
    host: "api.c-lab-3.lab.internal",
    transport: "three",
    signIns: [1, 1, 1],
  },
  { row: "a target without a route goes direct", host: "127.0.0.1", transport: "direct", signIns: [0, 0, 0] },
  {
    row: "a name next to the base domain",
    host: "vcenter.lab.internal",
    transport: "one",
    signIns: [1, 0, 0],
  },
  {
    row: "an exclusion below a routed domain goes direct",
    host: "apps.c-lab-1.lab.internal",
    transport: "direct",
    signIns: [0, 0, 0],
  },
  {
    row: "a look-alike of a routed domain goes direct",
    host: "evilc-lab-1.lab.internal",
    transport: "direct",
    signIns: [0, 0, 0],
  },
  {
    row: "upper case is the same name",
    host: "API.C-LAB-1.LAB.INTERNAL",
    transport: "one",
    signIns: [1, 0, 0],
  },
  {
    row: "a trailing dot is the same name",
    host: "api.c-lab-1.lab.internal.",
    transport: "one",
    signIns: [1, 0, 0],
  },
  {
    row: "the longer suffix decides",
    host: "deep.other.internal",
    transport: "two",
    signIns: [1, 1, 0],
  },
  {
    row: "the shorter suffix has the rest",
    host: "web.other.internal",
    transport: "one",
    signIns: [1, 0, 0],
  },
];

for (const { row, host, transport, signIns } of rows) {
  farSideTest(row, ["curl"], async ({ instance, address, jumps }, { curl }) => {
    await using site = new WebSite();
    const { code, stdout, stderr } = await runPeer(curl, [
      ...["-sS", "--write-out", "%{http_code}", "--socks5-hostname", address],
      `http://${host}:${site.port}/deep`,
    ]);
    assert.deepEqual([code, stdout.split("\n")[1]], [0, "200"], stderr + instance.stderr);
    assert.equal(site.requests.length, 1);
    assert.deepEqual(jumps.map(({ signIns }) => signIns), signIns);
    await instance.says(new RegExp(`conn\\.done .*transport=${transport} `));
  });
}

farSideTest("a name that only the jump host knows is resolved there", ["curl"], async (side, { curl }) => {
  await using site = new WebSite();
  const ask = (more: readonly string[]) =>
    runPeer(curl, ["-sS", ...more, `http://api.c-lab-1.lab.internal:${site.port}/`]);
  assert.equal((await ask(["--noproxy", "*"])).code, 6);
  assert.equal((await ask(["--proxy", `socks5h://${side.address}`])).code, 0);
});

farSideTest(
  "a minimal configuration reaches http and https sites that only the jump host knows",
  ["curl", "bash"],
  async ({ address, instance }, { curl, bash }) => {
    await using site = new WebSite();
    await using secure = tlsFront(site.address, testTls.server);
    const proxy = `socks5h://localhost:${address.split(":")[1]}`;
    const urls = [
      `https://site.example.net:${secure.port}/deep`,
      `http://site.example.net:${site.port}/deep`,
    ];
    const script = `export HTTP_PROXY=${proxy} http_proxy=${proxy} HTTPS_PROXY=${proxy}; exec "$0" "$@"`;
    for (const url of urls) {
      const args = ["-c", script, curl, "-sSf", "--cacert", caFile, url];
      const { code, stdout, stderr } = await runPeer(bash, args);
      assert.deepEqual([code, stdout], [0, `hidden: ${new URL(url).host}/deep\n`], stderr + instance.stderr);
    }
  },
);

farSideTest(
  "curl reaches such a name with HTTP CONNECT and with an HTTP proxy request",
  ["curl"],
  async (side, { curl }) => {
    await using site = new WebSite();
    for (const more of [["--proxytunnel"], []]) {
      const args = ["-sSf", ...more, "--proxy", `http://${side.address}`];
      const { code, stderr } = await runPeer(curl, [
        ...args,
        `http://api.c-lab-3.lab.internal:${site.port}/`,
      ]);
      assert.equal(code, 0, stderr);
    }
    assert.deepEqual(side.jumps.map(({ signIns }) => signIns), [1, 1, 1]);
  },
);

farSideTest("CONNECT goes through the jump host", [], async ({ address }) => {
  await using greeter = new TargetServer((client) => client.send("hello"));
  using client = await RawClient.connect(address);
  const host = `api.c-lab-1.lab.internal:${greeter.port}`;
  await client.send(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  assert.match(await client.restText(), /^HTTP\/1\.1 200 [^]*\r\n\r\nhello$/);
});

farSideTest("the PAC file sends routed names to the instance, and similar names direct", [], async (side) => {
  const proxyFor = await pacOf(side);
  const listener = `SOCKS5 ${side.address}`;
  assert.equal(proxyFor("https://api.c-lab-1.lab.internal/", "api.c-lab-1.lab.internal"), listener);
  assert.equal(proxyFor("https://API.C-LAB-1.LAB.INTERNAL/", "API.C-LAB-1.LAB.INTERNAL"), listener);
  for (const host of ["evilc-lab-1.lab.internal", "apps.c-lab-1.lab.internal", "example.com"]) {
    assert.equal(proxyFor(`https://${host}/`, host), "DIRECT");
  }
});

/** Evaluates the instance's PAC file like a browser. */
async function pacOf({ address }: FarSide): Promise<(url: string, host: string) => string> {
  using client = await RawClient.connect(address);
  await client.send(`GET /proxy.pac HTTP/1.1\r\nHost: ${address}\r\nConnection: close\r\n\r\n`);
  const [head, text] = (await client.restText()).split("\r\n\r\n");
  assert.match(head ?? "", /application\/x-ns-proxy-autoconfig/);
  return new Function(`${text}\nreturn FindProxyForURL;`)() as (url: string, host: string) => string;
}
