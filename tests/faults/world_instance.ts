import type { Household, Instance } from "../support/postern_process.ts";
import { type LivePart, pause } from "./live_parts.ts";

/** Changes by a user of a running instance; its connections must not notice them. */
export function instancePart(home: Household, instance: Instance, text: (spare: string) => string): LivePart {
  let count = 0;
  return {
    name: "instance",
    ways: [],
    kinds: [
      { kind: "reload", lasts: [0, 0], run: async () => void await home.configure(text(`time ${++count}`)) },
      {
        kind: "mistake",
        lasts: [300, 2000],
        run: async (lasts) => {
          await home.configure("routes: [{ to: everything, via: nowhere }]\n");
          await pause(lasts);
          await home.configure(text("nothing"));
        },
      },
      { kind: "hangup", lasts: [0, 0], run: () => Promise.resolve(instance.kill("SIGHUP")) },
    ],
  };
}
