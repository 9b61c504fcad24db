/** The word within a few edits of `word` (a swap counts once); undefined without one. */
export function closest(word: string, words: Iterable<string>): string | undefined {
  const folded = word.slice(0, 64).toLowerCase();
  let best: string | undefined;
  let bound = Math.min(3, Math.max(1, Math.floor(folded.length / 3)));
  for (const candidate of words) {
    const distance = editDistance(folded, candidate.toLowerCase(), bound);
    if (distance > bound || (best !== undefined && distance === bound)) continue;
    best = candidate;
    bound = distance;
    if (distance === 0) break;
  }
  return best;
}

/** `, did you mean "x"?` or an empty text. */
export function suggestion(word: string, words: Iterable<string>): string {
  const meant = closest(word, words);
  return meant === undefined ? "" : `, did you mean "${meant}"?`;
}

/** Damerau-Levenshtein distance (optimal string alignment); may return `bound + 1` for any distance over `bound`. */
function editDistance(a: string, b: string, bound: number): number {
  if (Math.abs(a.length - b.length) > bound) return bound + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    let least = row;
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(cost);
      least = Math.min(least, cost);
    }
    if (least > bound) return bound + 1;
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? bound + 1;
}
