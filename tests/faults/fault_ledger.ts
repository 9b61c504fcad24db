import type { PlannedStream } from "./fault_schedule.ts";

/** What became of one stream, as both ends saw it. */
export interface StreamAccount {
  readonly plan: PlannedStream;
  readonly begunAt: number;
  readonly endedAt: number;
  /** Bytes of the right pattern that came to the target, and to the client. */
  readonly up: number;
  readonly down: number;
  /** What was wrong with a byte, at either end. */
  readonly corrupted: string | undefined;
  /** Whether it had to be ended because it took too long. */
  readonly isLate: boolean;
  /** Why it ended for the client, unless in order. */
  readonly failure: string | undefined;
  /** What the door calls its end: `done`, `target_gone`; nothing where it was refused. */
  readonly outcome: string | undefined;
}

/** A time in which a way need not work. */
interface Trouble {
  readonly ways: readonly string[];
  readonly from: number;
  readonly what: string;
  until: number;
}

/** Which ways had trouble when, and what the laws say of a stream that went one of them. */
export class FaultLedger {
  readonly #troubles: Trouble[] = [];

  /** Notes that ways are in trouble from now on; what is given back ends that. */
  begin(what: string, ways: readonly string[], now: number): (now: number) => void {
    const trouble: Trouble = { what, ways, from: now, until: Infinity };
    this.#troubles.push(trouble);
    return (now) => void (trouble.until = now);
  }

  /** What was wrong with a way within that time. */
  troubles(way: string, from: number, until: number): string[] {
    return this.#troubles
      .filter((trouble) => trouble.ways.includes(way) && trouble.from <= until && trouble.until >= from)
      .map(({ what }) => what);
  }

  /** The laws that a stream broke, each as a sentence. */
  broken(account: StreamAccount): string[] {
    const { plan, begunAt, endedAt, up, down, corrupted, isLate, failure, outcome } = account;
    const broken: string[] = [];
    if (corrupted !== undefined) broken.push(`corrupted: ${corrupted}`);
    if (up > plan.up || down > plan.down) broken.push("more came than was sent");
    if (isLate) broken.push("it hung past its deadline");
    const isWhole = up === plan.up && down === plan.down && failure === undefined;
    const excuses = this.troubles(plan.way, begunAt, endedAt);
    if (!isWhole && excuses.length === 0) {
      broken.push(
        `cut short where nothing was wrong: ${up} of ${plan.up} up, ${down} of ${plan.down} down` +
          `${failure === undefined ? "" : `: ${failure}`}`,
      );
    }
    const isDone = up >= plan.up && down >= plan.down;
    if (outcome === "done" && !isDone && tellsEnds.includes(plan.way)) {
      broken.push(`an end in order after ${up} of ${plan.up} up, ${down} of ${plan.down} down`);
    }
    return broken;
  }
}

/** Ways whose far side tells an end in order from one that was not: nothing else there looks like one. */
export const tellsEnds: readonly string[] = ["direct", "one", "chain", "lab", "behind"];
