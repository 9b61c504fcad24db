import type { Process } from "../../src/world/mod.ts";

/** A process that may start no programs. */
export const noPrograms: Pick<Process, "run"> = {
  run: () => Promise.reject(new Error("this test runs no program")),
};
