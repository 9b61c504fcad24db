import type { EndpointKind } from "../../clusters/mod.ts";
import type { Clock } from "../../core/mod.ts";
import type { ErrorInfo } from "../../control/mod.ts";

/** The result of connecting a transport. */
export interface JumpHostTest {
  readonly kind: "jumphost";
  /** The name of the transport. */
  readonly name: string;
  readonly type: string;
  readonly outcome: "ok" | "failed";
  readonly ms: number;
  /** The hosts on the path, nearest first, with the time that each needed. */
  readonly hops: readonly { readonly host: string; readonly address: string; readonly ms?: number }[];
  readonly error?: ErrorInfo;
}

/** The result of requesting one of a cluster's web addresses. */
export type EndpointTest =
  & {
    readonly kind: EndpointKind;
    /** The name of the cluster. */
    readonly name: string;
  }
  & (
    | { readonly outcome: "skipped"; readonly reason: string }
    | { readonly outcome: "ok"; readonly url: string; readonly ms: number; readonly status: number }
    | { readonly outcome: "failed"; readonly url: string; readonly ms: number; readonly error: ErrorInfo }
  );

export type FleetTest = JumpHostTest | EndpointTest;

/** The number of tests by outcome. */
export interface TestCounts {
  readonly ok: number;
  readonly failed: number;
  readonly skipped: number;
}

export function countsOf(tests: readonly FleetTest[]): TestCounts {
  const counts = { ok: 0, failed: 0, skipped: 0 };
  for (const { outcome } of tests) counts[outcome]++;
  return counts;
}

/** The ms since a time, with one decimal. */
export function elapsed(clock: Clock, begun: number): number {
  return Math.round((clock.now() - begun) * 10) / 10;
}
