/** Writes all of `bytes`: a system call may write only a part. */
export async function writeAll(
  into: { write(bytes: Uint8Array): Promise<number> },
  bytes: Uint8Array,
): Promise<void> {
  for (let done = 0; done < bytes.length;) done += await into.write(bytes.subarray(done));
}
