/** Bytes that look like nothing and are the same for the same seed. */
export function patternBytes(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(length);
  const next = randomNumbers(seed);
  for (let at = 0; at < length; at++) out[at] = next() * 256;
  return out;
}

/** Numbers from 0 to below 1, the same for the same seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
