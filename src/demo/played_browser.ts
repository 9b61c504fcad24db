import type { World } from "../world/mod.ts";

/** How often one is sent on before it gives up. */
const mostRedirects = 10;

/** Does what a person's browser would with an address: asks, and goes where it is sent. */
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
