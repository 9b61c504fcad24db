/**
 * Returns the number of inputs for a law: `usual` times POSTERN_FUZZ_RUNS / 1000 (the nightly run sets
 * 20,000: 20 times as many).
 */
export function fuzzRuns(usual: number): number {
  const asked = Number(Deno.env.get("POSTERN_FUZZ_RUNS") ?? "1000");
  if (!Number.isFinite(asked) || asked <= 0) throw new Error("POSTERN_FUZZ_RUNS must be a number");
  return Math.max(1, Math.round(usual * asked / 1000));
}
