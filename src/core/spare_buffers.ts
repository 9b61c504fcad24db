/** The sizes of buffers that are kept between two uses. */
export const bufferSizes = { small: 1024, medium: 32 * 1024, large: 256 * 1024 } as const;

/** So that neither a burst nor many short connections allocate; at most 7 MB are kept. */
const spare = new Map<number, Uint8Array<ArrayBuffer>[]>(
  Object.values(bufferSizes).map((size) => [size, []]),
);
const mostSpare = new Map<number, number>([
  [bufferSizes.small, 256],
  [bufferSizes.medium, 64],
  [bufferSizes.large, 16],
]);

/** A buffer with anything in it. */
export function takeBuffer(size: number): Uint8Array<ArrayBuffer> {
  return spare.get(size)?.pop() ?? new Uint8Array(size);
}

/** Nobody may use it, nor a view of it, after this; one of another size is left to itself. */
export function giveBuffer(buffer: Uint8Array<ArrayBuffer>): void {
  const kept = spare.get(buffer.length);
  if (kept && kept.length < (mostSpare.get(buffer.length) ?? 0)) kept.push(buffer);
}
