import assert from "node:assert/strict";
import { formatTarget, PosternError, type Target } from "../../../../src/words/mod.ts";
import { dialerOfCluster, expectReachable } from "../../../../src/kube/forward/dialer_of_cluster.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";
import { noPrograms } from "../../../support/no_programs.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const { signal } = new AbortController();
const api: Target = { host: "api.example.net", port: 6443 };
const own: Target = { host: "127.0.0.1", port: 12000 };

function depsWith(via: string | undefined) {
  const parts = {
    network: new MemoryNetwork(),
    clock: new FakeClock(),
    log: recordingLog(),
    files: new MemoryFiles(),
  };
  /** What the transport's own connections were asked for. */
  const asked: string[] = [];
  const deps = {
    ...parts,
    name: "lab",
    process: noPrograms,
    isOwnListener: ({ host, port }: Target) => host === own.host && port === own.port,
    dialer: (target: Target) => {
      asked.push(formatTarget(target));
      return Promise.reject(new PosternError("refused", "Refused"));
    },
    ...(via !== undefined && { via }),
  };
  return { deps, asked };
}

const cases = [
  { name: "straight where there is no proxy", asks: "api.example.net:6443" },
  { name: "by via where there is no proxy", via: "jump", asks: "api.example.net:6443" },
  { name: "by the proxy", proxy: "http://10.0.0.1:3128", asks: "10.0.0.1:3128" },
  {
    name: "by the proxy, which via leads to",
    proxy: "http://10.0.0.1:3128",
    via: "jump",
    asks: "10.0.0.1:3128",
  },
  {
    name: "by via alone where the proxy is the door",
    proxy: "socks5://127.0.0.1:12000",
    via: "jump",
    asks: "api.example.net:6443",
  },
  {
    name: "straight where the proxy is the door, and via says so",
    proxy: "socks5://127.0.0.1:12000",
    via: "direct",
    asks: "api.example.net:6443",
  },
  {
    name: "by another proxy of this machine",
    proxy: "socks5://127.0.0.1:1080",
    asks: "127.0.0.1:1080",
  },
  { name: "by a proxy on its usual port", proxy: "socks5://127.0.0.1", asks: "127.0.0.1:1080" },
] as const;

for (const one of cases) {
  const { name, asks, via, proxy }: { name: string; asks: string; via?: string; proxy?: string } = one;
  Deno.test(`dialerOfCluster() reaches the API server ${name}`, async () => {
    const { deps, asked } = depsWith(via);
    const url = proxy === undefined ? undefined : new URL(proxy);
    expectReachable(url, deps);
    // A proxy that refuses says nothing of the API server.
    const code = asks === "api.example.net:6443" ? "refused" : "unreachable";
    await assert.rejects(dialerOfCluster(url, deps)(api, { signal }), { code });
    assert.deepEqual(asked, [asks]);
  });
}

Deno.test("dialerOfCluster() goes nowhere where the door is the only way to it", async () => {
  const { deps, asked } = depsWith(undefined);
  for (const text of ["socks5://127.0.0.1:12000", "http://127.0.0.1:12000/"]) {
    const url = new URL(text);
    const expected = { code: "config", message: /"lab".*proxy-url.*127\.0\.0\.1:12000, is this instance$/ };
    assert.throws(() => expectReachable(url, deps), expected);
    await assert.rejects(dialerOfCluster(url, deps)(api, { signal }), expected);
  }
  assert.deepEqual(asked, []);
});
