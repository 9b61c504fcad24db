import assert from "node:assert/strict";
import type { PosternError, Target } from "../../../src/words/mod.ts";
import { ControlClient } from "../../../src/control/mod.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";
import { memoryPair } from "../../support/memory_conn.ts";
import { PageClient } from "../../support/page_client.ts";
import { fakePageSource, sampleConnection, sampleWhole } from "../../support/page_source.ts";

const { signal } = new AbortController();
const status = fakePageSource().status();
const environment = fakePageSource().env({ credentials: false });

/** A client of an instance that gives the same answer to everything. */
function clientOf(
  answer: unknown,
  { isOwn, head = "200 OK" }: { isOwn?: (address: Target) => Promise<boolean>; head?: string } = {},
): ControlClient {
  const body = typeof answer === "string" ? answer : JSON.stringify(answer);
  const connect = async () => {
    const [near, far] = memoryPair();
    const type = "Content-Type: application/json\r\nConnection: close";
    await new PageClient(far).write(`HTTP/1.1 ${head}\r\n${type}\r\n\r\n${body}`);
    await far.closeWrite();
    return near;
  };
  return new ControlClient(connect, { clock: new FakeClock(), id: "work", ...(isOwn && { isOwn }) });
}

const ask = {
  hello: (client: ControlClient) => client.hello({ signal }),
  status: (client: ControlClient) => client.status({ signal }),
  connections: (client: ControlClient) => client.connections({ signal }),
  explain: (client: ControlClient) => client.explain({ host: "a", port: 1 }, { signal }),
  hosts: (client: ControlClient) => client.hosts([], { signal }),
  reload: (client: ControlClient) => client.reload({ signal }),
  stop: (client: ControlClient) => client.stop({ signal }),
  env: (client: ControlClient) => client.env({ signal }),
  page: (client: ControlClient) => client.page({ signal }),
  pac: (client: ControlClient) => client.pac({ signal }),
  sshHosts: (client: ControlClient) => client.sshHosts({ signal }),
};

const refused: readonly {
  readonly what: keyof typeof ask;
  readonly answer: unknown;
  readonly why: RegExp;
  readonly code?: string;
}[] = [
  { what: "hello", answer: null, why: /must be a mapping/ },
  { what: "hello", answer: { version: "1", id: "work", pid: "42", protocol: 1 }, why: /: pid must be/ },
  { what: "hello", answer: { version: "1", id: "work", pid: 42 }, why: /: protocol is missing/ },
  { what: "hello", answer: "[".repeat(40) + "]".repeat(40), why: /nested more than 32 levels deep/ },
  {
    what: "hello",
    answer: `{"version":"1","x":${"[".repeat(40)}${"]".repeat(40)}}`,
    why: /nested more than/,
  },
  { what: "hello", answer: "", why: /not JSON/ },
  { what: "status", answer: { ...status, listeners: {} }, why: /: listeners must be a list/ },
  { what: "status", answer: { ...status, transports: [{}] }, why: /: transports\[0\]\.name is missing/ },
  { what: "status", answer: { ...status, memory: { resident: -1 } }, why: /: memory\.resident must be/ },
  {
    what: "status",
    answer: { ...status, dns: { addresses: [{ host: "127.0.0.1", port: 99_999 }], domains: [] } },
    why: /: dns\.addresses\[0\]\.port must be a port/,
  },
  { what: "connections", answer: [{ ...sampleConnection, up: "1" }], why: /: \[0\]\.up must be/ },
  { what: "explain", answer: { target: "a", transport: "b", because: "c" }, why: /: hops is missing/ },
  { what: "reload", answer: { changed: true, changes: [1], warnings: [] }, why: /: changes\[0\] must be/ },
  ...[
    { address: "203.0.113.9", name: "db.example", ports: [1] },
    { address: "127.64.0.1", name: "db.example\n203.0.113.9 bank.example", ports: [1] },
    { address: "127.64.0.1 bank.example", name: "db.example", ports: [1] },
  ].map((host) => ({
    what: "hosts" as const,
    answer: { range: "127.64.0.0/12", hosts: [host], problems: [] },
    why: /: hosts\[0\]\.(?:address|name) must be/,
  })),
  { what: "stop", answer: { drain: "long" }, why: /: drain must be a number/ },
  {
    what: "env",
    answer: { ...environment, noProxy: ["a', curl evil"] },
    why: /: noProxy\[0\] must be a name/,
  },
  { what: "env", answer: { ...environment, http: "http://127.0.0.1:1\n" }, why: /: http must be a URL/ },
  ...[
    "http://203.0.113.9:3128",
    "http://127.0.0.1.evil.example:1",
    "http://evil.localhost:1",
    "http://[2001:db8::1]:1",
    "http://me:127.0.0.1@203.0.113.9:1",
  ].map((http) => ({
    what: "env" as const,
    answer: { ...environment, http },
    why: /which is neither on loopback nor in your configuration$/,
    code: "not_allowed",
  })),
  ...["file:///etc/passwd", "http://127.0.0.1:1/path", "javascript:alert(1)"].map((socks) => ({
    what: "env" as const,
    answer: { ...environment, socks },
    why: /it names a proxy with an invalid URL$/,
    code: "not_allowed",
  })),
  {
    what: "env",
    answer: { ...environment, proxyUrl: "socks5://203.0.113.9:1080" },
    why: /it names 203\.0\.113\.9:1080, which is neither/,
    code: "not_allowed",
  },
  {
    what: "page",
    answer: { url: "http://203.0.113.9/#token=x" },
    why: /203\.0\.113\.9:80/,
    code: "not_allowed",
  },
  {
    what: "page",
    answer: { url: "http://127.0.0.1/evil#token=x" },
    why: /not a status page/,
    code: "not_allowed",
  },
  {
    what: "page",
    answer: { url: "https://127.0.0.1/#token=x" },
    why: /not a status page/,
    code: "not_allowed",
  },
  {
    what: "pac",
    answer: 'function FindProxyForURL() { return "DIRECT; SOCKS5 203.0.113.9:1080"; }\n',
    why: /it names 203\.0\.113\.9:1080, which is neither/,
    code: "not_allowed",
  },
  {
    what: "sshHosts",
    answer: { routed: [{ patterns: ["a\nProxyCommand evil"], transport: "t", because: "b" }], left: [] },
    why: /routed\[0\]\.patterns\[0\] must be an ssh pattern/,
  },
  {
    what: "pac",
    answer: "// \u001b]0;title\u0007\n",
    why: /characters other than printable ASCII/,
    code: "not_allowed",
  },
];

