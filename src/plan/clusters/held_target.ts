import { asCause, describe, formatTarget, parseIp, PosternError, type Target } from "../../words/mod.ts";
import type { Held } from "../../routing/mod.ts";

/** What is known of the cluster behind a transport, and why not more. */
export interface OwnerState {
  readonly isKnown: boolean;
  readonly failure?: PosternError;
  /** The program that a person signs in with right now. */
  readonly signingInWith?: string | undefined;
}

/** Why a target that a cluster owns, or may own, is refused. Its code is that of the cluster's own reason. */
export function heldError(
  target: Target,
  { owners }: Held,
  stateOf: (transport: string) => OwnerState,
): PosternError {
  const states = owners.map((owner) => ({ ...owner, ...stateOf(owner.transport) }));
  const what = `Cannot reach ${formatTarget(target)}`;
  const open = `if it is no target of a cluster, add it to the configuration: direct: ["${target.host}"]`;
  const unknown = states.filter(({ isKnown }) => !isKnown);
  const owner = unknown[0] ?? states.find(({ isSure }) => isSure) ?? states[0];
  const { transport = "", isSure = false, failure, signingInWith } = owner ?? {};
  if (unknown.length === 0 && !isSure) {
    return new PosternError(
      "not_allowed",
      `${what}: it may be an address of "${transport}", which does not let you see all its Services`,
      { hint: `ask for the right to list services in all namespaces; ${open}` },
    );
  }
  if (unknown.length === 0) {
    return new PosternError("name_not_found", `${what}: ${absence(target.host, transport)}`, { hint: open });
  }
  const belongs = `it ${isSure ? "belongs" : "may belong"} to the cluster of "${transport}"`;
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
    `${what}: ${belongs}, and that cluster is unknown: ${reason(failure)}`,
    { hint, detail: failure.detail },
  );
}

/** What keeps a cluster from answering while a person signs in. */
export function signingIn(program: string): string {
  return `postern waits for the sign-in with "${program}"`;
}

/** What a cluster that is known does not have. */
function absence(host: string, transport: string): string {
  if (parseIp(host)) return `no Service and no pod behind a Service of "${transport}" has this address`;
  const labels = host.replace(/\.$/, "").split(".");
  const [first = "", second, third] = labels;
  if (third !== undefined) return `"${transport}" takes the name of a pod only as ${host}.svc`;
  return second === undefined
    ? `"${transport}" has no Service ${first} any more`
    : `"${transport}" has no Service ${first} in the namespace ${second}`;
}

/** The same without its own "Cannot …" where the rest says enough. */
function reason(failure: PosternError): string {
  const text = describe(failure);
  // Of a plugin that failed only the whole sentence says which one.
  const isPlain = (failure.code === "auth" || failure.code === "not_allowed") && failure.detail !== "sign_in";
  const [, rest] = isPlain ? /^Cannot [^:]*: (.+)$/s.exec(text) ?? [] : [];
  return rest ?? asCause(text);
}
