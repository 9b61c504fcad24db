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
  /** The targets of the transport's own connections. */
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
  { name: "directly without a proxy", asks: "api.example.net:6443" },
  { name: "through via without a proxy", via: "jump", asks: "api.example.net:6443" },
  { name: "through the proxy", proxy: "http://10.0.0.1:3128", asks: "10.0.0.1:3128" },
  {
    name: "through the proxy, which is reached through via",
    proxy: "http://10.0.0.1:3128",
    via: "jump",
    asks: "10.0.0.1:3128",
  },
  {
    name: "only through via if the proxy is this instance",
    proxy: "socks5://127.0.0.1:12000",
    via: "jump",
    asks: "api.example.net:6443",
  },
  {
    name: "directly if the proxy is this instance and via is direct",
    proxy: "socks5://127.0.0.1:12000",
    via: "direct",
    asks: "api.example.net:6443",
  },
  {
    name: "through another proxy on this machine",
    proxy: "socks5://127.0.0.1:1080",
    asks: "127.0.0.1:1080",
  },
  { name: "through a proxy on its default port", proxy: "socks5://127.0.0.1", asks: "127.0.0.1:1080" },
] as const;

for (const one of cases) {
  const { name, asks, via, proxy }: { name: string; asks: string; via?: string; proxy?: string } = one;
  Deno.test(`dialerOfCluster() reaches the API server ${name}`, async () => {
    const { deps, asked } = depsWith(via);
    const url = proxy === undefined ? undefined : new URL(proxy);
    expectReachable(url, deps);
    // A proxy's refusal proves nothing about the API server.
    const code = asks === "api.example.net:6443" ? "refused" : "unreachable";
    await assert.rejects(dialerOfCluster(url, deps)(api, { signal }), { code });
    assert.deepEqual(asked, [asks]);
  });
}

Deno.test("dialerOfCluster() fails if this instance would be the only route", async () => {
  const { deps, asked } = depsWith(undefined);
  for (const text of ["socks5://127.0.0.1:12000", "http://127.0.0.1:12000/"]) {
    const url = new URL(text);
    const expected = { code: "config", message: /"lab".*proxy-url.*127\.0\.0\.1:12000, is this instance$/ };
    assert.throws(() => expectReachable(url, deps), expected);
    await assert.rejects(dialerOfCluster(url, deps)(api, { signal }), expected);
  }
  assert.deepEqual(asked, []);
});
