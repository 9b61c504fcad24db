import assert from "node:assert/strict";
import { Deadlines, Messages } from "../../../../src/core/mod.ts";
import { createPages, serveAdminAt } from "../../../../src/listeners/mod.ts";
import { serveAdmin } from "../../../../src/listeners/pages/admin.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { PageClient } from "../../../support/page_client.ts";
import { fakePageSource } from "../../../support/page_source.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const asked = [
  { line: "GET /healthz HTTP/1.1", withPages: 200, without: 404 },
  { line: "GET /metrics HTTP/1.1", withPages: 200, without: 404 },
  { line: "GET /status.json HTTP/1.1", withPages: 404, without: 404 },
  { line: "GET http://a.example/ HTTP/1.1", withPages: 400, without: 400 },
];
for (const { line, withPages, without } of asked) {
  Deno.test(`serveAdmin() answers ${line} with ${withPages}, and ${without} without pages`, async () => {
    const cases = [{ pages: createPages(fakePageSource()), status: withPages }, {
      pages: undefined,
      status: without,
    }];
    for (const { pages, status } of cases) {
      const clock = new FakeClock();
      const [near, far] = memoryPair();
      const deps = { clock, log: recordingLog(), deadlines: new Deadlines(clock), pages };
      const served = serveAdmin(far, new Messages(far), deps, { signal: new AbortController().signal });
      const answer = await new PageClient(near).ask(line, "Host: monitor.example");
      assert.equal(answer.status, status);
      await near.closeWrite();
      await served;
      assert.equal(far.isClosed, true);
    }
  });
}

const places = [
  { endpoint: { host: "127.0.0.1", port: 1 }, line: "Host: monitor.example", status: 403 },
  { endpoint: { host: "::1", port: 1 }, line: "Host: rebound.example:1", status: 403 },
  {
    endpoint: { host: "127.0.0.1", port: 1 },
    line: "Host: 127.0.0.1:1\r\nOrigin: http://evil.example",
    status: 403,
  },
  {
    endpoint: { host: "127.0.0.1", port: 1 },
    line: "Host: localhost:1\r\nSec-Fetch-Site: cross-site",
    status: 403,
  },
  { endpoint: { host: "127.0.0.1", port: 1 }, line: "Host: localhost:1", status: 200 },
  {
    endpoint: { host: "127.0.0.1", port: 1 },
    line: "Host: 127.0.0.1:1\r\nOrigin: http://127.0.0.1:1",
    status: 200,
  },
  { endpoint: { host: "0.0.0.0", port: 1 }, line: "Host: monitor.example", status: 200 },
  { endpoint: { host: "192.0.2.1", port: 1 }, line: "Host: monitor.example", status: 200 },
];
for (const { endpoint, line, status } of places) {
  for (const path of ["/metrics", "/healthz"]) {
    Deno.test(`serveAdminAt() ${endpoint.host} answers ${path} with ${status} to ${JSON.stringify(line)}`, async () => {
      const clock = new FakeClock();
      const [near, far] = memoryPair();
      const pages = createPages(fakePageSource());
      const deps = { clock, log: recordingLog(), deadlines: new Deadlines(clock), pages };
      const { signal } = new AbortController();
      const served = serveAdminAt(endpoint)(far, new Messages(far), deps, { signal });
      assert.equal((await new PageClient(near).ask(`GET ${path} HTTP/1.1`, line)).status, status);
      await near.closeWrite();
      await served;
    });
  }
}
