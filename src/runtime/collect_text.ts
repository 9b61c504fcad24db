/**
 * Reads a stream as text. Rejects with `tooMuch` after more than `limit` bytes, and with the signal's reason.
 */
export async function collectText(
  stream: ReadableStream<Uint8Array>,
  { limit, tooMuch, signal }: {
    readonly limit: number;
    readonly tooMuch: () => Error;
    readonly signal?: AbortSignal;
  },
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  const into = new WritableStream<Uint8Array>({
    write(bytes) {
      length += bytes.length;
      if (length > limit) throw tooMuch();
      text += decoder.decode(bytes, { stream: true });
    },
  });
  await stream.pipeTo(into, { ...signal && { signal } });
  return text + decoder.decode();
}
