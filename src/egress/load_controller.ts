/** Loads the controller; only its command needs it. */
export function loadEgressController(): Promise<typeof import("./controller/mod.ts")> {
  return import("./controller/mod.ts");
}
