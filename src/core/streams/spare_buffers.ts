/** The sizes of buffers that are kept between two uses. */
export const bufferSizes = { small: 1024, medium: 32 * 1024, large: 256 * 1024 } as const;

/**
 * So that neither a burst nor many short connections allocate: what a burst leaves is collected late, and the C library
 * keeps the memory that lies between other memory. At most 13 MB are kept.
 */
const spare = new Map<number, Uint8Array<ArrayBuffer>[]>(
  Object.values(bufferSizes).map((size) => [size, []]),
);
const mostSpare = new Map<number, number>([
  [bufferSizes.small, 256],
  [bufferSizes.medium, 128],
  [bufferSizes.large, 32],
]);

/** How many large ones there are, in use or not. */
let largeOnes = 0;
/** Some are never given back, as a write that was given up may still read them. */
const lost = new FinalizationRegistry<number>(() => largeOnes--);

/** A buffer with anything in it. */
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

/** As `takeBuffer`, for who can do with less: a medium one for a large one where there are as many of these as are kept. */
export function takeAtMost(size: number): Uint8Array<ArrayBuffer> {
  const areMany = size === bufferSizes.large && spare.get(size)?.length === 0 &&
    largeOnes >= (mostSpare.get(size) ?? 0);
  return takeBuffer(areMany ? bufferSizes.medium : size);
}

/** Nobody may use it, nor a view of it, after this; one of another size is left to itself. */
export function giveBuffer(buffer: Uint8Array<ArrayBuffer>): void {
  const kept = spare.get(buffer.length);
  if (kept && kept.length < (mostSpare.get(buffer.length) ?? 0)) kept.push(buffer);
}
