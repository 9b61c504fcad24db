import assert from "node:assert/strict";
import { eventually, PeerServer, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { latin1, RawClient, socks5Asking, type SocksTarget, throughSocks5 } from "../support/raw_client.ts";
import { echoServer, TargetServer } from "../support/target_server.ts";

/** Reads lines of hexadecimal; sends each one over its own connection and closes it at once. */
const leaver = `
import socket, struct, sys
host, port, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for line in sys.stdin:
    s = socket.create_connection((host, port), timeout=8)
    s.sendall(bytes.fromhex(line))
    if how == "late reset":
        s.settimeout(0.005)
        try:
            s.recv(1)
        except OSError:
            pass
    if how.endswith("reset"):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if how == "half":
        s.shutdown(socket.SHUT_WR)
        try:
            s.recv(1)
        except OSError:
            pass
    s.close()
`;

/** Requests that a client may interrupt at any byte. */
function conversations({ host, port }: SocksTarget): Record<string, Uint8Array<ArrayBuffer>> {
  const authority = `${host}:${port}`;
  return {
    "SOCKS5": new Uint8Array([...socks5Asking({ host, port }), ...latin1("data")]),
    "SOCKS4A": new Uint8Array([4, 1, port >> 8, port & 255, 0, 0, 0, 1, ...latin1(`me\0${host}\0data`)]),
    "CONNECT": latin1(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\ndata`),
    "absolute form": latin1(`POST http://${authority}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf`),
    "a chunked body": latin1(
      `POST http://${authority}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n9`,
    ),
    "a page": latin1(`GET /proxy.pac HTTP/1.1\r\nHost: localhost\r\n\r\n`),
  };
}

async function assertUnharmed(home: Household, instance: Instance, target: TargetServer): Promise<void> {
  await eventually("no connection is left", async () => {
    const { stdout } = await home.run(["status", "-o", "json"]);
    return JSON.parse(stdout)[0].connections.open === 0;
  });
  await eventually("the target has no connection either", () => target.open === 0);
  using client = await throughSocks5(await instance.address(), { host: "127.0.0.1", port: target.port });
  await client.send("hello");
  assert.deepEqual(await client.take(5), latin1("hello"));
  assert.doesNotMatch(instance.stderr, / ERROR |Unexpected|internal/);
}

for (const how of ["close", "reset", "late reset", "half"]) {
  peerTest(
    `clients that vanish after any byte of any protocol leave no connection behind (${how})`,
    ["python"],
    async (
      { python },
    ) => {
      await using home = await Household.open();
      await home.configure("listen: { limits: { handshake: 2s } }\ndefault: direct\n");
      await using target = echoServer();
      await using instance = await home.instance(["--log-level", "debug"]);
      const [host = "", port = ""] = (await instance.address()).split(":");
      const lines = Object.values(conversations({ host: "127.0.0.1", port: target.port })).flatMap((bytes) =>
        Array.from(bytes, (_, cut) => bytes.subarray(0, cut + 1).toHex())
      );
      const { code, stderr } = await runPeer(python, ["-c", leaver, host, port, how], {
        stdin: `\n${lines.join("\n")}\n`,
      });
      assert.equal(code, 0, stderr);
      await assertUnharmed(home, instance, target);
      // An immediate reset discards data that the instance has not read yet.
      if (how !== "reset") assert.ok(target.count > 20, `only ${target.count} reached the target`);
    },
  );
}

Deno.test("a dial ends at its limit if its client has vanished", async () => {
  await using home = await Household.open();
  await using silent = new TargetServer(async (client) => void await client.rest());
  await home.configure(`
listen: { limits: { dial: 300ms } }
transports: { it: { proxy: { url: "http://${silent.address}" } } }
default: it
`);
  await using instance = await home.instance();
  const requests = Object.values(conversations({ host: "site.example", port: 80 })).slice(0, 5);
  for (const request of requests) {
    using client = await RawClient.connect(await instance.address());
    await client.send(request);
  }
  await eventually("all dials have ended", () => {
    const done = [...instance.stderr.matchAll(/conn\.done .*target=site\.example:80 .*outcome=(\w+)/g)];
    return done.length === requests.length && done.every(([, outcome]) => outcome !== "done");
  });
  await eventually("the proxy has no connection", () => silent.open === 0);
});

/** Sends hexadecimal bytes, waits 1.5 s, and resets. */
const waiting = `
import socket, struct, sys, time
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=8)
s.sendall(bytes.fromhex(sys.argv[3]))
time.sleep(1.5)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
s.close()
`;

peerTest("a client's reset ends its dial", ["python"], async ({ python }) => {
  await using home = await Household.open();
  await using silent = new TargetServer(async (client) => void await client.rest());
  await home.configure(`
listen: { limits: { dial: 10m } }
transports: { it: { proxy: { url: "http://${silent.address}" } } }
default: it
`);
  await using instance = await home.instance();
  const [host = "", port = ""] = (await instance.address()).split(":");
  const asking = socks5Asking({ host: "site.example", port: 80 });
  const { code, stderr } = await runPeer(python, ["-c", waiting, host, port, asking.toHex()]);
  assert.equal(code, 0, stderr);
  await instance.says(
    /conn\.done .*target=site\.example:80 .*outcome=cancelled .*The client closed the connection/,
  );
  await eventually("the proxy has no connection", () => silent.open === 0);
});

/** Reads a byte, sends a thousand, reads another byte and resets. */
const resetting = `
import socket, struct, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    s, _ = server.accept()
    if s.recv(1):
        s.sendall(b"x" * 1000)
        s.recv(1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
`;

peerTest(
  "a target's reset is distinguished from its end",
  ["python"],
  async (
    { python },
  ) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await using target = await PeerServer.start(python, (port) => ["-c", resetting, `${port}`]);
    await using instance = await home.instance();
    using client = await throughSocks5(await instance.address(), { host: "127.0.0.1", port: target.port });
    await client.send("a");
    await client.take(1000);
    await client.send("b");
    assert.equal((await client.rest()).length, 0);
    await eventually("the log has the connection", () => instance.stderr.includes("conn.done"));
    assert.match(instance.stderr, new RegExp(`conn\\.done .*target=${target.address} .*outcome=target_gone`));
  },
);

Deno.test("a truncated response is never complete for the client", async () => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  const heads = ["Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "Content-Length: 10\r\n\r\nhello"];
  for (const head of heads) {
    await using target = new TargetServer(async (client) => {
      await client.takeUntil("\r\n\r\n");
      await client.send(`HTTP/1.1 200 OK\r\n${head}`);
    });
    await using instance = await home.instance();
    using client = await RawClient.connect(await instance.address());
    await client.send(`GET http://${target.address}/ HTTP/1.1\r\nHost: x\r\n\r\n`);
    const answer = await client.restText();
    assert.match(answer, /hello/);
    assert.doesNotMatch(answer, /\r\n0\r\n/);
    await eventually("the log has the connection", () => instance.stderr.includes("conn.done"));
    assert.match(instance.stderr, /conn\.done .*outcome=target_gone/);
  }
});
