import type { PlannedStream } from "./fault_schedule.ts";

/** The result of one stream, as seen by both ends. */
export interface StreamAccount {
  readonly plan: PlannedStream;
  readonly begunAt: number;
  readonly endedAt: number;
  /** Correct bytes that the target and the client received. */
  readonly up: number;
  readonly down: number;
  /** The first wrong byte at either end. */
  readonly corrupted: string | undefined;
  /** Whether the test canceled the stream after its deadline. */
  readonly isLate: boolean;
  /** The client's error; undefined after a normal end. */
  readonly failure: string | undefined;
  /** The outcome in the instance's log: `done`, `target_gone`; undefined for a refused stream. */
  readonly outcome: string | undefined;
}

/** A period in which a route may fail. */
interface Trouble {
  readonly ways: readonly string[];
  readonly from: number;
  readonly what: string;
  until: number;
}

/** Records the troubles of each route, and checks streams against the laws. */
export class FaultLedger {
  readonly #troubles: Trouble[] = [];

  /** Starts a trouble on some routes; the returned function ends it. */
  begin(what: string, ways: readonly string[], now: number): (now: number) => void {
    const trouble: Trouble = { what, ways, from: now, until: Infinity };
    this.#troubles.push(trouble);
    return (now) => void (trouble.until = now);
  }

  /** Returns the troubles of a route within a period. */
  troubles(way: string, from: number, until: number): string[] {
    return this.#troubles
      .filter((trouble) => trouble.ways.includes(way) && trouble.from <= until && trouble.until >= from)
      .map(({ what }) => what);
  }

  /** Returns a sentence for each law that a stream broke. */
  broken(account: StreamAccount): string[] {
    const { plan, begunAt, endedAt, up, down, corrupted, isLate, failure, outcome } = account;
    const broken: string[] = [];
    if (corrupted !== undefined) broken.push(`corrupted: ${corrupted}`);
    if (up > plan.up || down > plan.down) broken.push("received more bytes than were sent");
    if (isLate) broken.push("the stream hung past its deadline");
    const isWhole = up === plan.up && down === plan.down && failure === undefined;
    const excuses = this.troubles(plan.way, begunAt, endedAt);
    if (!isWhole && excuses.length === 0) {
      broken.push(
        `cut short without a fault: ${up} of ${plan.up} up, ${down} of ${plan.down} down` +
          `${failure === undefined ? "" : `: ${failure}`}`,
      );
    }
    const isDone = up >= plan.up && down >= plan.down;
    if (outcome === "done" && !isDone && tellsEnds.includes(plan.way)) {
      broken.push(`a normal end after ${up} of ${plan.up} up, ${down} of ${plan.down} down`);
    }
    return broken;
  }
}

/** Routes whose server distinguishes a normal end from a failure. */
export const tellsEnds: readonly string[] = ["direct", "one", "chain", "lab", "behind"];
