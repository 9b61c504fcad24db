import { LineWriter } from "../../core/mod.ts";
import type { World } from "../../world/mod.ts";

/** A log that is appended to a file instead of being written to stderr. Disposing writes what is left. */
export async function logToFile(
  { files, clock }: World,
  path: string,
): Promise<AsyncDisposable & { write(line: string): void }> {
  const file = await files.append(path);
  const writer = new LineWriter({
    sink: (text) => file.write(text),
    gather: () => new Promise((resolve) => void clock.after(20, resolve)),
  });
  return {
    write: (line) => writer.write(line),
    async [Symbol.asyncDispose]() {
      await writer.flush();
      file[Symbol.dispose]();
    },
  };
}
