/** Runs work for each item, at most `limit` at once; returns the results in their order. */
export async function eachAtOnce<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => R | Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const worker = async () => {
    for (const [at, item] of waiting) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
