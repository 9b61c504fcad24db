import { formatEndpoint, formatTarget } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import type { InstancePhase, Status, UdpInfo } from "../control/mod.ts";
import type { Transports } from "../plan/mod.ts";
import type { ConnectionTable } from "./dials/connection_table.ts";
import type { Dials } from "./dials/dials.ts";
import type { DnsHelper } from "./dns/dns_helper.ts";
import type { InstanceMetrics } from "./instance_metrics.ts";
import type { BoundListener } from "./listening/listener_set.ts";

export interface StatusParts {
  readonly version: string;
  readonly id: string;
  readonly process: Pick<World["process"], "pid" | "memory">;
  readonly startedAt: Date;
  readonly state: InstancePhase;
  /** Why the last reload failed. */
  readonly problem: string | undefined;
  readonly listeners: readonly BoundListener[];
  readonly transports: Transports;
  readonly dials: Dials;
  readonly dns: DnsHelper;
  readonly udp: UdpInfo | undefined;
  readonly connections: ConnectionTable;
  readonly metrics: InstanceMetrics;
}

/** Builds the status of an instance for `postern status`. */
export function statusOf(
  { version, id, process, startedAt, state, problem, ...parts }: StatusParts,
): Status {
  const { listeners, transports, dials, connections, metrics } = parts;
  const { config, loadedAt, transports: { byName } } = transports.plan;
  const dns = parts.dns.info();
  const bytes = metrics.total;
  for (const { tally } of connections.live) {
    bytes.up += tally.up;
    bytes.down += tally.down;
  }
  return {
    version,
    id,
    pid: process.pid,
    startedAt: startedAt.toISOString(),
    state,
    listeners: [
      ...listeners.map(({ kind, address, hasAuth, forward, ofCommand }) => ({
        kind,
        address,
        auth: hasAuth,
        ...(forward && { target: formatEndpoint(forward.target) }),
        ...(ofCommand && { ofCommand }),
        ...(forward?.name !== undefined && { name: forward.name }),
      })),
      ...parts.dns.endpoints.map((endpoint) => ({
        kind: "dns",
        address: formatTarget(endpoint),
        auth: false,
      })),
    ],
    transports: [...byName.values()].map((built) => {
      const table = transports.tables.state(built.name);
      return { ...dials.state(built), ...(table && { table }) };
    }),
    config: {
      ...(config.path !== undefined && { path: config.path }),
      loadedAt: loadedAt.toISOString(),
      ...(problem !== undefined && { problem }),
    },
    ...(config.catalogues.length > 0 && { catalogues: config.catalogues }),
    ...(dns && { dns }),
    ...(parts.udp && { udp: parts.udp }),
    connections: connections.counts,
    bytes,
    memory: { resident: process.memory() },
  };
}
