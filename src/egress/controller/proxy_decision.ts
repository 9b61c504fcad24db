import { formatPath } from "../../config/mod.ts";
import { acceptedStatus, automaticNoProxy, type AutomaticSettings } from "../no_proxy/automatic_no_proxy.ts";
import { bundleTextOf, type CaCertificate, mergedBundle, readCaBundle } from "../ca_bundle.ts";
import { checkProxySpec } from "../check_proxy_spec.ts";
import { readInfrastructure, readInstallFacts, readNetwork } from "../platform_facts.ts";
import { isWithoutProxy, type ProxyStatus } from "../proxy_spec.ts";
import type { ProxyInputs } from "./proxy_inputs.ts";

/** One reason to reject a proxy. */
export interface ProxyRefusal {
  /** The condition's one-word reason. */
  readonly reason: string;
  readonly message: string;
}

/** The result of the checks, before any probe. */
export type ProxyDecision =
  & { readonly warnings: readonly string[]; readonly excluded: readonly string[] }
  & (
    | { readonly isSound: false; readonly refusals: readonly ProxyRefusal[] }
    | {
      readonly isSound: true;
      readonly status: ProxyStatus;
      /** The merged bundle. */
      readonly bundle: string;
    }
  );

export interface DecisionOptions extends AutomaticSettings {
  /** The system's certificates; empty when the settings leave them out. */
  readonly system: readonly CaCertificate[];
  readonly now: Date;
}

/** Checks all inputs and computes the status and bundle to accept. */
export async function decideProxy(inputs: ProxyInputs, options: DecisionOptions): Promise<ProxyDecision> {
  const refusals: ProxyRefusal[] = [];
  const warnings: string[] = [];
  const network = readNetwork(inputs.network);
  const install = readInstallFacts(inputs.install && "value" in inputs.install ? inputs.install.value : {});
  const report = checkProxySpec(inputs.spec, {
    clusterNetworks: [
      ...network.serviceNetworks,
      ...network.clusterNetworks,
      ...(install.joinNetworks ?? []),
    ],
  });
  for (const { path, message } of [...inputs.problems, ...report.problems]) {
    refusals.push({ reason: "InvalidSpec", message: `${formatPath(path)} ${message}` });
  }
  for (const { path, message } of report.warnings) warnings.push(`${formatPath(path)} ${message}`);
  const trusted = await trustedOf(inputs, options.now);
  refusals.push(...trusted.refusals);
  warnings.push(...trusted.warnings);
  const automatic = isWithoutProxy(inputs.spec) ? undefined : automaticNoProxy(
    { infrastructure: readInfrastructure(inputs.infrastructure), network, install },
    options,
  );
  if (automatic) {
    refusals.push(...platformRefusals(inputs, automatic.problems));
    warnings.push(...automatic.warnings);
    if (!inputs.install) {
      warnings.push("kube-system has no install-config: the no-proxy list lacks the machine networks");
    }
  }
  const merged = mergedBundle(trusted.certificates, options.system);
  if ("problem" in merged) {
    refusals.push({
      reason: `Bundle${merged.problem.reason}`,
      message: `the merged bundle ${merged.problem.message}`,
    });
  }
  const excluded = automatic?.excluded ?? [];
  if (refusals.length > 0 || "problem" in merged) return { isSound: false, refusals, warnings, excluded };
  const status = acceptedStatus(inputs.spec, automatic?.entries ?? []);
  return { isSound: true, status, bundle: merged.text, warnings, excluded };
}

async function trustedOf(
  { ca }: ProxyInputs,
  now: Date,
): Promise<{
  readonly certificates: readonly CaCertificate[];
  readonly refusals: readonly ProxyRefusal[];
  readonly warnings: readonly string[];
}> {
  if (!ca) return { certificates: [], refusals: [], warnings: [] };
  const where = `ConfigMap ${ca.place.namespace}/${ca.place.name}`;
  const refused = (reason: string, message: string) => ({
    certificates: [],
    refusals: [{ reason: `TrustedCA${reason}`, message: `the ${where} ${message}` }],
    warnings: [],
  });
  if (!ca.object) return refused("MapMissing", "does not exist, but spec.trustedCA names it");
  const found = bundleTextOf(ca.object);
  if ("problem" in found) return refused(found.problem.reason, found.problem.message);
  const { certificates, problems, warnings } = await readCaBundle(found.text, { now });
  return {
    certificates,
    refusals: problems.map(({ reason, message }) => ({
      reason: `TrustedCA${reason}`,
      message: `the ${where} ${message}`,
    })),
    warnings: warnings.map((warning) => `the ${where}: ${warning}`),
  };
}

/** Reports a missing object once instead of once per field. */
function platformRefusals(inputs: ProxyInputs, problems: readonly string[]): ProxyRefusal[] {
  const reason = "PlatformUnknown";
  const missing = [
    ...(inputs.infrastructure ? [] : ["Infrastructure/cluster"]),
    ...(inputs.network ? [] : ["Network/cluster"]),
  ];
  const refusals = missing.map((what) => ({
    reason,
    message: `${what} does not exist: postern cannot compute the automatic no-proxy list`,
  }));
  for (const problem of problems) {
    if (!missing.some((what) => problem.includes(what))) refusals.push({ reason, message: problem });
  }
  if (inputs.install && "problem" in inputs.install) {
    refusals.push({ reason, message: `cannot read the install-config: ${inputs.install.problem}` });
  }
  return refusals;
}
