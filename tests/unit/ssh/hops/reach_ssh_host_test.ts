import assert from "node:assert/strict";
import type { Conn } from "../../../../src/core/mod.ts";
import type { Dialer } from "../../../../src/world/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { reachingThrough } from "../../../../src/ssh/hops/reach_ssh_host.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { sshHost } from "../../../support/ssh_host.ts";

const host = sshHost("jump", { hostName: "jump.example.net", addressFamily: "inet" });

function reachingBy(dialer: Dialer, { isStraight = true } = {}) {
  const clock = new FakeClock();
  const lookups: string[] = [];
  const network = {
    lookup: (name: string) => {
      lookups.push(name);
      return Promise.resolve(["2001:db8::1", "192.0.2.1", "192.0.2.2"]);
    },
    connect: () => Promise.reject(new Error("no transport expected")),
  };
  return {
    clock,
    lookups,
    reach: reachingThrough(dialer, { network, services: { clock, runCommand: undefined }, isStraight }),
  };
}

Deno.test("reachingThrough() tries a host's next address of the family while one is silent", async () => {
  const { signal } = new AbortController();
  const tried: string[] = [];
  const { clock, reach } = reachingBy(({ host }, { signal }) => {
    tried.push(host);
    if (host === "192.0.2.2") return Promise.resolve(memoryPair()[0]);
    return new Promise<Conn>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  const reached = reach(host, { signal });
  await clock.advance(5000);
  assert.deepEqual(tried, ["192.0.2.1", "192.0.2.2"]);
  (await reached).abort();
});

Deno.test("reachingThrough() reports the failure of each address of the family", async () => {
  const { signal } = new AbortController();
  const { reach } = reachingBy(() =>
    Promise.reject(new PosternError("refused", "Cannot", { reason: "connection refused" }))
  );
  await assert.rejects(reach(host, { signal }), {
    code: "refused",
    message: "Cannot reach jump.example.net:22: connection refused (192.0.2.1, 192.0.2.2)",
  });
});

Deno.test("reachingThrough() leaves name resolution to the transport of via", async () => {
  const { signal } = new AbortController();
  const tried: string[] = [];
  const { lookups, reach } = reachingBy(({ host }) => {
    tried.push(host);
    return Promise.resolve(memoryPair()[0]);
  }, { isStraight: false });
  (await reach(host, { signal })).abort();
  assert.deepEqual([tried, lookups], [["jump.example.net"], []]);
});

Deno.test("reachingThrough() reports an unknown name in BindAddress", async () => {
  const { signal } = new AbortController();
  const network = {
    lookup: (name: string) =>
      Promise.reject(
        new PosternError("name_not_found", `Cannot resolve "${name}"`, { reason: "no such name" }),
      ),
    connect: () => Promise.reject(new Error("no connection expected")),
  };
  const services = { clock: new FakeClock(), runCommand: undefined };
  const dialer = () => Promise.reject(new Error("no transport expected"));
  const reach = reachingThrough(dialer, { network, services, isStraight: true });
  await assert.rejects(reach(sshHost("jump", { bindAddress: "wlan.test" }), { signal }), {
    code: "name_not_found",
    message: "Cannot use BindAddress wlan.test: no such name",
  });
});
