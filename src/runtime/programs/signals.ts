import type { SignalName } from "../../world/mod.ts";

/** The signals that Windows supports. */
const onWindows: readonly SignalName[] = ["SIGINT"];

const interrupted = new Set<() => void>();

/** Calls `heard` for each signal until disposed; never on a platform without this signal. */
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

/** Calls all listeners of SIGINT: in raw mode, a terminal sends a key instead. */
export function interrupt(): void {
  for (const heard of [...interrupted]) heard();
}
