import type { PrivateInstance } from "../programs/mod.ts";
import type { World } from "../world/mod.ts";
import type { DemoCluster } from "./demo_cluster.ts";
import type { DemoLieutenant } from "./demo_lieutenant.ts";
import type { FarSide } from "./far_side.ts";
import type { JumpHost } from "./jump_host.ts";

/** One check of the demo. Returns a short result, or throws. */
export interface DemoStep {
  readonly title: string;
  run(signal: AbortSignal): Promise<string>;
}

export interface DemoStage {
  readonly world: World;
  readonly instance: PrivateInstance;
  readonly far: FarSide;
  readonly jump: JumpHost;
  readonly cluster: DemoCluster;
  /** The API with the catalogue. */
  readonly lieutenant: DemoLieutenant;
  /** The user's side of the demo, with files and stores in memory. */
  readonly own: World;
  readonly config: string;
  /** The configuration with an additional rule. */
  readonly otherConfig: string;
}

/** Fails a step unless `isRight`. */
export function expect(isRight: boolean, otherwise: string): void {
  if (!isRight) throw new Error(otherwise);
}
