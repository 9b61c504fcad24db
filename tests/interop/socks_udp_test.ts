import assert from "node:assert/strict";
import { dig } from "../support/dig.ts";
import { eventually, PeerServer, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { startDante, startMicrosocks } from "../support/real_proxies.ts";

/** A real DNS server for `NAME.test` on loopback. */
function startDns(path: string): Promise<PeerServer> {
  return PeerServer.start(path, (port) => [
    ...["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--pid-file="],
    ...["--user=", "--group=", "--bind-interfaces", "--listen-address=127.0.0.1", `--port=${port}`],
    "--address=/one.test/192.0.2.1",
    "--address=/two.test/192.0.2.2",
  ]);
}

type Question = readonly [name: string, host: string, port: number, expects?: "no answer"];

/** Sends each question to its server over UDP through SOCKS5, and prints the last byte of each answer. */
function asker(proxy: string, questions: readonly Question[]): string {
  const [host, port] = proxy.split(":");
  return `
import socks, struct
s = socks.socksocket(type=socks.socket.SOCK_DGRAM)
s.settimeout(20)
s.set_proxy(socks.SOCKS5, "${host}", ${port}, rdns=True)
for name, host, port, *silent in ${JSON.stringify(questions)}:
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
    s.sendto(struct.pack(">HHHHHH", 7, 256, 1, 0, 0, 0) + labels + b"\\0\\0\\1\\0\\1", (host, port))
    if not silent:
        answer, peer = s.recvfrom(4096)
        print(name, answer[-1], peer[0], peer[1])
`;
}

/** Runs the questions and returns the printed lines. */
async function ask(
  python: string,
  instance: Instance,
  questions: readonly Question[],
): Promise<readonly string[]> {
  const { code, stdout, stderr } = await runPeer(python, ["-c", asker(await instance.address(), questions)]);
  assert.equal(code, 0, stderr);
  return stdout.trimEnd().split("\n");
}

peerTest("PySocks asks a DNS server over UDP, by address and by name", ["python", "dnsmasq"], async (
  { python, dnsmasq },
) => {
  await using home = await Household.open();
  await home.configure("listen: { udp: true }\n");
  await using dns = await startDns(dnsmasq);
  await using instance = await home.instance();
  assert.deepEqual(
    await ask(python, instance, [["one.test", "127.0.0.1", dns.port], ["two.test", "localhost", dns.port]]),
    [`one.test 1 127.0.0.1 ${dns.port}`, `two.test 2 127.0.0.1 ${dns.port}`],
  );
  await instance.says(
    /conn\.done .*protocol=socks5-udp target=127\.0\.0\.1:\d+ transport=direct .*up=26 down=42/,
  );
  await instance.says(/conn\.done .*protocol=socks5-udp target=localhost:\d+ transport=direct/);
});

peerTest("PySocks asks a DNS server through dante", ["python", "dnsmasq", "danted"], async (
  { python, dnsmasq, danted },
) => {
  await using home = await Household.open();
  await using dns = await startDns(dnsmasq);
  await using dante = await startDante(danted, home.directory);
  await home.configure(`
listen: { udp: true }
transports: { up: { proxy: { url: "socks5h://${dante.address}" } } }
default: up
`);
  await using instance = await home.instance();
  assert.deepEqual(
    await ask(python, instance, [["one.test", "127.0.0.1", dns.port], ["two.test", "localhost", dns.port]]),
    [`one.test 1 127.0.0.1 ${dns.port}`, `two.test 2 127.0.0.1 ${dns.port}`],
  );
  await instance.says(/conn\.done .*protocol=socks5-udp target=localhost:\d+ transport=up/);
});

peerTest("UDP through a postern with a password works, and one through microsocks names the reason", [
  "python",
  "dnsmasq",
  "microsocks",
], async ({ python, dnsmasq, microsocks }) => {
  await using far = await Household.open();
  await using home = await Household.open();
  await using dns = await startDns(dnsmasq);
  await using without = await startMicrosocks(microsocks);
  await Deno.writeTextFile(`${far.directory}/password`, "s3cret");
  await far.configure(
    `listen: { udp: true, auth: { users: [{ name: me, passwordFile: ${far.directory}/password }] } }\n`,
  );
  await using upstream = await far.instance();
  await home.configure(`
listen: { udp: true }
transports:
  up: { proxy: { url: "socks5h://${await upstream
    .address()}", user: me, passwordFile: ${far.directory}/password } }
  over: { proxy: { url: "socks5h://${await upstream
    .address()}", user: me, passwordFile: ${far.directory}/password }, via: up }
  none: { proxy: { url: "socks5h://${without.address}" } }
  web: { proxy: { url: "http://127.0.0.1:1" } }
routes:
  - { to: [localhost], via: up }
  - { to: ["127.0.0.1"], via: none }
  - { to: ["127.0.0.2"], via: web }
  - { to: ["127.0.0.3"], via: over }
  - { to: ["127.0.0.4"], via: reject }
`);
  await using instance = await home.instance();
  const refused = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"].map((host): Question => [
    ...["two.test", host, dns.port] as const,
    "no answer",
  ]);
  assert.deepEqual(await ask(python, instance, [...refused, ["one.test", "localhost", dns.port]]), [
    `one.test 1 127.0.0.1 ${dns.port}`,
  ]);
  await upstream.says(/conn\.done .*protocol=socks5-udp user=me target=localhost:\d+ transport=direct/);
  await eventually("each refused datagram is counted", async () => {
    const { stdout } = await home.run(["status", "--output", "json"]);
    return JSON.parse(stdout)[0].udp.refused === 4;
  });
  const { stdout } = await home.run(["status"]);
  assert.match(stdout, /UDP +relayed for \d SOCKS5 clients?, 4 datagrams refused; last: Cannot /);
  const told = instance.stderr.split("\n").filter((line) => line.includes("udp.refused"));
  assert.equal(told.length, 1, instance.stderr);
});

