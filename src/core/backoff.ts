export interface BackoffTerms {
  /** The first wait in ms. */
  readonly first: number;
  /** The longest wait in ms (default: no limit). */
  readonly most?: number;
  /** The factor between two waits (default: 2). */
  readonly factor?: number;
}

/** Returns the wait in ms before the next try; `again` counts the previous waits. */
export function backoff(again: number, { first, most = Infinity, factor = 2 }: BackoffTerms): number {
  return Math.min(most, first * factor ** again);
}
