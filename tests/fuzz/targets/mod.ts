import type { FuzzTarget } from "../fuzz_target.ts";
import { clusterTargets } from "./cluster_targets.ts";
import { dnsTargets } from "./dns_targets.ts";
import { frameTargets } from "./frame_targets.ts";
import { proxyTargets } from "./proxy_targets.ts";
import { signInTargets } from "./sign_in_targets.ts";
import { textTargets } from "./text_targets.ts";

/** All readers of untrusted input. */
export const fuzzTargets: readonly FuzzTarget[] = [
  ...proxyTargets,
  ...textTargets,
  ...frameTargets,
  ...dnsTargets,
  ...signInTargets,
  ...clusterTargets,
];
