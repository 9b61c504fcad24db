import type {
  ConnectionInfo,
  ForwardUpdate,
  Status,
  WatchedWhole,
  WatchUpdate,
} from "../../src/control/mod.ts";
import type { PageSource } from "../../src/listeners/mod.ts";

/** An instance's state for tests of pages; `closed` lists the connections that a page closed. */
export function fakePageSource(more: Partial<PageSource> = {}): PageSource & { readonly closed: number[] } {
  const closed: number[] = [];
  return {
    closed,
    token: "s3cret-token",
    health: () => "ready",
    metrics: () => [{ kind: "gauge", name: "x", help: "X", samples: [{ labels: {}, value: 1 }] }],
    status: () => sampleStatus,
    connections: () => [sampleConnection],
    watch: () => watchedOnce(),
    forward: () => forwardsOnce(),
    endForward: () => Promise.resolve(),
    sharesToken: () => true,
    hosts: () => Promise.resolve({ range: "127.64.0.0/12", hosts: [], problems: [] }),
    closeConnection: (id) => id === sampleConnection.id && closed.push(id) > 0,
    reload: () => Promise.resolve({ changed: true, changes: ["route .svc now goes to lab"], warnings: [] }),
    stop: () => {},
    explain: ({ host, port }) =>
      Promise.resolve({
        target: `${host}:${port}`,
        transport: "lab",
        because: 'rule ".svc" (postern.yaml:12)',
        hops: [{ name: "lab", type: "kubernetes" }],
        losers: [],
      }),
    pac: (authority, local) => `// for ${authority}${local === undefined ? "" : ` at ${local}`}\n`,
    env: ({ credentials }) => ({
      http: `http://${credentials ? "me:pw@" : ""}127.0.0.1:12000`,
      socks: "socks5h://127.0.0.1:12000",
      noProxy: ["localhost"],
      notes: [],
      needsAuth: !credentials,
    }),
    sshHosts: () => Promise.resolve({ routed: [], left: [] }),
    environmentLines: (shell) => `# for ${shell}\n`,
    ...more,
  };
}

/** A watch with one message. */
async function* watchedOnce(): AsyncGenerator<WatchUpdate> {
  yield await Promise.resolve(sampleWhole);
}

export const sampleConnection: ConnectionInfo = {
  id: 7,
  client: "127.0.0.1:5000",
  protocol: "socks5",
  target: "<b>web.shop.svc</b>:443",
  transport: "lab",
  because: 'rule ".svc" (postern.yaml:12)',
  startedAt: "2026-01-01T00:00:00.000Z",
  ageMs: 61_000,
  up: 1_234,
  down: 5_600_000,
};

const sampleStatus: Status = {
  version: "0.1.0",
  id: "default",
  pid: 42,
  startedAt: "2026-01-01T00:00:00.000Z",
  state: "ready",
  listeners: [{ kind: "mixed", address: "127.0.0.1:12000", auth: false }],
  transports: [{ name: "lab", type: "kubernetes", via: "bastion", state: "ready", dials: 3, failures: 1 }],
  config: { path: "postern.yaml", loadedAt: "2026-01-01T00:00:00.000Z" },
  connections: { open: 1, total: 3, failed: 1 },
  bytes: { up: 1, down: 2 },
  memory: { resident: 50_000_000 },
};

export const sampleWhole: WatchedWhole = {
  kind: "whole",
  time: "2026-01-01T00:00:00.000Z",
  every: 1000,
  status: sampleStatus,
  live: [sampleConnection],
  ended: [],
  log: [],
  traffic: [],
};

async function* forwardsOnce(): AsyncGenerator<ForwardUpdate> {
  await Promise.resolve();
  yield { kind: "stopped" };
}
