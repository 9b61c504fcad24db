import { describe, formatTarget } from "../words/mod.ts";
import type { Log } from "../core/mod.ts";
import type { World } from "../world/mod.ts";
import { answersAt } from "./answers_at.ts";
import { appliedDelegation, appliedDnsFiles, applyDns, type DnsChange, undoDns } from "./dns_applied.ts";
import type { DnsDelegation } from "./dns_system.ts";
import { instances } from "../instances/mod.ts";

/** Whether a server listens at the address in the resolver files. */
export async function answersDns(
  world: Pick<World, "network" | "clock">,
  { server }: DnsDelegation,
  { signal }: { signal: AbortSignal },
): Promise<boolean> {
  return await answersAt(world, server, { signal });
}

/** Removes what killed instances left: sockets, locks, and resolver files that name a dead server. */
export async function cleanUp(world: World, { signal }: { signal: AbortSignal }): Promise<DnsChange> {
  // Listing the running instances removes the sockets and locks of dead ones.
  await instances(world, { signal, unanswered: () => {} });
  const files = await appliedDnsFiles(world);
  const delegation = appliedDelegation(files);
  if (files.length === 0 || (delegation && await answersDns(world, delegation, { signal }))) {
    return { written: [], removed: [] };
  }
  return await undoDns(world, { signal });
}

/**
 * Repairs resolver files that an earlier instance left: rewrites files with another server or other domains,
 * and removes files with a dead server. If that is not allowed, the log names the command to run.
 */
export async function repairDns(
  world: World,
  delegation: DnsDelegation | undefined,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<void> {
  const files = await appliedDnsFiles(world);
  if (files.length === 0) return;
  const before = appliedDelegation(files);
  const isOurs = delegation !== undefined && before !== undefined && isSame(before, delegation);
  if (isOurs || (!delegation && before && await answersDns(world, before, { signal }))) return;
  // Another instance may use that server, and the files are its own.
  if (
    delegation && before && !isSameServer(before, delegation) && await answersDns(world, before, { signal })
  ) return;
  try {
    const { written, removed } = delegation
      ? await applyDns(world, delegation, { signal })
      : await undoDns(world, { signal });
    log.info("dns.system_repaired", { written: written.join(" "), removed: removed.join(" ") });
  } catch (error) {
    if (signal.aborted) throw error;
    log.warn("dns.system_stale", { reason: describe(error), hint: `run: ${repairCommand(delegation)}` });
  }
}

/** The command that repairs the files, for a user with the rights. */
function repairCommand(delegation: DnsDelegation | undefined): string {
  return delegation ? applyCommand(delegation) : "sudo postern cleanup";
}

/** The command that applies a delegation without the configuration it came from. */
export function applyCommand({ server, domains }: DnsDelegation): string {
  const named = domains.map((domain) => ` --domain ${domain}`).join("");
  return `sudo postern dns --apply --server ${formatTarget(server)}${named}`;
}

function isSame(one: DnsDelegation, other: DnsDelegation): boolean {
  const domains = (delegation: DnsDelegation) => [...delegation.domains].sort().join(" ");
  return isSameServer(one, other) && domains(one) === domains(other);
}

function isSameServer(one: DnsDelegation, other: DnsDelegation): boolean {
  return formatTarget(one.server) === formatTarget(other.server);
}
