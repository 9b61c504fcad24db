import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import { type Clock, type Conn, duplex, DuplexConn, Messages } from "../../src/core/mod.ts";
import type { Endpoint } from "../../src/words/mod.ts";
import { ForwardPool } from "../../src/kube/forward/forward_pool.ts";
import type { ForwardForm } from "../../src/kube/forward/forward_forms.ts";
import { RetriedConn } from "../../src/kube/forward/retried_conn.ts";
import { inheritListening } from "../../src/runtime/network/inherited_listening.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { pipeProgram } from "../../src/runtime/programs/piped_program.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { BelowTls } from "../../src/runtime/tls/below_tls.ts";
import { TlsConn } from "../../src/runtime/tls/tls_conn.ts";
import { runProxyCommand } from "../../src/ssh/hops/proxy_command.ts";
import { serviceRecord, sliceRecord } from "../support/fake_cluster_view.ts";
import { ForwardStandIn, PodEnds } from "../support/forward_stand_in.ts";
import { memoryPair } from "../support/memory_conn.ts";
import { packetPair } from "../support/packet_pair.ts";
import { findPeer } from "../support/peers.ts";
import { MemorySsh } from "../support/ssh_server.ts";
import { standInLink } from "../support/stand_in_link.ts";
import type { ConnKind, ConnPromise, Pair } from "./conn_contract.ts";

const { signal } = new AbortController();
const loopback = { host: "127.0.0.1", port: 0 };

/** Deno grants unix sockets with the whole network only. */
const hasNet = Deno.permissions.querySync({ name: "net" }).state === "granted";
const needsUnix = Deno.build.os === "windows"
  ? "only on linux, darwin"
  : hasNet
  ? undefined
  : "needs --allow-net";

/** Reading the certificates needs a permission that the memory suites do without. */
const hasFiles = Deno.permissions.querySync({ name: "read", path: "." }).state === "granted";

const oldTls = "a peer of TLS 1.2 may drop what it has still to send (RFC 5246, section 7.2.1)";

/** Joins its input and output to a socket, half-closes kept: a Deno program cannot close its output alone. */
const bridge = `
import os, socket, sys, threading
far = socket.socket(socket.AF_UNIX)
far.connect(sys.argv[1])
def copy(read, write, end):
    while (data := read(65536)):
        while data: data = data[write(data):]
    end()
up = threading.Thread(target=copy, args=(lambda n: os.read(0, n), far.send, lambda: far.shutdown(socket.SHUT_WR)))
up.start()
copy(far.recv, lambda data: os.write(1, data), lambda: os.close(1))
up.join()
`;

/** Every kind of connection. `tests/unit/scripts/contracts_test.ts` fails for one that is missing here. */
export const connKinds: readonly ConnKind[] = [
  ...inMemory(),
  ...ofTheMachine(),
  ...overTls(),
  ...ofPrograms(),
  ...inSessions(),
  ...intoPods(),
  ...inPackets(),
];

function inMemory(): readonly ConnKind[] {
  return [
    {
      name: "MemoryConn",
      of: "MemoryConn",
      madeBy: ["tests/support/memory_conn.ts"],
      open: () => {
        const [near, far] = memoryPair();
        return Promise.resolve({ near, far });
      },
    },
    {
      name: "duplex() and DuplexConn",
      of: "DuplexConn",
      madeBy: [],
      open: async () => {
        const [inner, far] = memoryPair();
        return { near: new DuplexConn(await duplex(inner), { peer: inner.peer }), far };
      },
    },
    {
      name: "a DuplexConn at both ends",
      of: "DuplexConn",
      madeBy: [],
      open: async () => {
        const [a, b] = memoryPair();
        return {
          near: new DuplexConn(await duplex(a), { peer: a.peer }),
          far: new DuplexConn(await duplex(b), { peer: b.peer }),
        };
      },
    },
    {
      name: "a connection that its `Messages` still read",
      of: "ContinuedConn",
      madeBy: ["src/core/streams/messages.ts"],
      open: () => {
        const [inner, far] = memoryPair();
        const messages = new Messages(inner);
        // Those who take the connection over are told what becomes of it.
        messages.fill().catch(() => {});
        return Promise.resolve({ near: messages.goOn(), far });
      },
    },
  ];
}

