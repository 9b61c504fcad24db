import assert from "node:assert/strict";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { RawClient } from "../support/raw_client.ts";
import { startSquid, startTinyproxy } from "../support/real_proxies.ts";
import { TargetServer } from "../support/target_server.ts";
import { type Seen, WebSite } from "../support/web_site.ts";

/** What a proxy does with a request: it passes, or the status of its refusal. */
type Outcome = "passes" | "closes" | number;

const proxyNames = ["squid", "tinyproxy", "postern"];

interface Case {
  readonly name: string;
  /** `ORIGIN` is the origin's address. */
  readonly request: string;
  /** squid, tinyproxy, postern. */
  readonly outcomes: readonly [Outcome, Outcome, Outcome];
  /** Lines that the origin gets from postern, after the request line and Host. */
  readonly adds?: readonly string[];
}

const get = (fields = "", line = "GET http://ORIGIN/x HTTP/1.1") =>
  `${line}\r\nHost: ORIGIN\r\n${fields}Connection: close\r\n\r\n`;
const post = (fields: string, body: string) => get(fields, "POST http://ORIGIN/x HTTP/1.1") + body;
const long = (size: number) => `X: ${"x".repeat(size)}\r\n`;

const cases: readonly Case[] = [
  {
    name: "user and password in the URL",
    request: get("", "GET http://me:p%40w@ORIGIN/x HTTP/1.1"),
    outcomes: ["passes", "passes", "passes"],
    adds: [`Authorization: Basic ${btoa("me:p@w")}`],
  },
  {
    name: "the same with `Authorization`",
    request: get("Authorization: Bearer t\r\n", "GET http://me:pw@ORIGIN/x HTTP/1.1"),
    outcomes: ["passes", "passes", "passes"],
    adds: ["Authorization: Bearer t"],
  },
  {
    name: "a backslash in the user",
    request: get("", "GET http://other.test\\@ORIGIN/x HTTP/1.1"),
    outcomes: ["passes", "passes", 400],
  },
  {
    name: "user and password in CONNECT",
    request: "CONNECT me:pw@ORIGIN HTTP/1.1\r\n\r\n",
    outcomes: [500, "passes", 400],
  },
  {
    name: "CONNECT without a port",
    request: "CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n",
    outcomes: [503, 500, 400],
  },
  {
    name: "CONNECT with a path",
    request: "CONNECT ORIGIN/ HTTP/1.1\r\n\r\n",
    outcomes: ["passes", "passes", 400],
  },
  {
    name: "CONNECT with a body",
    request: "CONNECT ORIGIN HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
    outcomes: ["passes", "passes", 400],
  },
  { name: "`connect`", request: "connect ORIGIN HTTP/1.1\r\n\r\n", outcomes: ["passes", 400, 400] },
  {
    name: "`get`",
    request: get("", "get http://ORIGIN/x HTTP/1.1"),
    outcomes: ["passes", "passes", "passes"],
  },
  {
    name: "no path",
    request: get("", "GET http://ORIGIN HTTP/1.1"),
    outcomes: ["passes", "passes", "passes"],
  },
  {
    name: "a fragment",
    request: get("", "GET http://ORIGIN/x#y HTTP/1.1"),
    outcomes: ["passes", "passes", "passes"],
  },
  {
    name: "a space in the path",
    request: get("", "GET http://ORIGIN/x y HTTP/1.1"),
    outcomes: ["passes", 400, 400],
  },
  {
    name: "two spaces",
    request: get("", "GET  http://ORIGIN/x HTTP/1.1"),
    outcomes: ["passes", "passes", 400],
  },
  { name: "an empty line before", request: `\r\n${get()}`, outcomes: ["passes", "passes", "passes"] },
  {
    name: "no Host",
    request: "GET http://ORIGIN/x HTTP/1.1\r\n\r\n",
    outcomes: ["passes", "passes", "passes"],
  },
  {
    name: "an empty Host",
    request: "GET http://ORIGIN/x HTTP/1.1\r\nHost:\r\n\r\n",
    outcomes: ["passes", "passes", "passes"],
  },
  {
    name: "another Host",
    request: "GET http://ORIGIN/x HTTP/1.1\r\nHost: b\r\n\r\n",
    outcomes: ["passes", "passes", "passes"],
  },
  { name: "two Hosts", request: get("Host: ORIGIN\r\n"), outcomes: ["passes", "passes", 400] },
  {
    name: "lines that end with LF",
    request: "GET http://ORIGIN/x HTTP/1.1\nHost: ORIGIN\n\n",
    outcomes: ["passes", "passes", 400],
  },
  { name: "a folded line", request: get("X: one\r\n two\r\n"), outcomes: ["passes", "passes", 400] },
  { name: "a space before a colon", request: get("X : one\r\n"), outcomes: [400, "passes", 400] },
  { name: "a field without a colon", request: get("nonsense\r\n"), outcomes: [400, "passes", 400] },
  {
    name: "a control character in a value",
    request: get("X: a\x01b\r\n"),
    outcomes: ["passes", "passes", 400],
  },
  { name: "NUL in a value", request: get("X: a\0b\r\n"), outcomes: [400, "passes", 400] },
  { name: "300 fields", request: get("X: y\r\n".repeat(300)), outcomes: ["passes", "passes", "passes"] },
  { name: "a line of 60 KB", request: get(long(60_000)), outcomes: ["passes", "passes", "passes"] },
  { name: "a head of 100 KB", request: get(long(50_000).repeat(2)), outcomes: [431, "passes", "passes"] },
  {
    name: "the same `Content-Length` twice",
    request: post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"),
    outcomes: ["passes", "passes", "passes"],
    adds: ["Content-Length: 3"],
  },
  {
    name: "two different `Content-Length`",
    request: post("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd"),
    outcomes: [411, "passes", 400],
  },
  {
    name: "`Content-Length` and `Transfer-Encoding`",
    request: post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"),
    outcomes: ["passes", "passes", 400],
  },
  {
    name: "`Transfer-Encoding: identity`",
    request: post("Transfer-Encoding: identity\r\nContent-Length: 3\r\n", "abc"),
    outcomes: ["passes", "passes", 400],
  },
  {
    name: "GET with a body",
    request: get("Content-Length: 3\r\n") + "abc",
    outcomes: [411, "passes", "passes"],
    adds: ["Content-Length: 3"],
  },
  {
    name: "`Expect: 100-continue`",
    request: post("Content-Length: 3\r\nExpect: 100-continue\r\n", "abc"),
    outcomes: ["passes", "passes", "passes"],
    adds: ["Expect: 100-continue", "Content-Length: 3"],
  },
  {
    name: "HTTP/1.0 with `Proxy-Connection: keep-alive`",
    request: "GET http://ORIGIN/x HTTP/1.0\r\nProxy-Connection: keep-alive\r\n\r\n",
    outcomes: ["passes", "passes", "passes"],
  },
  {
    name: "HTTP/1.2",
    request: get("", "GET http://ORIGIN/x HTTP/1.2"),
    outcomes: ["passes", "passes", "passes"],
  },
  { name: "HTTP/2.0", request: get("", "GET http://ORIGIN/x HTTP/2.0"), outcomes: [505, "passes", 505] },
  {
    name: "a WebSocket",
    request:
      "GET http://ORIGIN/x HTTP/1.1\r\nHost: ORIGIN\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    outcomes: ["passes", "passes", "passes"],
    adds: ["Upgrade: websocket", "Connection: Upgrade"],
  },
  {
    name: "a WebSocket with `ws:`",
    request:
      "GET ws://ORIGIN/x HTTP/1.1\r\nHost: ORIGIN\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    outcomes: [501, 400, "passes"],
    adds: ["Upgrade: websocket", "Connection: Upgrade"],
  },
];

