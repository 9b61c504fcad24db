import { type Endpoint, formatEndpoint, type Target } from "../../words/mod.ts";
import type { BoundForward, ExplanationInfo } from "../../control/mod.ts";
import type { ForwardSettings } from "../../listeners/mod.ts";
import { isAmong, type Settings } from "../../plan/mod.ts";

/** A listener of a forward, or another listener. */
export interface ForwardListener {
  readonly endpoint: Endpoint;
  readonly forward?: Pick<ForwardSettings, "target" | "name"> | undefined;
}

/** The forwards among some listeners. */
export function boundForwards(listeners: readonly ForwardListener[]): BoundForward[] {
  return listeners.flatMap(({ endpoint, forward }) =>
    forward
      ? [{
        address: formatEndpoint(endpoint),
        target: formatEndpoint(forward.target),
        ...(forward.name !== undefined && { name: forward.name }),
      }]
      : []
  );
}

/** Adds the forward that listens on the address of a target to its explanation. */
export function withForward(
  explanation: ExplanationInfo,
  target: Target,
  listeners: readonly ForwardListener[],
): ExplanationInfo {
  const [forward] = boundForwards(listeners.filter(({ endpoint }) => isAmong(target, [endpoint])));
  return forward ? { ...explanation, forward } : explanation;
}

/** The listeners of the configured forwards. */
export function configuredForwards({ listen }: Settings): ForwardListener[] {
  return (listen?.forward ?? []).flatMap((forward) =>
    forward.address.sockets.map(({ endpoint }) => ({ endpoint, forward }))
  );
}