function ofTheMachine(): readonly ConnKind[] {
  const socket = { of: "SocketConn", madeBy: ["src/runtime/network/network.ts"] };
  return [
    { ...socket, name: "a TCP socket", open: () => socketPair(loopback) },
    {
      ...socket,
      name: "a unix socket",
      open: async () => {
        const directory = await Deno.makeTempDir();
        const pair = await socketPair({ path: `${directory}/s` });
        return { ...pair, close: () => Deno.remove(directory, { recursive: true }) };
      },
      skipped: needsUnix,
    },
    {
      name: "a TCP socket from an address of ours",
      of: "DuplexConn",
      madeBy: ["src/runtime/network/connect_from.ts"],
      open: () => socketPair(loopback, "127.0.0.1"),
    },
    {
      name: "a client of an inherited socket",
      of: "NodeSocketConn",
      madeBy: ["src/runtime/network/inherited_listening.ts"],
      open: async () => {
        await using listening = await inheritListening(loopback);
        const [far, near] = await Promise.all([
          createNetwork().connect(listening.endpoint, { signal }),
          listening.accept(),
        ]);
        return { near: near ?? assert.fail("closed"), far };
      },
    },
  ];
}

async function socketPair(endpoint: Endpoint, from?: string): Promise<Pair> {
  const network = createNetwork();
  await using listening = network.listen(endpoint);
  const [near, far] = await Promise.all([
    network.connect(listening.endpoint, { signal, ...(from !== undefined && { from }) }),
    listening.accept(),
  ]);
  return { near, far: far ?? assert.fail("closed") };
}

function overTls(): readonly ConnKind[] {
  const skipped = hasFiles ? undefined : "needs --allow-read";
  const client = { of: "TlsConn", madeBy: ["src/runtime/tls/tls.ts"], skipped };
  const server = { of: "TlsConn", madeBy: ["src/runtime/tls/tls_server.ts"], skipped };
  // Narrow, so that the end of TLS comes while bytes are still on their way below.
  const narrow = () => memoryPair({ capacity: 1000 });
  return [
    { ...client, name: "TLS, as the client", open: () => tlsPair(narrow()) },
    { ...server, name: "TLS, as the server", open: () => swapped(tlsPair(narrow())) },
    {
      ...client,
      name: "TLS over a TCP socket",
      open: async () => {
        const { near, far } = await socketPair(loopback);
        return await tlsPair([near, far]);
      },
    },
    { ...client, name: "TLS 1.2, as the client", open: oldTlsPair, deniesHalfClose: oldTls },
    {
      ...server,
      name: "TLS 1.2, as the server",
      open: () => swapped(oldTlsPair()),
      deniesHalfClose: oldTls,
    },
  ];
}

async function tlsPair([a, b]: readonly [Conn, Conn]): Promise<Pair> {
  const { testTls } = await import("../support/tls_files.ts");
  const network = createNetwork();
  const [near, far] = await Promise.all([
    network.secure(a, { serverName: "site.example.net", ca: testTls.ca, signal }),
    network.secureAsServer(b, { ...testTls.server, signal }),
  ]);
  return { near, far };
}

async function oldTlsPair(): Promise<Pair> {
  const { testTls } = await import("../support/tls_files.ts");
  const [a, b] = memoryPair();
  const below = new BelowTls(b);
  const socket = new TLSSocket(below.stream, { isServer: true, maxVersion: "TLSv1.2", ...testTls.server });
  const near = await createNetwork().secure(a, { serverName: "site.example.net", ca: testTls.ca, signal });
  return { near, far: new TlsConn({ socket, below, conn: b, failure: (error) => error }) };
}

