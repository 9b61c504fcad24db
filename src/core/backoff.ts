export interface BackoffTerms {
  /** In ms, as the wait that comes of it. */
  readonly first: number;
  /** No limit when absent. */
  readonly most?: number;
  /** How much longer each wait is than the one before: twice when absent. */
  readonly factor?: number;
}

/** How long to wait, in ms, before another try; `again` is how many such waits there were before. */
export function backoff(again: number, { first, most = Infinity, factor = 2 }: BackoffTerms): number {
  return Math.min(most, first * factor ** again);
}
