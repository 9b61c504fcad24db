import type { PrivateInstance } from "../programs/mod.ts";
import type { World } from "../world/mod.ts";
import type { DemoCluster } from "./demo_cluster.ts";
import type { DemoLieutenant } from "./demo_lieutenant.ts";
import type { FarSide } from "./far_side.ts";
import type { JumpHost } from "./jump_host.ts";

/** One thing that the demo tries; its result is a sentence, or it throws. */
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
  /** The API that lists the clusters. */
  readonly lieutenant: DemoLieutenant;
  /** What the door's person has: files and stores in memory. */
  readonly own: World;
  /** The configuration. */
  readonly config: string;
  /** The configuration again with another rule in it. */
  readonly otherConfig: string;
}

/** Fails a step. */
export function expect(isRight: boolean, otherwise: string): void {
  if (!isRight) throw new Error(otherwise);
}