function ofPrograms(): readonly ConnKind[] {
  const [python, sh] = [findPeer("python"), findPeer("sh")];
  const missing = [["python", python], ["sh", sh]] as const;
  const reasons = missing.flatMap(([name, at]) => "missing" in at ? [`needs ${name}: ${at.missing}`] : []);
  const skipped = reasons[0] ?? needsUnix;
  const [pythonPath, shell] = [python, sh].map((at) => "path" in at ? at.path : "");
  const pipe = (command: readonly string[]) => pipeProgram(command, { signal }, systemClock);
  const command = { of: "CommandConn", madeBy: ["src/ssh/hops/proxy_command.ts"], skipped };
  const run = (socket: string, clock: Clock) =>
    runProxyCommand(`${pythonPath} -c '${bridge}' ${socket}`, {
      process: { pipe, env: () => shell },
      clock,
    }, { signal });
  const withoutWord = "a command that ends before the server has said a word has failed";
  return [
    {
      name: "a piped program",
      of: "PipeConn",
      madeBy: ["src/runtime/programs/piped_program.ts"],
      open: () => programPair(async (socket) => (await pipe([pythonPath ?? "", "-c", bridge, socket])).conn),
      skipped,
    },
    {
      ...command,
      name: "a ProxyCommand to a server that speaks first",
      open: async () => {
        const pair = await programPair((socket) => run(socket, systemClock), { greeting: "!" });
        assert.equal(await pair.near.read(new Uint8Array(1)), 1);
        return pair;
      },
    },
    {
      ...command,
      name: "a ProxyCommand to a server that waits for the first word",
      // It is not waited for either.
      open: () =>
        programPair((socket) =>
          run(socket, { ...systemClock, after: (_ms, then) => systemClock.after(0, then) })
        ),
      cannot: {
        "reads null at the peer's end, and again after it": withoutWord,
        "writes on after the peer's half-close": withoutWord,
      },
    },
  ];
}

async function programPair(
  start: (socket: string) => Promise<Conn>,
  { greeting = "" }: { readonly greeting?: string } = {},
): Promise<Pair> {
  const directory = await Deno.makeTempDir();
  await using listening = createNetwork().listen({ path: `${directory}/s` });
  const accepted = async () => {
    const conn = await listening.accept() ?? assert.fail("closed");
    await conn.write(new TextEncoder().encode(greeting));
    return conn;
  };
  const [near, far] = await Promise.all([start(`${directory}/s`), accepted()]);
  return { near, far, close: () => Deno.remove(directory, { recursive: true }) };
}

function inSessions(): readonly ConnKind[] {
  const channel = async (): Promise<Pair> => {
    const ssh = await MemorySsh.open();
    const near = await ssh.session.connect({ host: "target.example", port: 1 }, { signal });
    return { near, far: ssh.far[0] ?? assert.fail("no channel"), close: () => ssh[Symbol.asyncDispose]() };
  };
  return [
    { name: "SshChannel", of: "SshChannel", madeBy: ["src/ssh/session/ssh_channels.ts"], open: channel },
    {
      name: "the server's end of an ssh channel",
      of: "ServerChannel",
      madeBy: ["src/demo/jump_host.ts", "tests/support/ssh_server.ts"],
      open: () => swapped(channel()),
    },
  ];
}

function intoPods(): readonly ConnKind[] {
  const inSession = { of: "ForwardStream", madeBy: ["src/kube/forward/forward_session.ts"] };
  return [
    {
      ...inSession,
      name: "a port-forward by SPDY over a WebSocket",
      open: () => forward("websocket"),
    },
    { ...inSession, name: "a port-forward by SPDY", open: () => forward("spdy") },
    {
      ...inSession,
      name: "a port-forward in pieces of 999 bytes",
      open: () => forward("websocket", { piece: 999 }),
    },
    {
      name: "a port-forward by v4.channel.k8s.io",
      of: "ForwardStream",
      madeBy: ["src/kube/forward/forward_v4.ts"],
      open: () => forward("v4"),
      cannot: withoutOwnEnd("what ends one direction of the WebSocket ends both"),
    },
    {
      name: "a connection into a cluster, by the name of a Service",
      of: "RetriedConn",
      madeBy: ["src/kube/forward/cluster_tries.ts"],
      open: async () => {
        const pod = new PodEnds();
        const parts = {
          services: [serviceRecord({ namespace: "shop", name: "web" })],
          slices: { "shop/web": [sliceRecord(["web-0"], 8080)] },
        };
        const { link } = standInLink({ parts, connect: pod.connect, realClock: systemClock });
        const near = await link.dial({ host: "web.shop.svc", port: 80 }, { signal });
        while (pod.ends.length === 0) await nextTurn();
        return { near, far: pod.last, close: () => link[Symbol.asyncDispose]() };
      },
    },
    {
      name: "RetriedConn on its second way",
      of: "RetriedConn",
      madeBy: [],
      open: async () => {
        const [failed, gone] = memoryPair();
        const [second, far] = memoryPair();
        gone.abort(new Error("gone"));
        const near = new RetriedConn({ first: failed, next: () => Promise.resolve(second) });
        await near.write(Uint8Array.of(1));
        await far.read(new Uint8Array(1));
        return { near, far };
      },
    },
  ];
}

