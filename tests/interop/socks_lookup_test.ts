import assert from "node:assert/strict";
import { farSide } from "../support/far_side.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { WebSite } from "../support/web_site.ts";

/** An instance behind which `web.lab.example` exists, and no other name. */
async function open(site: WebSite, more = "") {
  const held = new AsyncDisposableStack();
  const home = held.use(await Household.open());
  const far = held.use(farSide({ "web.lab.example:80": site.address }));
  await home.configure(`
transports: { far: { proxy: { url: "socks5h://${far.address}" } } }
routes: [{ to: lab.example, via: far }]
${more}
`);
  const instance = held.use(await home.instance());
  const [host = "", port = ""] = (await instance.address()).split(":");
  return { home, instance, host, port, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

for (const dns of ["", "dns: { fakeRange: 198.18.0.0/15 }"]) {
  peerTest(
    `torsocks curl reaches a routed name ${dns}`.trim(),
    ["torsocks", "curl"],
    async ({ torsocks, curl }) => {
      await using site = new WebSite();
      await using lab = await open(site, dns);
      const { host, port, instance } = lab;
      const fetch = (url: string) =>
        runPeer(torsocks, ["-a", host, "-P", port, curl, "-sS", "--noproxy", "*", url]);
      const { code, stdout, stderr } = await fetch("http://web.lab.example/tor");
      assert.deepEqual([code, stdout], [0, "hidden: web.lab.example/tor\n"], stderr);
      // torsocks looks the name up first and then connects to the address.
      const range = dns === "" ? "253\\.19[89]" : "198\\.1[89]";
      await instance.says(
        new RegExp(`conn\\.done .*target=web\\.lab\\.example:80 .*requested as ${range}\\.`),
      );
      const missing = await fetch("http://nowhere.lab.example/");
      assert.notEqual(missing.code, 0);
      await instance.says(/conn\.done .*target=nowhere\.lab\.example:80 transport=far/);
    },
  );
}

peerTest(
  "a Python program under torsocks looks a name up, and its address back",
  ["torsocks", "python"],
  async (
    { torsocks, python },
  ) => {
    await using site = new WebSite();
    await using lab = await open(site);
    const program = `
import socket
address = socket.getaddrinfo("web.lab.example", 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
print(address, socket.gethostbyaddr(address)[0])
`;
    const run = await runPeer(torsocks, ["-a", lab.host, "-P", lab.port, python, "-c", program]);
    assert.match(run.stdout, /^253\.19[89]\.[0-9.]+ web\.lab\.example\n$/, run.stderr);
  },
);

peerTest("tor-resolve resolves direct and routed names, and names their addresses", ["tor_resolve"], async (
  { tor_resolve },
) => {
  await using site = new WebSite();
  await using lab = await open(site);
  const resolve = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await runPeer(tor_resolve, [...args, `${lab.host}:${lab.port}`]);
    return code === 0 ? stdout.trim() : stderr;
  };
  assert.equal(await resolve("localhost"), "127.0.0.1");
  const address = await resolve("web.lab.example");
  assert.match(address, /^253\.19[89]\./);
  assert.equal(await resolve("-x", address), "web.lab.example");
  assert.equal(await resolve("-4", "web.lab.example"), address);
  assert.equal(await resolve("-x", "127.0.0.1"), "localhost");
});