for (const { what, answer, why, code = "protocol" } of refused) {
  const shown = JSON.stringify(answer).slice(0, 60);
  Deno.test(`ControlClient.${what}() refuses ${shown}: ${why.source}`, async () => {
    await assert.rejects(ask[what](clientOf(answer)), (error: PosternError) => {
      assert.equal(error.code, code);
      assert.match(error.message, why);
      assert.match(error.message, /^Cannot use the answer of instance "work"/);
      return true;
    });
  });
}

Deno.test("ControlClient.env() accepts a proxy off loopback only if our configuration names it", async () => {
  const asked: Target[] = [];
  const isOwn = (address: Target) => {
    asked.push(address);
    return Promise.resolve(address.port === 12_000);
  };
  const own = { ...environment, http: "http://192.0.2.7:12000", socks: "socks5h://192.0.2.7:12000" };
  assert.equal((await clientOf(own, { isOwn }).env({ signal })).http, own.http);
  assert.deepEqual(asked[0], { host: "192.0.2.7", port: 12_000 });
  const other = { ...own, proxyUrl: "socks5://192.0.2.7:12001" };
  await assert.rejects(clientOf(other, { isOwn }).env({ signal }), { code: "not_allowed" });
});

Deno.test("ControlClient keeps unknown fields, because the instance may be newer", async () => {
  const newer = {
    ...status,
    isNew: { deep: [1] },
    state: "dreaming",
    transports: [{ ...status.transports[0], more: 1 }],
  };
  assert.deepEqual(await clientOf(newer).status({ signal }), newer);
  const hello = { version: "9", id: "work", pid: 1, protocol: 1, more: true };
  assert.deepEqual(await clientOf(hello).hello({ signal }), hello);
  assert.deepEqual(await clientOf({ state: "draining" }).stop({ signal }), { state: "draining" });
});

const errors = [
  { answer: { code: "config", message: "no", exit: 0 }, code: "config", exit: undefined },
  { answer: { code: "config", message: "no", exit: 7, hint: 1 }, code: "config", exit: 7 },
  { answer: { code: "constructor", message: "no" }, code: "protocol", exit: undefined },
  { answer: { code: "config", message: {} }, code: "protocol", exit: undefined },
  { answer: null, code: "protocol", exit: undefined },
];
for (const { answer, code, exit } of errors) {
  Deno.test(`ControlClient turns the error ${JSON.stringify(answer)} into ${code}`, async () => {
    await assert.rejects(clientOf(answer, { head: "500 No" }).hello({ signal }), (error: PosternError) => {
      assert.deepEqual([error.code, error.exit, error.hint === undefined || typeof error.hint], [
        code,
        exit,
        error.hint === undefined || "string",
      ]);
      return true;
    });
  });
}

Deno.test("ControlClient.explain() treats an error with an unknown code as internal", async () => {
  const dial = { ms: 1, steps: [], error: { code: "too_new", message: "no" } };
  const answer = { target: "a:1", transport: "b", because: "c", hops: [], losers: [], dial };
  const { dial: read } = await clientOf(answer).explain({ host: "a", port: 1 }, { dial: true, signal });
  assert.equal(read?.error?.code, "internal");
});

Deno.test("ControlClient.watch() refuses an invalid step, and accepts a whole state", async () => {
  const client = (events: readonly unknown[]) =>
    clientOf(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  const told: unknown[] = [];
  const watch = client([sampleWhole, { kind: "step", time: 1 }]).watch(
    (watched) => void told.push(watched),
    { signal },
  );
  await assert.rejects(watch, { code: "protocol", message: /to \/v1\/watch: time must be/ });
  assert.deepEqual(told, [sampleWhole]);
});

Deno.test("ControlClient.watch() fails when an instance sends bytes but no update", async () => {
  const clock = new FakeClock();
  const [near, far] = memoryPair();
  const page = new PageClient(far);
  await page.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
  const client = new ControlClient(() => Promise.resolve(near), { clock, id: "work" });
  const watched = assert.rejects(client.watch(() => {}, { signal }), {
    code: "timeout",
    message: /no update within 15 s/,
  });
  for (let second = 0; second < 20; second++) {
    await settle();
    await page.write(": still here\n\n").catch(() => {});
    await clock.advance(1000);
  }
  await watched;
});

Deno.test("ControlClient limits the size of an answer", async () => {
  const [near, far] = memoryPair();
  await new PageClient(far).write("HTTP/1.1 200 OK\r\nContent-Length: 67108865\r\n\r\n");
  const client = new ControlClient(() => Promise.resolve(near), { clock: new FakeClock(), id: "work" });
  await assert.rejects(
    client.status({ signal }),
    /: Cannot read the response from instance "work": more than 67108864 bytes$/,
  );
});
