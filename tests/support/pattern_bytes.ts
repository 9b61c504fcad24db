/** Returns pseudo-random bytes; the same seed gives the same bytes. */
export function patternBytes(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(length);
  const next = randomNumbers(seed);
  for (let at = 0; at < length; at++) out[at] = next() * 256;
  return out;
}

/** Returns a generator of numbers from 0 to below 1; the same seed gives the same numbers. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
