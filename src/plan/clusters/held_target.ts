import { asCause, describe, formatTarget, parseIp, PosternError, type Target } from "../../words/mod.ts";
import type { Held } from "../../routing/mod.ts";

/** What is known about the cluster of a transport, and why not more. */
export interface OwnerState {
  readonly isKnown: boolean;
  readonly failure?: PosternError;
  /** The sign-in program that runs now. */
  readonly signingInWith?: string | undefined;
}

/**
 * Returns the error for a target that a cluster owns, or may own. It has the code of the
 * cluster's own error.
 */
export function heldError(
  target: Target,
  { owners }: Held,
  stateOf: (transport: string) => OwnerState,
): PosternError {
  const states = owners.map((owner) => ({ ...owner, ...stateOf(owner.transport) }));
  const what = `Cannot reach ${formatTarget(target)}`;
  const open = `if the target is not in a cluster, add it to the configuration: direct: ["${target.host}"]`;
  const unknown = states.filter(({ isKnown }) => !isKnown);
  const owner = unknown[0] ?? states.find(({ isSure }) => isSure) ?? states[0];
  const { transport = "", isSure = false, failure, signingInWith } = owner ?? {};
  if (unknown.length === 0 && !isSure) {
    return new PosternError(
      "not_allowed",
      `${what}: the address may belong to "${transport}", where you have no permission to list all Services`,
      { hint: `request permission to list services in all namespaces; ${open}` },
    );
  }
  if (unknown.length === 0) {
    return new PosternError("name_not_found", `${what}: ${absence(target.host, transport)}`, { hint: open });
  }
  const belongs = `the target ${isSure ? "belongs" : "may belong"} to the cluster of "${transport}"`;
  if (signingInWith !== undefined) {
    return new PosternError("timeout", `${what}: ${belongs}, and ${signingIn(signingInWith)}`, {
      hint: `finish the sign-in, then connect again; ${open}`,
    });
  }
  if (!failure) {
    return new PosternError("timeout", `${what}: ${belongs}, which has not answered yet`, { hint: open });
  }
  const hint = failure.hint === undefined ? open : `${failure.hint}; ${open}`;
  return new PosternError(
    failure.code,
    `${what}: ${belongs}, whose Services are unknown: ${reason(failure)}`,
    { hint, detail: failure.detail },
  );
}

/** Describes the sign-in that the cluster waits for. */
export function signingIn(program: string): string {
  return `postern waits for the sign-in with "${program}"`;
}

/** Explains that a known cluster does not have the target. */
function absence(host: string, transport: string): string {
  if (parseIp(host)) return `no Service of "${transport}" and no pod of its Services has this address`;
  const labels = host.replace(/\.$/, "").split(".");
  const [first = "", second, third] = labels;
  if (third !== undefined) return `"${transport}" accepts the name of a pod only as ${host}.svc`;
  return second === undefined
    ? `"${transport}" no longer has a Service ${first}`
    : `"${transport}" has no Service ${first} in the namespace ${second}`;
}

/** Removes the error's own "Cannot …" when the rest is clear. */
function reason(failure: PosternError): string {
  const text = describe(failure);
  // For a failed plugin, only the full sentence names the plugin.
  const isPlain = (failure.code === "auth" || failure.code === "not_allowed") && failure.detail !== "sign_in";
  const [, rest] = isPlain ? /^Cannot [^:]*: (.+)$/s.exec(text) ?? [] : [];
  return rest ?? asCause(text);
}
