import type { Problem } from "../config/mod.ts";
import { formatTarget, type Target } from "../core/mod.ts";
import type { TransportKind } from "./define_transport.ts";
import type { TransportsSettings } from "./transports_schema.ts";

/** Transports that connect from here to a door of ours, and so back to themselves. */
export function loopProblemsOf(
  kinds: readonly TransportKind[],
  settings: TransportsSettings,
  isOurs: (target: Target) => boolean,
): Problem[] {
  return Object.entries(settings).flatMap(([name, { kind, settings, via = "direct" }]) => {
    // Behind another transport, the same address is on another machine.
    if (via !== "direct") return [];
    const targets = kinds.find(({ type }) => type === kind)?.connectsTo?.(settings) ?? [];
    return targets.filter(isOurs).map((target) => ({
      path: [name, kind],
      message: `must not lead back to this door: ${formatTarget(target)} is one of its own listeners`,
    }));
  });
}
