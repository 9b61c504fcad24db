import { LineWriter } from "../../core/mod.ts";
import type { World } from "../../world/mod.ts";

/** Appends log lines to a file. Disposing writes the queued lines and closes the file. */
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
