/** Loads the live page and its files when a browser first requests it. */
export async function loadLivePage(): Promise<typeof import("./live_page.ts")> {
  return await import("./live_page.ts");
}
