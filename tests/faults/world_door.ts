import { createNetwork } from "../../src/runtime/network.ts";
import { companyCluster } from "../support/company.ts";
import { FakeLieutenant } from "../support/fake_lieutenant.ts";
import type { Door, Household } from "../support/postern_process.ts";
import { RoughLine } from "../support/rough_line.ts";
import { lineFaults, type LivePart, pause } from "./live_parts.ts";

/** A catalogue of one cluster, which the door is told of anew whenever somebody updates. */
export function startCompany(started: AsyncDisposableStack): { readonly line: RoughLine } {
  const network = createNetwork();
  const lieutenant = started.use(
    new FakeLieutenant({ listen: network.listen.bind(network) }, { discoveryUrl: "http://127.0.0.1:1/none" }),
  );
  lieutenant.clusters = [companyCluster("c-a", "one")];
  const line = started.use(new RoughLine(() => Number(new URL(lieutenant.url).port)));
  return { line };
}

/** What a person does to a door that runs; nothing that goes through it may notice. */
export function doorPart(home: Household, door: Door, text: (spare: string) => string): LivePart {
  let count = 0;
  return {
    name: "door",
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
      { kind: "hangup", lasts: [0, 0], run: () => Promise.resolve(door.kill("SIGHUP")) },
    ],
  };
}

/** An update while the network does what it wants: it ends, whatever comes of it. */
export function updateFaults(home: Household, { line }: { readonly line: RoughLine }): LivePart["kinds"] {
  return lineFaults(line).map(({ kind, lasts, run }) => ({
    kind,
    lasts,
    run: async (ms: number) => {
      await Promise.all([run(ms), home.run(["update", "--token-file", "token"])]);
    },
  }));
}
