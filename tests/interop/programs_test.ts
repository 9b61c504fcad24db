import assert from "node:assert/strict";
import { farSide } from "../support/far_side.ts";
import { eventually, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { TargetServer } from "../support/target_server.ts";
import { large, sha256, WebSite } from "../support/web_site.ts";

peerTest("Go's golang.org/x/net/proxy half-closes and gets the whole response", ["goclient"], async (
  { goclient },
) => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  // An echo server instead of a web site: Deno's server drops its response when the client half-closes.
  await using target = new TargetServer(async (client) => {
    const heard = await client.restText();
    await client.send(heard.repeat(100_000));
  });
  await using listener = await home.instance();
  const { code, stdout, stderr } = await runPeer(goclient, [
    "socks5",
    await listener.address(),
    target.address,
  ], {
    stdin: "through postern\n",
  });
  assert.equal(code, 0, stderr);
  assert.ok(stdout === "through postern\n".repeat(100_000), `${stdout.length} characters`);
});

peerTest("Go's net/http uses the proxy from the environment and does not resolve names", ["goclient"], async (
  { goclient },
) => {
  await using home = await Household.open();
  await using site = new WebSite();
  // Go uses no proxy for loopback, so the site needs a name.
  await using far = farSide({ "web.lab.example:80": site.address });
  await home.configure(`
transports: { far: { proxy: { url: "socks5h://${far.address}" } } }
routes: [{ to: lab.example, via: far }]
`);
  await using listener = await home.instance();
  for (const scheme of ["http", "socks5"]) {
    const { code, stdout, stderr } = await runPeer(goclient, ["environment", "http://web.lab.example/go"], {
      env: { HTTP_PROXY: `${scheme}://${await listener.address()}` },
    });
    assert.deepEqual([code, stdout], [0, "HTTP/1.1 200 OK\nhidden: web.lab.example/go\n"], stderr);
  }
});

peerTest("Python's urllib, requests and PySocks work through the proxy", ["python"], async ({ python }) => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  await using site = new WebSite();
  const listener = await (await home.instance()).address();
  const url = `http://${site.address}`;
  const [host = "", port = ""] = listener.split(":");
  const programs = {
    urllib: `
import urllib.request
print(urllib.request.urlopen("${url}/urllib", timeout=8).read().decode(), end="")`,
    requests: `
import requests
print(requests.get("${url}/requests", timeout=8).text, end="")`,
    "requests over socks5h": `
import requests
proxies = {"http": "socks5h://${listener}"}
session = requests.Session()
session.trust_env = False
print(session.get("${url}/socks5h", proxies=proxies, timeout=8).text, end="")`,
    PySocks: `
import socks
for kind in (socks.SOCKS4, socks.SOCKS5, socks.HTTP):
    s = socks.socksocket()
    s.settimeout(8)
    s.set_proxy(kind, "${host}", ${port}, rdns=True)
    s.connect(("${site.address.split(":")[0]}", ${site.port}))
    s.sendall(b"GET /PySocks HTTP/1.0\\r\\nHost: ${site.address}\\r\\n\\r\\n")
    answer = b""
    while True:
        more = s.recv(65536)
        if not more:
            break
        answer += more
    print(answer.split(b"\\r\\n\\r\\n")[1].decode(), end="")`,
  };
  const env = { http_proxy: `http://${listener}`, https_proxy: `http://${listener}` };
  for (const [name, program] of Object.entries(programs)) {
    const { code, stdout, stderr } = await runPeer(python, ["-c", program], { env });
    assert.equal(code, 0, `${name}: ${stderr}`);
    const path = name === "requests over socks5h" ? "socks5h" : name;
    const line = `hidden: ${site.address}/${path}\n`;
    assert.equal(stdout, name === "PySocks" ? line.repeat(3) : line, name);
  }
});

const denoProgram = `
const [site] = Deno.args;
const answer = await fetch("http://" + site + "/large");
const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", await answer.arrayBuffer())).toHex();
const socket = new WebSocket("ws://" + site + "/socket");
socket.onopen = () => socket.send("through postern");
const said = await new Promise((resolve, reject) => {
  socket.onmessage = ({ data }) => resolve(data);
  socket.onerror = (event) => reject(new Error(event.message));
});
const closed = new Promise((resolve) => socket.onclose = resolve);
socket.close();
await closed;
console.log(JSON.stringify({ sum, said }));
`;

Deno.test("Deno's fetch and WebSocket work through HTTP_PROXY, the WebSocket in absolute form", async () => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  await using site = new WebSite();
  await using listener = await home.instance();
  const program = `${home.directory}/client.ts`;
  await Deno.writeTextFile(program, denoProgram);
  const { code, stdout, stderr } = await runPeer(Deno.execPath(), [
    ...["run", "--quiet", "--no-config", "--no-prompt", "--allow-net=127.0.0.1", program, site.address],
  ], { env: { HTTP_PROXY: `http://${await listener.address()}`, HOME: home.directory } });
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), { sum: await sha256(large()), said: "through postern" });
  await eventually(
    "both are reported",
    () => listener.stderr.match(/conn\.done .*protocol=http /g)?.length === 2,
  );
  assert.match(listener.stderr, new RegExp(`target=${site.address} `));
});
