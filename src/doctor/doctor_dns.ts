import { counted } from "../core/mod.ts";
import { asPosternError, describe, formatTarget } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import type { ListenSettings } from "../listeners/mod.ts";
import { answersDns, appliedDelegation, appliedDnsFiles } from "../resolver/mod.ts";
import type { Finding } from "./doctor.ts";
import { withOwner } from "../instances/mod.ts";

/** Whether each DNS port is free for UDP and TCP, or used by the running instance. */
export async function* dnsPortFindings(
  world: World,
  { dns = [] }: ListenSettings,
  own: readonly string[],
): AsyncGenerator<Finding> {
  for (const { endpoint, mayBeMissing } of dns.flatMap(({ address }) => address.sockets)) {
    if ("path" in endpoint) continue;
    const text = formatTarget(endpoint);
    const name = `DNS on ${text}`;
    if (own.includes(text)) {
      yield { name, state: "ok", detail: "used by the running instance" };
      continue;
    }
    try {
      await using _listening = world.network.listen(endpoint);
      await using _datagrams = await world.network.datagrams(endpoint);
      yield { name, state: "ok", detail: "free for UDP and TCP" };
    } catch (error) {
      const { message, hint, detail } = asPosternError(await withOwner(world, error).catch(() => error));
      if (mayBeMissing && detail === "network") continue;
      yield { name, state: "failed", detail: message, hint };
    }
  }
}

/** Whether the DNS server in the files of `dns --apply` answers. */
export async function* dnsFileFindings(
  world: World,
  { signal }: { signal: AbortSignal },
): AsyncGenerator<Finding> {
  const name = "system's DNS";
  try {
    const files = await appliedDnsFiles(world);
    if (files.length === 0) return;
    const delegation = appliedDelegation(files);
    const paths = files.map(({ path }) => path).join(", ");
    if (delegation && await answersDns(world, delegation, { signal })) {
      const domains = delegation.domains.length;
      yield {
        name,
        state: "ok",
        detail: `${paths} sends ${counted(domains, "domain")} to ${formatTarget(delegation.server)}`,
      };
      return;
    }
    const problem = delegation
      ? `sends queries to ${formatTarget(delegation.server)}, which does not answer`
      : "names no DNS server";
    yield {
      name,
      state: "failed",
      detail: `${paths} ${problem}`,
      hint: "start the instance, or remove the file: sudo postern cleanup",
    };
  } catch (error) {
    if (signal.aborted) throw error;
    yield { name, state: "warning", detail: describe(error) };
  }
}