const ok = (fields: string, line = "HTTP/1.1 200 OK") => `${line}\r\n${fields}Content-Length: 2\r\n\r\nok`;

/** Responses of an origin, with the status that squid, tinyproxy and postern send; `closes` without one. */
const responses: readonly (Omit<Case, "adds" | "request"> & { readonly response: string })[] = [
  {
    name: "a folded line in a response",
    response: ok("X: one\r\n two\r\n"),
    outcomes: ["passes", "passes", "passes"],
  },
  {
    name: "a space before a colon in a response",
    response: ok("X : one\r\n"),
    outcomes: ["passes", "passes", "passes"],
  },
  { name: "a response of 100 KB", response: ok(long(50_000).repeat(2)), outcomes: [502, "passes", "passes"] },
  { name: "a response of 300 KB", response: ok(long(50_000).repeat(6)), outcomes: [502, "passes", 502] },
  {
    name: "HTTP/1.2 in a response",
    response: ok("", "HTTP/1.2 200 OK"),
    outcomes: ["passes", "passes", "passes"],
  },
  { name: "no reason", response: ok("", "HTTP/1.1 200"), outcomes: ["passes", "passes", "passes"] },
  {
    name: "`Content-Length: 2` twice",
    response: ok("Content-Length: 2\r\n"),
    outcomes: ["passes", "passes", "passes"],
  },
  {
    name: "`Content-Length: 3` and `2`",
    response: ok("Content-Length: 3\r\n"),
    outcomes: [502, "passes", 502],
  },
  {
    name: "a length and chunks in a response",
    response:
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    outcomes: ["passes", "passes", 502],
  },
  {
    name: "a response with LF",
    response: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    outcomes: ["passes", "passes", 502],
  },
  { name: "NUL in a response", response: ok("X: a\0b\r\n"), outcomes: [502, "passes", 502] },
  {
    name: "a control character in a response",
    response: ok("X: a\x01b\r\n"),
    outcomes: ["passes", "passes", 502],
  },
  { name: "status 407 of an origin", response: ok("", "HTTP/1.1 407 No"), outcomes: [407, 407, 502] },
  { name: "HTTP/0.9 in a response", response: "hello there", outcomes: ["passes", "closes", 502] },
];

