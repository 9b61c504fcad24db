import { formatPath, formatProblems, maskedUrl } from "../../config/mod.ts";
import type { World } from "../../world/mod.ts";
import {
  acceptedStatus,
  automaticNoProxy,
  type AutomaticSettings,
  checkProxySpec,
  type EndpointResult,
  isWithoutProxy,
  probeEndpoints,
  type ProxyStatus,
  readCaBundle,
  type SpecProblem,
} from "../../egress/mod.ts";
import { type ProxyMaterial, type ProxySources, readProxyMaterial } from "./proxy_material.ts";

export interface CheckProxyOptions extends ProxySources {
  /** Also probes the readiness endpoints. */
  readonly isLive?: boolean;
  /** Timeout of one attempt, in ms. */
  readonly timeout?: number;
  readonly automatic?: AutomaticSettings;
}

/** The result of a check; no text in it holds a password. */
export interface ProxyCheck {
  readonly isAccepted: boolean;
  readonly problems: readonly CheckedProblem[];
  readonly warnings: readonly CheckedProblem[];
  /** The status that the controller would accept; absent when the files lack facts about the cluster. */
  readonly status?: ProxyStatus;
  /** Present when the endpoints were probed. */
  readonly endpoints?: readonly EndpointResult[] | undefined;
}

export interface CheckedProblem {
  readonly field: string;
  readonly reason: string;
  readonly message: string;
  /** `FILE:LINE:COLUMN: field: message`, for display. */
  readonly line: string;
}

/** Checks a proxy before it is applied, like the controller. */
export async function checkProxy(
  world: World,
  { isLive = false, timeout, automatic, ...sources }: CheckProxyOptions,
  { signal }: { signal: AbortSignal },
): Promise<ProxyCheck> {
  const material = await readProxyMaterial(world, sources);
  const { spec, clusterNetworks, isInstall, facts, gaps } = material;
  const report = checkProxySpec(spec, { clusterNetworks, refusesSpaces: isInstall });
  const ca = await checkCa(material, world.clock.date());
  const list = facts && !isWithoutProxy(spec) ? automaticNoProxy(facts, automatic) : undefined;
  const place = isInstall ? [] : ["status"];
  const found = (messages: readonly string[] = []) =>
    messages.map((message) => checked({ path: place, reason: "Platform", message }, material));
  const problems = [
    ...material.problems.map((problem) => checked(problem, material)),
    ...report.problems.map((problem) => checked(problem, material)),
    ...ca.problems,
    ...found(list?.problems),
  ];
  const warnings = [
    ...report.warnings.map((warning) => checked(warning, material)),
    ...ca.warnings,
    ...found(list?.warnings),
    // Without a list, do not report that the list is incomplete.
    ...found(list && gaps.list !== undefined ? [`the no-proxy list is incomplete: ${gaps.list}`] : []),
  ];
  const isSound = problems.length === 0;
  const endpoints = isLive && isSound
    ? await probeEndpoints(spec, world, {
      signal,
      timeout,
      ca: ca.text,
    })
    : undefined;
  return {
    isAccepted: isSound && (endpoints ?? []).every(({ isReady }) => isReady),
    problems,
    warnings,
    ...(isSound && facts && { status: shownStatus(acceptedStatus(spec, list?.entries ?? [])) }),
    endpoints,
  };
}

interface CheckedCa {
  readonly problems: readonly CheckedProblem[];
  readonly warnings: readonly CheckedProblem[];
  /** The certificates to trust in addition to the system's, if they are sound. */
  readonly text?: string;
}

async function checkCa(material: ProxyMaterial, now: Date): Promise<CheckedCa> {
  const { ca, isInstall, isTrusted, gaps } = material;
  const path = isInstall ? ["additionalTrustBundle"] : ["spec", "trustedCA"];
  const say = (reason: string, message: string) => checked({ path, reason, message }, material);
  if (!ca) {
    if (gaps.bundle === undefined) return { problems: [], warnings: [] };
    return { problems: [], warnings: [say("NotChecked", `is not checked: ${gaps.bundle}`)] };
  }
  if ("problem" in ca) {
    return { problems: [say(ca.problem.reason, `${ca.name} ${ca.problem.message}`)], warnings: [] };
  }
  const { problems, warnings } = await readCaBundle(ca.text, { now, refusesTextBehind: isInstall });
  const unnamed = `names no ConfigMap: a cluster would not trust ${ca.name}`;
  return {
    problems: problems.map(({ reason, message }) => say(reason, `${ca.name} ${message}`)),
    warnings: [
      ...warnings.map((message) => say("Certificate", `${ca.name}, ${message}`)),
      ...(isTrusted || isInstall ? [] : [say("NotNamed", unnamed)]),
    ],
    ...(problems.length === 0 && { text: ca.text }),
  };
}

type Found = Pick<SpecProblem, "path" | "message"> & { readonly reason: string };

function checked({ path, reason, message }: Found, { document, pathOf }: ProxyMaterial): CheckedProblem {
  const at = pathOf(path);
  const [line = ""] = formatProblems([{ path: at, message }], document);
  return { field: formatPath(at), reason, message, line };
}

function shownStatus({ httpProxy, httpsProxy, noProxy }: ProxyStatus): ProxyStatus {
  return { httpProxy: maskedUrl(httpProxy), httpsProxy: maskedUrl(httpsProxy), noProxy };
}
