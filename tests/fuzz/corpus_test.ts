import assert from "node:assert/strict";
import { fuzzRuns } from "../support/fuzz_runs.ts";
import { readCorpus } from "./corpus.ts";
import { diceOf, longestInput, makeInput, smallest } from "./fuzz_inputs.ts";
import { fuzzTargets } from "./targets/mod.ts";

for (const target of fuzzTargets) {
  Deno.test(`${target.name}: its laws hold for its corpus`, async () => {
    const corpus = await readCorpus(target);
    assert.ok(corpus.length >= 2, `${corpus.length} inputs`);
    for (const { name, bytes } of corpus) {
      assert.ok(bytes.length <= longestInput, `${name} is too long`);
      try {
        await target.laws(bytes);
      } catch (error) {
        throw new Error(`${target.name}/${name}`, { cause: error });
      }
    }
  });

  Deno.test(`${target.name}: its laws hold for mutations of its corpus`, async () => {
    const corpus = (await readCorpus(target)).map(({ bytes }) => bytes);
    const dice = diceOf(1);
    for (let left = fuzzRuns(300); left > 0; left--) {
      const input = makeInput(dice, { corpus, words: target.words });
      try {
        await target.laws(input.slice());
      } catch (error) {
        throw new Error(`${target.name} with ${input.toHex()}`, { cause: error });
      }
    }
  });
}

Deno.test("makeInput() is deterministic, limits the length and does not change the corpus", () => {
  const corpus = [Uint8Array.from({ length: 3000 }, (_, at) => at), Uint8Array.of(1, 2, 3)];
  const kept = corpus.map((bytes) => bytes.slice());
  const made = (seed: number) => {
    const dice = diceOf(seed);
    return Array.from({ length: 500 }, () => makeInput(dice, { corpus, words: ["word", "\xff\x00"] }));
  };
  assert.deepEqual(made(1), made(1));
  assert.notDeepEqual(made(1), made(2));
  assert.ok(made(3).every((input) => input.length <= longestInput));
  assert.deepEqual(corpus, kept);
});

Deno.test("smallest() reduces an input to its essential part", async () => {
  const input = new TextEncoder().encode(`${"x".repeat(200)}ab${"y".repeat(77)}`);
  const found = await smallest(
    input,
    (bytes) => Promise.resolve(new TextDecoder().decode(bytes).includes("ab")),
  );
  assert.equal(new TextDecoder().decode(found), "ab");
});