/** Relays the questions of programs that know no SOCKS: one UDP port on this side, PySocks on the other. */
const forwarder = (proxy: string, port: number, target: number) => `
import socks
near = socks.socket.socket(type=socks.socket.SOCK_DGRAM)
near.bind(("127.0.0.1", ${port}))
far = socks.socksocket(type=socks.socket.SOCK_DGRAM)
far.set_proxy(socks.SOCKS5, "${proxy.split(":")[0]}", ${proxy.split(":")[1]})
# The test looks for this port over TCP.
ready = socks.socket.socket()
ready.bind(("127.0.0.1", ${port}))
ready.listen()
while True:
    question, client = near.recvfrom(4096)
    far.sendto(question, ("127.0.0.1", ${target}))
    near.sendto(far.recvfrom(4096)[0], client)
`;

peerTest("dig gets answers over SOCKS5 UDP, each from its own question", ["python", "dnsmasq", "dig"], async (
  { python, dnsmasq, dig: path },
) => {
  await using home = await Household.open();
  await home.configure("listen: { udp: true }\n");
  await using dns = await startDns(dnsmasq);
  await using instance = await home.instance();
  const proxy = await instance.address();
  await using near = await PeerServer.start(python, (port) => ["-c", forwarder(proxy, port, dns.port)]);
  for (const [name, address] of [["one.test", "192.0.2.1"], ["two.test", "192.0.2.2"]] as const) {
    const { status, answers, text } = await dig(path, near.port, name);
    assert.equal(status, "NOERROR", text);
    assert.deepEqual(answers, [`${name}. 0 IN A ${address}`]);
  }
  const { stdout } = await home.run(["connections", "--output", "json"]);
  const [flow, ...more] = JSON.parse(stdout);
  assert.deepEqual(more, []);
  assert.equal(flow.protocol, "socks5-udp");
  assert.equal(flow.target, `127.0.0.1:${dns.port}`);
  assert(flow.up > 50 && flow.down > flow.up, stdout);
});

peerTest("a Python program that knows no SOCKS asks over UDP under socksify", [
  "python",
  "dnsmasq",
  "socksify",
], async (
  { python, dnsmasq, socksify },
) => {
  await using home = await Household.open();
  await home.configure("listen: { udp: true }\n");
  await using dns = await startDns(dnsmasq);
  await using instance = await home.instance();
  const [host, port] = (await instance.address()).split(":");
  const file = `${home.directory}/socks.conf`;
  await Deno.writeTextFile(
    file,
    `route {
  from: 0.0.0.0/0 to: 0.0.0.0/0 via: ${host} port = ${port}
  proxyprotocol: socks_v5
  protocol: tcp udp
  method: none
  command: connect udpassociate
}\n`,
  );
  const program = `
import socket
s = socket.socket(type=socket.SOCK_DGRAM)
s.settimeout(20)
s.sendto(b"\\0\\7\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\3one\\4test\\0\\0\\1\\0\\1", ("127.0.0.1", ${dns.port}))
answer, peer = s.recvfrom(4096)
print(answer[-1], peer[1])
`;
  const { code, stdout, stderr } = await runPeer(socksify, [python, "-c", program], {
    env: { SOCKS_CONF: file, SOCKS_AUTOADD_LANROUTES: "no" },
  });
  assert.equal(code, 0, stderr);
  assert.equal(stdout, `1 ${dns.port}\n`);
  await instance.says(/conn\.done .*protocol=socks5-udp target=127\.0\.0\.1:\d+/);
});
