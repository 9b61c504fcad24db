import type { SignalName } from "../core/mod.ts";

/** What Windows knows of them. */
const onWindows: readonly SignalName[] = ["SIGINT"];

/** Calls `heard` for each such signal until disposed; where the platform has no such signal it is never called. */
export function listenForSignal(signal: SignalName, heard: () => void): Disposable {
  if (Deno.build.os === "windows" && !onWindows.includes(signal)) return { [Symbol.dispose]: () => {} };
  Deno.addSignalListener(signal, heard);
  return { [Symbol.dispose]: () => Deno.removeSignalListener(signal, heard) };
}
