import type { World } from "../world/mod.ts";

/** The maximum number of redirects to follow. */
const mostRedirects = 10;

/** Opens a URL like a browser: sends a request and follows redirects. */
export async function visit(
  { clock, network }: Pick<World, "clock" | "network">,
  address: URL,
  { signal }: { readonly signal: AbortSignal },
): Promise<void> {
  const { HttpClient } = await import("../http/mod.ts");
  const client = new HttpClient({ clock, network });
  for (let url = address, left = mostRedirects; left > 0; left--) {
    const { status, fields } = await client.ask({ url }, { signal });
    const to = fields.get("location");
    if (status < 300 || status > 399 || to === undefined) return;
    url = new URL(to, url);
  }
}
