/** The controller: loaded by the command that runs it. */
export function loadEgressController(): Promise<typeof import("./controller/mod.ts")> {
  return import("./controller/mod.ts");
}
