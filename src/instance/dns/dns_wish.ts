import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { Status } from "../../control/mod.ts";
import { type ConfigSource, loadConfig, Transports } from "../../plan/mod.ts";
import type { DnsWish } from "../../resolver/mod.ts";
import { dnsDomains } from "./dns_domains.ts";

/** The most domains that a system is told of: each is a file on macOS. */
const mostDomains = 200;
/** What the system is to ask a running door for. */
export function dnsWishOf({ id, dns }: Pick<Status, "id" | "dns">): DnsWish {
  const [first] = dns?.addresses ?? [];
  if (!dns || first === undefined) {
    throw new PosternError("config", `Cannot tell the system where to ask: the door "${id}" answers no DNS`, {
      hint: "set listen.dns in its configuration, or start it with --listen-dns 127.0.0.1:1053",
    });
  }
  return checkedWish({ server: first, domains: dns.domains });
}

/** The same by the configuration alone. */
export async function dnsWishFromFiles(world: World, source: ConfigSource): Promise<DnsWish> {
  const config = await loadConfig(world, source);
  await using transports = new Transports(world, config);
  const sockets = (config.settings.listen?.dns ?? []).flatMap(({ address }) => address.sockets);
  const endpoints = sockets.flatMap(({ endpoint }) => "port" in endpoint ? [endpoint] : []);
  const [server] = endpoints;
  if (!server) {
    throw new PosternError("config", "Cannot tell the system where to ask: listen.dns is not set", {
      hint: "set listen.dns to 127.0.0.1:1053, or name the address: --server 127.0.0.1:1053",
    });
  }
  if (server.port === 0) {
    throw new PosternError("config", "Cannot tell the system where to ask: listen.dns is any free port", {
      hint: "give listen.dns a port that stays the same",
    });
  }
  return checkedWish({ server, domains: dnsDomains(transports.plan) });
}

/** That there is something to ask for, and not too much. */
export function checkedWish(wish: DnsWish): DnsWish {
  const count = wish.domains.length;
  if (count > 0 && count <= mostDomains) return wish;
  throw new PosternError(
    "config",
    count === 0
      ? "Cannot tell the system what to ask for: no names are the door's own"
      : `Cannot tell the system of ${count} domains: at most ${mostDomains}`,
    { hint: "name them: --domain corp.example.net, or dns.domains in the configuration" },
  );
}
