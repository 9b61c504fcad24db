import type { SignalName } from "../../world/mod.ts";

/** What Windows knows of them. */
const onWindows: readonly SignalName[] = ["SIGINT"];

const interrupted = new Set<() => void>();

/** Calls `heard` for each such signal until disposed; where the platform has no such signal it is never called. */
export function listenForSignal(signal: SignalName, heard: () => void): Disposable {
  if (Deno.build.os === "windows" && !onWindows.includes(signal)) return { [Symbol.dispose]: () => {} };
  Deno.addSignalListener(signal, heard);
  if (signal === "SIGINT") interrupted.add(heard);
  return {
    [Symbol.dispose]: () => {
      Deno.removeSignalListener(signal, heard);
      interrupted.delete(heard);
    },
  };
}

/** Tells all who listen for SIGINT: a terminal in raw mode makes a key of it. */
export function interrupt(): void {
  for (const heard of [...interrupted]) heard();
}
