import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { Status } from "../../control/mod.ts";
import { type ConfigSource, loadConfig, Transports } from "../../plan/mod.ts";
import type { DnsDelegation } from "../../resolver/mod.ts";
import { dnsDomains } from "./dns_domains.ts";

/** The maximum number of domains to delegate: on macOS each one is a file. */
const mostDomains = 200;
/** The server and domains that the system resolver should use for a running instance. */
export function dnsDelegationOf({ id, dns }: Pick<Status, "id" | "dns">): DnsDelegation {
  const [first] = dns?.addresses ?? [];
  if (!dns || first === undefined) {
    throw new PosternError(
      "config",
      `Cannot configure the system resolver: instance "${id}" does not answer DNS`,
      {
        hint: "set listen.dns in its configuration, or start the instance with --listen-dns 127.0.0.1:1053",
      },
    );
  }
  return checkedDelegation({ server: first, domains: dns.domains });
}

/** The same, from the configuration alone. */
export async function dnsDelegationFromFiles(world: World, source: ConfigSource): Promise<DnsDelegation> {
  const config = await loadConfig(world, source);
  await using transports = new Transports(world, config);
  const sockets = (config.settings.listen?.dns ?? []).flatMap(({ address }) => address.sockets);
  const endpoints = sockets.flatMap(({ endpoint }) => "port" in endpoint ? [endpoint] : []);
  const [server] = endpoints;
  if (!server) {
    throw new PosternError("config", "Cannot configure the system resolver: listen.dns is not set", {
      hint: "set listen.dns to 127.0.0.1:1053, or pass the address: --server 127.0.0.1:1053",
    });
  }
  if (server.port === 0) {
    throw new PosternError(
      "config",
      "Cannot configure the system resolver: listen.dns has port 0, which changes at each start",
      {
        hint: "give listen.dns a fixed port",
      },
    );
  }
  return checkedDelegation({ server, domains: dnsDomains(transports.plan) });
}

/** Throws if the delegation has no domains or too many. */
export function checkedDelegation(delegation: DnsDelegation): DnsDelegation {
  const count = delegation.domains.length;
  if (count > 0 && count <= mostDomains) return delegation;
  throw new PosternError(
    "config",
    count === 0
      ? "Cannot configure the system resolver: the instance answers for no domain"
      : `Cannot configure the system resolver: ${count} domains exceed the maximum of ${mostDomains}`,
    { hint: "name the domains: --domain corp.example.net, or dns.domains in the configuration" },
  );
}
