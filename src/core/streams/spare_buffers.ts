/** The sizes of pooled buffers. */
export const bufferSizes = { small: 1024, medium: 32 * 1024, large: 256 * 1024 } as const;

/**
 * The pool avoids allocations in bursts and for short connections: the garbage of a burst is collected late,
 * and the C library cannot return fragmented memory. Keeps at most 13 MB.
 */
const spare = new Map<number, Uint8Array<ArrayBuffer>[]>(
  Object.values(bufferSizes).map((size) => [size, []]),
);
const mostSpare = new Map<number, number>([
  [bufferSizes.small, 256],
  [bufferSizes.medium, 128],
  [bufferSizes.large, 32],
]);

/** The number of large buffers, in use or not. */
let largeOnes = 0;
/** Some are never returned, because an abandoned write may still read them. */
const lost = new FinalizationRegistry<number>(() => largeOnes--);

/** Returns a buffer with arbitrary content. */
export function takeBuffer(size: number): Uint8Array<ArrayBuffer> {
  const kept = spare.get(size)?.pop();
  if (kept) return kept;
  const buffer = new Uint8Array(size);
  if (size === bufferSizes.large) {
    largeOnes++;
    lost.register(buffer.buffer, size);
  }
  return buffer;
}

/** Like `takeBuffer`, but returns a medium buffer when too many large ones exist. */
export function takeAtMost(size: number): Uint8Array<ArrayBuffer> {
  const areMany = size === bufferSizes.large && spare.get(size)?.length === 0 &&
    largeOnes >= (mostSpare.get(size) ?? 0);
  return takeBuffer(areMany ? bufferSizes.medium : size);
}

/** Returns a buffer to the pool; the caller must not use it or its views anymore. Ignores other sizes. */
export function giveBuffer(buffer: Uint8Array<ArrayBuffer>): void {
  const kept = spare.get(buffer.length);
  if (kept && kept.length < (mostSpare.get(buffer.length) ?? 0)) kept.push(buffer);
}
