import assert from "node:assert/strict";
import { dialByConnect } from "../../../../src/konnectivity/client/connect_frontend.ts";
import type { FrontendReach } from "../../../../src/konnectivity/client/reach_frontend.ts";
import { settle } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";

const cases = [
  { name: "given", body: "dial tcp: connection refused\n", says: "dial tcp: connection refused" },
  { name: "missing", body: "", says: "it answered 502" },
];
for (const { name, body, says } of cases) {
  Deno.test(`dialByConnect() does not wait for the end of the connection after a rejection: reason ${name}`, async () => {
    const [near, far] = memoryPair();
    const reach: Partial<FrontendReach> = { label: "the server", connect: () => Promise.resolve(near) };
    const { signal } = new AbortController();
    let said: unknown;
    const dialing = dialByConnect(reach as FrontendReach, { host: "a.test", port: 80 }, { signal })
      .catch((error) => said = error);
    const head = `HTTP/1.1 502 Bad Gateway\r\nContent-Length: ${body.length}\r\n\r\n`;
    const [front, rest] = [head + body.slice(0, 10), body.slice(10)];
    await far.write(new TextEncoder().encode(front));
    await settle();
    if (rest !== "") {
      assert.equal(said, undefined);
      await far.write(new TextEncoder().encode(rest));
      await settle();
    }
    assert.match(String(said), new RegExp(`Cannot reach a\\.test:80 through the server: ${says}`));
    await dialing;
    await far[Symbol.asyncDispose]();
  });
}
