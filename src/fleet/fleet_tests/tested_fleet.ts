import type { EndpointKind } from "../../clusters/mod.ts";
import type { Clock } from "../../core/mod.ts";
import type { ErrorInfo } from "../../control/mod.ts";

/** How signing in wherever a transport leads went. */
export interface JumpHostTest {
  readonly kind: "jumphost";
  /** The transport. */
  readonly name: string;
  readonly type: string;
  readonly outcome: "ok" | "failed";
  readonly ms: number;
  /** The hosts on the way, nearest first, and how long each of them took. */
  readonly hops: readonly { readonly host: string; readonly address: string; readonly ms?: number }[];
  readonly error?: ErrorInfo;
}

/** How asking one of a cluster's web addresses went. */
export type EndpointTest =
  & {
    readonly kind: EndpointKind;
    /** The cluster. */
    readonly name: string;
  }
  & (
    | { readonly outcome: "skipped"; readonly reason: string }
    | { readonly outcome: "ok"; readonly url: string; readonly ms: number; readonly status: number }
    | { readonly outcome: "failed"; readonly url: string; readonly ms: number; readonly error: ErrorInfo }
  );

/** What became of one test. */
export type FleetTest = JumpHostTest | EndpointTest;

/** How many tests ended in which way. */
export interface TestCounts {
  readonly ok: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Counts what became of tests. */
export function countsOf(tests: readonly FleetTest[]): TestCounts {
  const counts = { ok: 0, failed: 0, skipped: 0 };
  for (const { outcome } of tests) counts[outcome]++;
  return counts;
}

/** The ms since a moment, with one digit behind the point. */
export function elapsed(clock: Clock, begun: number): number {
  return Math.round((clock.now() - begun) * 10) / 10;
}