const page = await Deno.readTextFile(new URL("../../docs/decisions/http.md", import.meta.url));

Deno.test("docs/decisions/http.md has the requests that squid, tinyproxy and postern treat differently", () => {
  const rows = [...page.matchAll(/^\| (.+?) +\| (.+?) +\| (.+?) +\| (.+?) +\|$/gm)].map((match) =>
    match.slice(1)
  );
  const shown = [...cases, ...responses].map(({ name, outcomes }) => [name, ...outcomes.map(String)]);
  for (const row of shown) {
    assert.ok(rows.some((cells) => cells.join("|") === row.join("|")), `| ${row.join(" | ")} |`);
  }
});

peerTest(
  "postern accepts what squid accepts unless it is ambiguous",
  ["squid", "tinyproxy"],
  async (paths) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    let heads: string[] = [];
    await using origin = new TargetServer(async (client) => {
      let head = "";
      while (!head.includes("\r\n\r\n")) {
        const some = await client.some();
        // A tunnel without a request.
        if (!some) return;
        head += new TextDecoder("latin1").decode(some);
      }
      heads.push(head);
      const isSocket = /^upgrade: websocket\r$/im.test(head);
      await client.send(
        isSocket
          ? "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
          : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
      );
    });
    await using squid = await startSquid(paths.squid, home.directory, {
      lines: ["http_upgrade_request_protocols websocket allow all"],
    });
    await using tinyproxy = await startTinyproxy(paths.tinyproxy, home.directory);
    await using instance = await home.instance();
    const proxies = [squid.address, tinyproxy.address, await instance.address()];
    const wrong: string[] = [];
    for (const { name, request, outcomes, adds = [] } of cases) {
      for (const [index, proxy] of proxies.entries()) {
        heads = [];
        const is = await outcomeOf(proxy, request.replaceAll("ORIGIN", origin.address));
        if (is !== outcomes[index]) {
          wrong.push(`${name}: ${proxyNames[index]} ${is}, not ${outcomes[index]}`);
        }
      }
      if (outcomes[2] !== "passes" || request.startsWith("CONNECT")) continue;
      const [line = "", host, ...fields] = heads[0]?.split("\r\n\r\n")[0]?.split("\r\n") ?? [];
      assert.match(line, /^(GET|get|POST) \/x? HTTP\/1\.1$/, name);
      assert.equal(host, `Host: ${origin.address}`, name);
      assert.deepEqual(fields.filter((field) => !field.startsWith("X: ")), adds, name);
    }
    assert.deepEqual(wrong, []);
    assert.doesNotMatch(instance.stderr, /p%40w|p@w|me:pw|bWU6/);
  },
);

peerTest(
  "postern forwards what squid forwards unless it is ambiguous",
  ["squid", "tinyproxy"],
  async (paths) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await using origin = new TargetServer(async (client) => {
      const head = await client.takeUntil("\r\n\r\n");
      await client.send(responses[Number(/^GET \/(\d+)/.exec(head)?.[1])]?.response ?? "");
      // The proxy may close without reading everything.
      client.end().catch(() => {});
    });
    await using squid = await startSquid(paths.squid, home.directory);
    await using tinyproxy = await startTinyproxy(paths.tinyproxy, home.directory);
    await using instance = await home.instance();
    const wrong: string[] = [];
    for (const [number, { name, outcomes }] of responses.entries()) {
      for (const [index, proxy] of [squid.address, tinyproxy.address, await instance.address()].entries()) {
        const is = await outcomeOf(proxy, get("", `GET http://${origin.address}/${number} HTTP/1.1`));
        if (is !== outcomes[index]) wrong.push(`${name}: ${proxyNames[index]} ${is}, not ${outcomes[index]}`);
      }
    }
    assert.deepEqual(wrong, []);
  },
);

