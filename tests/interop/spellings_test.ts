import assert from "node:assert/strict";
import { canonicalHost, formatIp } from "../../src/words/mod.ts";
import { diceOf } from "../fuzz/fuzz_inputs.ts";
import { KonnectivityLab, konnectivityPeers, untilReady } from "../support/konnectivity_lab.ts";
import { runPeer } from "../support/peer_program.ts";
import { type PeerPaths, peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { latin1, RawClient, socks5Request } from "../support/raw_client.ts";
import { startTinyproxy } from "../support/real_proxies.ts";
import {
  fullWidth,
  invisibleNames,
  loopbackSpellings,
  noAddresses,
  spelledFour,
  spelledSix,
  unspecifiedSpellings,
} from "../support/spellings.ts";
import { openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";
import { TargetServer } from "../support/target_server.ts";

const transports = ["direct", "jump", "corp", "hosted"] as const;
const peers = [...sshPeers, "tinyproxy", ...konnectivityPeers] as const;
const frontend = { mode: "grpc", isSocket: false } as const;

/** How a client names its host, and the result: `reached` or the error of its protocol. */
interface ClientProtocol {
  readonly name: string;
  /** The errors for a rejected target and for an invalid host. */
  readonly rejected: string;
  readonly unreadable: string;
  readonly ask: (client: RawClient, host: string, port: number) => Promise<string>;
}

const protocols: readonly ClientProtocol[] = [
  {
    name: "SOCKS4a",
    rejected: "91",
    unreadable: "91",
    async ask(client, host, port) {
      await client.send(
        new Uint8Array([4, 1, port >> 8, port & 255, 0, 0, 0, 1, 0, ...new TextEncoder().encode(host), 0]),
      );
      const [, code] = await client.take(8);
      return code === 90 ? await greeting(client) : `${code}`;
    },
  },
  {
    name: "SOCKS5",
    rejected: "2",
    unreadable: "1",
    async ask(client, host, port) {
      await client.send(new Uint8Array([5, 1, 0, ...socks5Request({ host: bytesAsText(host), port })]));
      const [, , , code] = await client.take(12);
      return code === 0 ? await greeting(client) : `${code}`;
    },
  },
  {
    name: "CONNECT",
    rejected: "403",
    unreadable: "400",
    async ask(client, host, port) {
      await client.send(latin1(`CONNECT ${authority(host, port)} HTTP/1.1\r\nHost: x\r\n\r\n`));
      const head = await client.takeUntil("\r\n\r\n");
      return head.startsWith("HTTP/1.1 200 ") ? await greeting(client) : statusOf(head);
    },
  },
  {
    name: "absolute form",
    rejected: "403",
    unreadable: "400",
    async ask(client, host, port) {
      const url = `http://${authority(host, port)}/`;
      await client.send(latin1(`GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
      const text = await client.restText();
      return text.startsWith("HTTP/1.1 200 ") ? text.slice(text.indexOf("\r\n\r\n") + 4) : statusOf(text);
    },
  },
];

/** Text with one character per byte, for UTF-8 in request lines. */
function bytesAsText(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

function authority(host: string, port: number): string {
  const text = bytesAsText(host);
  return text.includes(":") ? `[${text}]:${port}` : `${text}:${port}`;
}

function statusOf(head: string): string {
  return head.split(" ")[1] ?? "";
}

async function greeting(client: RawClient): Promise<string> {
  await client.send("GET / HTTP/1.0\r\n\r\n");
  const text = await client.restText();
  return text.slice(text.indexOf("\r\n\r\n") + 4);
}

/** Unspecified addresses in SOCKS4 and SOCKS5 requests, and the position of the error in the reply. */
function byAddress(port: number): [Uint8Array, { readonly at: number; readonly is: number }][] {
  const ports = [port >> 8, port & 255];
  const mapped = [...new Array(10).fill(0), 255, 255, 0, 0, 0, 0];
  return [
    [Uint8Array.of(4, 1, ...ports, 0, 0, 0, 0, 0), { at: 2, is: 91 }],
    [Uint8Array.of(5, 1, 0, 5, 1, 0, 1, 0, 0, 0, 0, ...ports), { at: 4, is: 2 }],
    [Uint8Array.of(5, 1, 0, 5, 1, 0, 4, ...new Array(16).fill(0), ...ports), { at: 4, is: 2 }],
    [Uint8Array.of(5, 1, 0, 5, 1, 0, 4, ...mapped, ...ports), { at: 4, is: 2 }],
  ];
}

/** A page on 127.0.0.1. */
function page(): TargetServer {
  return new TargetServer(async (client) => {
    // Some connections end before their client sends anything.
    if (await client.some()) {
      await client.send("HTTP/1.0 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nreached");
    }
  });
}

async function asked(address: string, protocol: ClientProtocol, host: string, port: number): Promise<string> {
  using client = await RawClient.connect(address);
  return await protocol.ask(client, host, port);
}

/** An instance with a transport for each peer, after rules that reject loopback on all ports but `open`. */
async function home(
  paths: PeerPaths<typeof peers[number]>,
  { closed, open, held }: {
    closed: readonly TargetServer[];
    open: readonly TargetServer[];
    held: AsyncDisposableStack;
  },
): Promise<Household> {
  const lab = held.use(await SshLab.create(paths));
  const konnectivity = held.use(await KonnectivityLab.create(paths));
  const [jump, corp, server] = await Promise.all([
    lab.start("jump"),
    startTinyproxy(paths.tinyproxy, lab.directory),
    konnectivity.goServer(frontend),
  ]);
  held.use(corp);
  await konnectivity.goAgent(server);
  await untilReady(server.health);
  assert.ok("port" in server.front);
  const { cert, key } = konnectivity.pair("frontend", "client");
  const hosted = `server: 127.0.0.1:${server.front.port}, ca: ${konnectivity.ca("frontend")}`;
  return held.use(
    await openSshHousehold(lab, {
      ssh: sshHostLines("jump", jump),
      postern: [
        "transports:",
        "  jump: { ssh: jump }",
        `  corp: { proxy: { url: "http://${corp.address}" } }`,
        `  hosted: { konnectivity: { ${hosted}, cert: ${cert}, key: ${key}, mode: grpc } }`,
        "default: reject",
        "routes:",
        "  - { to: 127.0.0.0/8, via: reject }",
        ...transports.flatMap((via, at) => [
          `  - { to: "any:${closed[at]?.port}", via: ${via} }`,
          `  - { to: "127.0.0.0/8:${open[at]?.port}", via: ${via} }`,
        ]),
      ],
    }),
  );
}

peerTest(
  "no spelling of an address bypasses a rule, with any listener and any transport",
  peers,
  async (paths) => {
    await using held = new AsyncDisposableStack();
    const [closed, open] = [transports.map(() => held.use(page())), transports.map(() => held.use(page()))];
    const household = await home(paths, { closed, open, held });
    const instance = held.use(await household.instance());
    const address = await instance.address();
    const wrong: string[] = [];
    const expect = async (protocol: ClientProtocol, host: string, port: number, answer: string) => {
      const heard = await asked(address, protocol, host, port);
      if (heard !== answer) wrong.push(`${protocol.name} ${host}:${port}: ${heard} instead of ${answer}`);
    };
    for (const [at, transport] of transports.entries()) {
      const [shut = 0, free = 0] = [closed[at]?.port, open[at]?.port];
      for (const protocol of protocols) {
        await Promise.all([...loopbackSpellings, ...unspecifiedSpellings].map(async (host) => {
          await expect(protocol, host, shut, protocol.rejected);
          // The pages listen on IPv4 only.
          if (/^(?:::|0:0:0:0:0:0:0:0|::0\.0\.0\.0)$/.test(host)) return;
          await expect(protocol, host, free, "reached");
        }));
        await Promise.all([...noAddresses, ...invisibleNames].map(async (host) => {
          await expect(protocol, host, shut, protocol.unreadable);
          await expect(protocol, host, free, protocol.unreadable);
        }));
      }
      if (wrong.length > 0) continue;
      assert.equal(closed[at]?.count, 0, transport);
      // Every log line of a successful connection has an address in canonical form.
      const line = new RegExp(`target=(\\S+):${free} transport=${transport} `, "g");
      const targets = new Set([...instance.stderr.matchAll(line)].map(([, target]) => target));
      assert.deepEqual([...targets].sort(), [
        "0.0.0.0",
        "127.0.0.1",
        "[::ffff:0.0.0.0]",
        "[::ffff:127.0.0.1]",
      ]);
    }
    assert.deepEqual(wrong, []);
    const [shut = 0, free = 0] = [closed[1]?.port, open[1]?.port];
    for (const [bytes, code] of byAddress(shut)) {
      using client = await RawClient.connect(address);
      await client.send(bytes);
      assert.equal((await client.take(code.at)).at(-1), code.is);
    }
    for (const host of ["0x7f.1", "[::]"]) {
      const { stdout } = await household.run(["explain", `${host}:${shut}`]);
      assert.match(stdout, /^(?:127\.0\.0\.1|\[::\]):[0-9]+ goes to reject\n/, stdout);
    }
    const tried = await household.run(["explain", "--dial", `127.1:${free}`]);
    assert.match(tried.stdout, /^127\.0\.0\.1:[0-9]+ goes to jump\n[^]* connected\n/, tried.stderr);
    const { code, stderr } = await household.run(["explain", "--dial", "127.0.0.256:80"]);
    assert.equal(code, 2);
    assert.match(stderr, /ends in a number/);
  },
);

/** Parses texts with the C library: prints what inet_aton and inet_pton read, as hexadecimal bytes. */
const systemReads = `
import json, socket, sys
def read(text):
    try:
        return socket.inet_aton(text).hex()
    except (OSError, UnicodeError, ValueError):
        pass
    try:
        return socket.inet_pton(socket.AF_INET6, text).hex()
    except (OSError, UnicodeError, ValueError):
        return None
json.dump([read(text) for text in json.load(sys.stdin)], sys.stdout)
`;

peerTest(
  "canonicalHost() reads the same address as inet_aton and inet_pton, or rejects the text",
  ["python"],
  async ({ python }) => {
    const dice = diceOf(7);
    const made = Array.from({ length: 40_000 }, () => {
      const alphabet = dice(3) === 0 ? "0123456789abcdefxX.:% " : "0177.x1fF9";
      return Array.from({ length: 1 + dice(14) }, () => alphabet[dice(alphabet.length)]).join("");
    });
    const choices = { next: () => ({ value: dice(1 << 20) }) };
    const bytes = (length: number) => Array.from({ length }, () => dice(3) === 0 ? 0 : dice(256));
    for (let n = 0; n < 4000; n++) {
      made.push(spelledFour(bytes(4), choices, { isPlain: true }), spelledSix(bytes(16), choices));
    }
    const texts = [...new Set([...made, ...loopbackSpellings, ...unspecifiedSpellings])];
    const { code, stdout, stderr } = await runPeer(python, ["-c", systemReads], {
      stdin: JSON.stringify(texts),
    });
    assert.equal(code, 0, stderr);
    const answers: (string | null)[] = JSON.parse(stdout);
    const counts = { read: 0, refused: 0 };
    for (const [at, text] of texts.entries()) {
      const bytes = answers[at];
      if (typeof bytes !== "string") continue;
      const address = formatIp(Uint8Array.fromHex(bytes));
      const variants = text.includes(":") ? [text] : [
        ...[text, `${text}.`, `${text}。`, fullWidth(text), fullWidth(text).replaceAll(".", "．")],
        text.replaceAll(".", "。"),
      ];
      for (const variant of variants) {
        const host = canonicalHost(variant);
        counts[typeof host === "string" ? "read" : "refused"]++;
        if (typeof host === "string") assert.equal(host, address, variant);
        // inet_aton ignores the text after a space.
        else assert.match(variant, /\s/);
      }
    }
    assert.ok(counts.read > 20_000 && counts.refused > 100, JSON.stringify(counts));
  },
);
