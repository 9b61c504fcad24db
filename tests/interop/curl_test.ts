import assert from "node:assert/strict";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { TargetServer, tlsFront } from "../support/target_server.ts";
import { testTls } from "../support/tls_files.ts";
import { large, type Seen, sha256, WebSite } from "../support/web_site.ts";

const ways: readonly { name: string; args: readonly string[]; protocol: string }[] = [
  { name: "--socks4", args: ["--socks4"], protocol: "socks4" },
  { name: "--socks4a", args: ["--socks4a"], protocol: "socks4" },
  { name: "--socks5", args: ["--socks5"], protocol: "socks5" },
  { name: "--socks5-hostname", args: ["--socks5-hostname"], protocol: "socks5" },
  { name: "--proxy (absolute form)", args: ["--proxy"], protocol: "http" },
  { name: "--proxytunnel (CONNECT)", args: ["--proxytunnel", "--proxy"], protocol: "http" },
];

peerTest("curl connects through postern with every protocol", ["curl"], async ({ curl }) => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  await using site = new WebSite();
  await using instance = await home.instance();
  const address = await instance.address();
  for (const { name, args, protocol } of ways) {
    const { code, stdout, stderr } = await runPeer(curl, [
      "-sS",
      "--noproxy",
      "",
      ...args,
      address,
      `http://${site.address}/page`,
    ]);
    assert.deepEqual([code, stdout, stderr], [0, `hidden: ${site.address}/page\n`, ""], name);
    await instance.says(
      new RegExp(`conn\\.done .*protocol=${protocol} target=${site.address} .*outcome=done`),
    );
  }
});

peerTest(
  "curl gets a few interim responses of an origin that sends them endlessly",
  ["curl"],
  async ({ curl }) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await using origin = new TargetServer(async (client) => {
      await client.takeUntil("\r\n\r\n");
      const hints = `HTTP/1.1 103 Early Hints\r\nLink: ${"x".repeat(100)}\r\n\r\n`.repeat(100);
      while (true) await client.send(hints);
    });
    await using instance = await home.instance();
    const { code, stdout } = await runPeer(curl, [
      ...["-sS", "-i", "--max-time", "20", "--noproxy", "", "--proxy", await instance.address()],
      `http://${origin.address}/`,
    ]);
    assert.equal(code, 0);
    assert.equal(stdout.match(/^HTTP\/1\.1 103 /gm)?.length, 16);
    assert.match(stdout, /^HTTP\/1\.1 502 [^]*too many 1xx responses/m);
  },
);

peerTest(
  "curl reaches an https site with every protocol, and gets the site's own certificate",
  ["curl"],
  async ({ curl }) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await Deno.writeTextFile(`${home.directory}/ca.crt`, testTls.ca);
    await using site = new WebSite();
    await using front = tlsFront(site.address, testTls.server);
    await using instance = await home.instance();
    for (const { name, args } of ways) {
      const { code, stdout, stderr } = await runPeer(curl, [
        ...[
          "-sS",
          "--noproxy",
          "",
          "--cacert",
          `${home.directory}/ca.crt`,
          ...args,
          await instance.address(),
        ],
        `https://${front.address}/page`,
      ]);
      assert.deepEqual([code, stderr], [0, ""], name);
      assert.equal(stdout, `hidden: ${front.address}/page\n`);
    }
  },
);

peerTest("curl connects through a unix socket listener", ["curl"], async ({ curl }) => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  await using site = new WebSite();
  const path = `${home.directory}/postern.sock`;
  await using instance = home.start(["proxy", "--listen-unix", path]);
  await instance.ready;
  const { code, stdout, stderr } = await runPeer(curl, [
    ...["-sS", "--noproxy", "", "--proxy", `socks5h://localhost${path}`, `http://${site.address}/page`],
  ]);
  assert.deepEqual([code, stdout, stderr], [0, `hidden: ${site.address}/page\n`, ""]);
});