/** Sends a request and reads the head of the final response. */
async function outcomeOf(proxy: string, request: string): Promise<Outcome> {
  using client = await RawClient.connect(proxy);
  await client.send(request);
  let answer = "";
  while (!answer.includes("\r\n\r\n")) {
    const some = await client.some();
    if (!some) break;
    answer += new TextDecoder("latin1").decode(some);
  }
  const status = Number(/^HTTP\/\d\.\d (\d+)/.exec(answer)?.[1]);
  if (!(status >= 100)) return "closes";
  return status < 300 ? "passes" : status;
}

peerTest(
  "curl, Python and Perl reach a site with a user and password in the URL",
  ["curl", "python", "perl"],
  async ({ curl, python, perl }) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await using site = new WebSite();
    await using instance = await home.instance();
    const env = { http_proxy: `http://${await instance.address()}` };
    const urllib = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())";
    const tiny = "print HTTP::Tiny->new->get($ARGV[0])->{content}";
    const commands = [
      [curl, "-sS", "--noproxy", ""],
      [python, "-c", urllib],
      [perl, "-MHTTP::Tiny", "-e", tiny],
    ];
    for (const [program = "", ...args] of commands) {
      const { stdout, stderr } = await runPeer(program, [...args, `http://me:p%40w@${site.address}/seen`], {
        env,
      });
      const { headers }: Seen = JSON.parse(stdout || assert.fail(stderr));
      assert.deepEqual([headers["authorization"], headers["host"]], [
        `Basic ${btoa("me:p@w")}`,
        site.address,
      ]);
    }
    assert.doesNotMatch(instance.stderr, /p%40w|p@w|bWU6/);
  },
);

const reason = "cannot reach 127.0.0.1:1: connection refused";
const clients = [
  {
    name: "wget",
    args: ["-nv", "-O-", "-e", "use_proxy=yes", "-e", "http_proxy=http://PROXY", "http://127.0.0.1:1/"],
    shows: `ERROR 502: ${reason}`,
  },
  {
    name: "wget",
    args: ["-nv", "-O-", "-e", "use_proxy=yes", "-e", "https_proxy=http://PROXY", "https://127.0.0.1:1/"],
    shows: `Proxy tunneling failed: ${reason}`,
  },
  { name: "curl", args: ["-sSi", "-x", "PROXY", "http://127.0.0.1:1/"], shows: `HTTP/1.1 502 ${reason}` },
  { name: "curl", args: ["-sSv", "-x", "PROXY", "https://127.0.0.1:1/"], shows: `HTTP/1.1 502 ${reason}` },
] as const;
for (const { name, args, shows } of clients) {
  peerTest(`${name} ${args.at(-1)} shows why postern refuses`, [name], async (paths) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    await using instance = await home.instance();
    const address = await instance.address();
    const own = args.map((arg) => arg.replace("PROXY", address));
    const { stdout, stderr } = await runPeer(paths[name], own);
    assert.ok(`${stdout}${stderr}`.includes(shows), stdout + stderr);
  });
}

peerTest("Java shows why postern refuses", ["java", "javac"], async ({ java }) => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  await using instance = await home.instance();
  const file = `${home.directory}/Ask.java`;
  await Deno.writeTextFile(file, askJava);
  const [host, port] = (await instance.address()).split(":");
  const options = ["http", "https"].flatMap((
    kind,
  ) => [`-D${kind}.proxyHost=${host}`, `-D${kind}.proxyPort=${port}`]);
  const urls = ["http://127.0.0.1:1/", "https://127.0.0.1:1/"];
  const { stdout } = await runPeer(java, [
    ...options,
    "-Dhttp.nonProxyHosts=",
    "-XX:TieredStopAtLevel=1",
    file,
    ...urls,
  ]);
  assert.ok(stdout.includes(`HTTP/1.1 502 ${reason}`), stdout);
  assert.ok(
    stdout.includes(`Unable to tunnel through proxy. Proxy returns "HTTP/1.1 502 ${reason}"`),
    stdout,
  );
});

/** Prints the status line of each URL, or the message of the failure. */
const askJava = `public class Ask {
  public static void main(String[] args) throws Exception {
    for (String url : args) {
      try {
        var connection = new java.net.URL(url).openConnection();
        System.out.println(connection.getHeaderField(0));
        connection.getInputStream();
      } catch (java.io.IOException e) {
        System.out.println(e.getMessage());
      }
    }
  }
}
`;
