/** The number of context lines around a change. */
const around = 3;
/** Above this many pairs of differing lines, the diff shows both sides whole. */
const mostPairs = 4_000_000;

type Change = { readonly sign: " " | "-" | "+"; readonly text: string };

/** The difference of two texts as in `diff -u`, without file names; empty for equal texts. */
export function lineDiff(before: string, after: string): string[] {
  const changes = changesOf(before.split("\n"), after.split("\n"));
  const near = changes.map((_, at) =>
    changes.slice(Math.max(0, at - around), at + around + 1).some(isChange)
  );
  const lines: string[] = [];
  let [left, right] = [1, 1];
  for (let at = 0; at < changes.length; at++) {
    const change = changes[at];
    if (change && near[at]) {
      if (!near[at - 1]) lines.push(heading(changes.slice(at, runEnd(near, at)), left, right));
      lines.push(`${change.sign}${change.text}`);
    }
    if (change?.sign !== "+") left++;
    if (change?.sign !== "-") right++;
  }
  return lines;
}

function isChange({ sign }: Change): boolean {
  return sign !== " ";
}

function runEnd(near: readonly boolean[], start: number): number {
  const end = near.indexOf(false, start);
  return end < 0 ? near.length : end;
}

function heading(run: readonly Change[], left: number, right: number): string {
  const count = (other: "+" | "-") => run.filter(({ sign }) => sign !== other).length;
  return `@@ -${left},${count("+")} +${right},${count("-")} @@`;
}

/** Compares by longest common subsequence, after removing the common start and end. */
function changesOf(before: readonly string[], after: readonly string[]): Change[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let [left, right] = [before.length, after.length];
  while (left > start && right > start && before[left - 1] === after[right - 1]) {
    left--;
    right--;
  }
  const keep = (lines: readonly string[]) => lines.map((text): Change => ({ sign: " ", text }));
  return [
    ...keep(before.slice(0, start)),
    ...middleOf(before.slice(start, left), after.slice(start, right)),
    ...keep(before.slice(left)),
  ];
}

function middleOf(before: readonly string[], after: readonly string[]): Change[] {
  const all = (sign: "-" | "+", lines: readonly string[]) => lines.map((text): Change => ({ sign, text }));
  if (before.length * after.length > mostPairs) return [...all("-", before), ...all("+", after)];
  const width = after.length + 1;
  // The length of the longest common subsequence from each pair of lines to the end.
  const common = new Uint32Array((before.length + 1) * width);
  const at = (left: number, right: number) => common[left * width + right] ?? 0;
  for (let left = before.length - 1; left >= 0; left--) {
    for (let right = after.length - 1; right >= 0; right--) {
      common[left * width + right] = before[left] === after[right]
        ? at(left + 1, right + 1) + 1
        : Math.max(at(left + 1, right), at(left, right + 1));
    }
  }
  const changes: Change[] = [];
  let [left, right] = [0, 0];
  while (left < before.length && right < after.length) {
    if (before[left] === after[right]) {
      changes.push({ sign: " ", text: before[left] ?? "" });
      left++;
      right++;
    } else if (at(left + 1, right) >= at(left, right + 1)) {
      changes.push({ sign: "-", text: before[left++] ?? "" });
    } else changes.push({ sign: "+", text: after[right++] ?? "" });
  }
  return [...changes, ...all("-", before.slice(left)), ...all("+", after.slice(right))];
}