async function forward(form: ForwardForm, { piece }: { piece?: number } = {}): Promise<Pair> {
  const pod = new PodEnds();
  const api = new ForwardStandIn({
    forms: [form],
    connect: pod.connect,
    ...(piece !== undefined && { piece }),
  });
  const pool = new ForwardPool({ clock: systemClock, api, halfClose: "pass" });
  const near = await pool.open({ namespace: "shop", pod: "web-0", port: 80 }, { signal });
  // The streams are opened with the first bytes, or a moment later.
  while (pod.ends.length === 0) await nextTurn();
  const close = async () => {
    await pool[Symbol.asyncDispose]();
    for (const connection of api.connections) {
      connection.close();
      await connection.done;
    }
  };
  return { near, far: pod.last, close };
}

/** Both ends of a tunnel: the asker's, and the one that the answerer gives to its target. */
function inPackets(): readonly ConnKind[] {
  const asking = { of: "PacketTunnel", madeBy: ["src/konnectivity/packet_dialer.ts"] };
  const answering = { of: "PacketTunnel", madeBy: ["src/konnectivity/packet_answerer.ts"] };
  const cannot = withoutHalfClose("Kubernetes' packets close both directions at once");
  const [ours, theirs] = [{ isPostern: true }, { isPostern: false }];
  return [
    { ...asking, name: "a tunnel of Konnectivity, from the asking side,", open: () => tunnel(ours) },
    {
      ...answering,
      name: "a tunnel of Konnectivity, from the answering side,",
      open: () => swapped(tunnel(ours)),
    },
    {
      ...asking,
      name: "a tunnel of another Konnectivity, from the asking side,",
      open: () => tunnel(theirs),
      cannot,
    },
    {
      ...answering,
      name: "a tunnel of another Konnectivity, from the answering side,",
      open: () => swapped(tunnel(theirs)),
      cannot,
    },
    {
      ...asking,
      name: "a tunnel of another Konnectivity, on a stream of its own,",
      open: () => tunnel({ ...theirs, isShared: false }),
      cannot,
    },
  ];
}

async function tunnel(options: { readonly isPostern: boolean; readonly isShared?: boolean }): Promise<Pair> {
  const arrived = Promise.withResolvers<Conn>();
  const over = Promise.withResolvers<void>();
  const pair = await packetPair({
    ...options,
    answer: () =>
      Promise.resolve(async (asker) => {
        arrived.resolve(asker);
        await over.promise;
      }),
  });
  const near = await pair.dialer.dial({ host: "a.test", port: 80 }, { signal });
  const far = await arrived.promise;
  const close = async () => {
    over.resolve();
    await pair[Symbol.asyncDispose]();
  };
  return { near, far, close };
}

async function swapped(pair: Promise<Pair>): Promise<Pair> {
  const { near, far, close } = await pair;
  return { near: far, far: near, ...(close && { close }) };
}

/** What no carrier can promise whose directions end together. */
function withoutHalfClose(why: string): Readonly<Partial<Record<ConnPromise, string>>> {
  return {
    ...withoutOwnEnd(why),
    "reads null at the peer's end, and again after it": why,
    "gives every byte before the end to a reader that is slow and comes late": why,
  };
}

/** The same where the end of the peer is told, and ends both directions. */
function withoutOwnEnd(why: string): Readonly<Partial<Record<ConnPromise, string>>> {
  return {
    "shows the peer its end, and again after it": why,
    "sends every byte before the end": why,
    "sends every byte before the end to a reader that is slow and comes late": why,
    "ends after its last byte, though the peer ends meanwhile and reads late": why,
    "reads on after its own half-close": why,
    "writes on after the peer's half-close": why,
    "does not close the socket when `writable` is closed": why,
    "does not close the socket when `readable` has ended": why,
  };
}
