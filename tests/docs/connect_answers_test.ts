import assert from "node:assert/strict";
import { dialByConnect } from "../../src/konnectivity/client/connect_frontend.ts";
import { FrontendReach } from "../../src/konnectivity/client/reach_frontend.ts";
import { HttpClient, UpstreamProxy } from "../../src/http/mod.ts";
import { Messages, Tasks } from "../../src/core/mod.ts";
import { decodeRequestHead } from "../../src/wire/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { bytesOf } from "../support/fake_dial.ts";
import { MemoryFiles } from "../support/memory_files.ts";
import { MemoryNetwork } from "../support/memory_network.ts";

const page = await Deno.readTextFile(new URL("../../docs/decisions/http.md", import.meta.url));
const rows = [...page.matchAll(/^\| (.+?) +\| `([a-z_]+)` +\| the (?:proxy|target) +\|$/gm)];
const proxy = { host: "192.0.2.1", port: 3128 };
const target = { host: "web.example", port: 443 };
const { signal } = new AbortController();

/** Every user of CONNECT. */
const users: Readonly<Record<string, (network: MemoryNetwork) => Promise<unknown>>> = {
  "a proxy transport": (network) =>
    new UpstreamProxy({ scheme: "http", ...proxy }, {
      name: "corp",
      network,
      files: new MemoryFiles(),
      dialer: (to, options) => network.connect(to, options),
    }).dial(target, { signal }),
  "HttpClient": (network) =>
    new HttpClient({ clock: new FakeClock(), network }, { proxy: { scheme: "http", ...proxy } })
      .ask({ url: new URL("https://web.example/") }, { signal }),
  "a Konnectivity client": (network) => {
    const dialer = (to: typeof target, options: { signal: AbortSignal }) => network.connect(to, options);
    network.tls = (conn) => Promise.resolve(conn);
    const settings = { mode: "http-connect", server: { target: proxy } } as const;
    const reach = new FrontendReach(settings, { network, files: new MemoryFiles(), dialer });
    return dialByConnect(reach, target, { signal });
  },
};

Deno.test("the page has the table of CONNECT answers", () =>
  assert.ok(rows.length > 20, `${rows.length} rows`));

for (const [, answer = "", code = ""] of rows) {
  for (const [user, dial] of Object.entries(users)) {
    Deno.test(`${user} reports ${code} for ${answer}`, async () => {
      const network = new MemoryNetwork();
      await using _proxy = answering(network, answer);
      const failure: unknown = await dial(network).then(
        () => assert.fail("the dial succeeded"),
        (error) => error,
      );
      assert.ok(failure instanceof Error && "code" in failure, String(failure));
      assert.deepEqual([failure.code, failure.message.split("Cannot ").length], [code, 2], failure.message);
      assert.equal(network.open, 0);
    });
  }
}

/** Sends each client one answer, a status line and fields, or closes the connection. */
function answering(network: MemoryNetwork, answer: string): AsyncDisposable {
  const [first = "", ...fields] = [...answer.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text);
  const start = /^[0-9]/.test(first) ? `HTTP/1.1 ${first}` : first;
  const tasks = new Tasks(undefined, () => {});
  const listening = network.listen(proxy);
  tasks.spawn(async () => {
    const conn = await listening.accept();
    if (!conn) return;
    await using _conn = conn;
    await new Messages(conn).read(decodeRequestHead);
    if (first !== "") await conn.write(bytesOf([start, ...fields, "", ""].join("\r\n")));
  });
  return {
    async [Symbol.asyncDispose]() {
      listening.close();
      await tasks[Symbol.asyncDispose]();
    },
  };
}
