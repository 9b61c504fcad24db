/** The live page with all that belongs to it: read when the first browser asks. */
export async function loadLivePage(): Promise<typeof import("./live_page.ts")> {
  return await import("./live_page.ts");
}