peerTest("curl sends a chunked body that waits for 100 Continue", ["curl"], async ({ curl }) => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  await using site = new WebSite();
  await using instance = await home.instance();
  for (const tunnel of [[], ["--proxytunnel"]]) {
    const { code, stdout, stderr } = await runPeer(curl, [
      ...["-sSv", "--noproxy", "", ...tunnel, "--proxy", await instance.address()],
      ...[
        "--header",
        "Transfer-Encoding: chunked",
        "--header",
        "Expect: 100-continue",
        "--expect100-timeout",
        "9",
      ],
      ...["--data-binary", "@-", `http://${site.address}/sink`],
    ], { stdin: "x".repeat(100_000) });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /< HTTP\/1\.1 100 Continue/);
    const seen: Seen = JSON.parse(stdout);
    assert.deepEqual([seen.method, seen.bytes], ["POST", 100_000]);
  }
});

for (const { name, args } of ways) {
  peerTest(`curl ${name} transfers 20 MB each way unchanged`, ["curl"], async ({ curl }) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await using site = new WebSite();
    await using instance = await home.instance();
    const way = ["-sS", "--noproxy", "", ...args, await instance.address()];
    const file = `${home.directory}/down`;
    const down = await runPeer(curl, [...way, "--output", file, `http://${site.address}/large`]);
    assert.deepEqual([down.code, down.stderr], [0, ""]);
    const expected = await sha256(large());
    assert.equal(await sha256(await Deno.readFile(file)), expected);
    const up = await runPeer(curl, [...way, "--upload-file", file, `http://${site.address}/sink`]);
    assert.equal(up.code, 0, up.stderr);
    const { bytes, sha256: sum }: Seen = JSON.parse(up.stdout);
    assert.deepEqual([bytes, sum], [large().length, expected]);
  });
}

peerTest(
  "curl's second request uses the same connection, and Host is the site's",
  ["curl"],
  async (
    { curl },
  ) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await using site = new WebSite();
    await using instance = await home.instance();
    const url = `http://${site.address}/seen`;
    const { code, stdout, stderr } = await runPeer(curl, [
      ...[
        "-sSv",
        "--noproxy",
        "",
        "--proxy",
        `http://me:secret@${await instance.address()}`,
        "--proxy-basic",
      ],
      ...[
        "--header",
        "Proxy-Connection: keep-alive",
        "--header",
        "Connection: X-Hop",
        "--header",
        "X-Hop: 1",
        url,
        url,
      ],
    ]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Re-using existing connection/);
    const [first, second, ...more] = stdout.replace("}{", "}\n{").split("\n");
    assert.equal(more.length, 0);
    for (const text of [first, second]) {
      const { headers }: Seen = JSON.parse(text ?? "");
      assert.equal(headers["host"], site.address);
      const names = Object.keys(headers).filter((name) => /^proxy-|^x-hop$/.test(name));
      assert.deepEqual(names, []);
    }
    assert.equal(site.clients.size, 1);
  },
);

peerTest("curl signs in to a listener with users, by HTTP and by SOCKS5", ["curl"], async ({ curl }) => {
  await using home = await Household.open();
  await Deno.writeTextFile(`${home.directory}/password`, "s3cret\n");
  await home.configure(
    `listen: { auth: { users: [{ name: me, passwordFile: ${home.directory}/password }] } }\n`,
  );
  await using site = new WebSite();
  await using instance = await home.instance();
  const address = await instance.address();
  const ask = (proxy: string) =>
    runPeer(curl, [
      "-sS",
      "--noproxy",
      "",
      "--write-out",
      "%{http_code}",
      "--proxy",
      proxy,
      `http://${site.address}/`,
    ]);
  for (const scheme of ["http", "socks5h"]) {
    const { code, stdout } = await ask(`${scheme}://me:s3cret@${address}`);
    assert.deepEqual([code, stdout], [0, `hidden: ${site.address}/\n200`], scheme);
  }
  const anonymous = await ask(`http://${address}`);
  assert.match(anonymous.stdout, /407$/);
  const wrong = await ask(`socks5h://me:wrong@${address}`);
  assert.equal(wrong.code, 97, wrong.stderr);
  assert.equal((await ask(`socks4://${address}`)).code, 97);
  assert.doesNotMatch(instance.stderr, /s3cret|wrong@/);
  assert.equal(site.requests.length, 2);
});
