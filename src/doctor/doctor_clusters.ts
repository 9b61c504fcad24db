import { overlaps } from "../routing/mod.ts";
import type { Transports } from "../plan/mod.ts";
import type { Finding } from "./doctor.ts";

/** Warns about clusters with overlapping networks: an address there could belong to either cluster. */
export async function* clusterFindings(
  transports: Transports,
  { signal }: { signal: AbortSignal },
): AsyncGenerator<Finding> {
  for (
    const { transports: [one, other], networks: [ours, theirs] } of overlaps(
      await transports.learned({ signal }),
    )
  ) {
    yield {
      name: `clusters of "${one}" and "${other}"`,
      state: "warning",
      detail: `their networks overlap: ${ours} and ${theirs}`,
      hint:
        `give each transport a suffix and connect to names below it: transports.${other}.kubernetes.suffix`,
    };
  }
}
