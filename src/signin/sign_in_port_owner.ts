import type { Clock } from "../core/mod.ts";
import type { Network } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";
import { HttpClient } from "../http/mod.ts";

/**
 * The failure to bind the port of the sign-in, with whoever has it in the hint. Another program that waits for a
 * sign-in is the usual one, and those can be told by how they answer.
 */
export async function portTaken(
  error: unknown,
  port: number,
  parts: { readonly clock: Clock; readonly network: Network },
  { signal }: { signal: AbortSignal },
): Promise<unknown> {
  if (!(error instanceof PosternError) || error.detail !== "in_use") return error;
  const owner = await ownerOf(port, parts, signal);
  signal.throwIfAborted();
  return new PosternError(
    error.code,
    `Cannot wait for the sign-in: port ${port} is in use${owner ? ` by ${owner}` : ""}`,
    {
      cause: error,
      detail: error.detail,
      exit: error.exit,
      hint: owner
        ? "finish that sign-in or end that program, then try again; or sign in with --device"
        : `${error.hint ?? "see who has it"}; or sign in with --device`,
    },
  );
}

async function ownerOf(
  port: number,
  parts: { readonly clock: Clock; readonly network: Network },
  signal: AbortSignal,
): Promise<string | undefined> {
  const client = new HttpClient(parts, { timeout: 1000, limit: 16 * 1024 });
  for (const host of ["127.0.0.1", "[::1]"]) {
    try {
      const url = new URL(`http://${host}:${port}/healthz`);
      const { fields, body } = await client.ask({ url }, { signal });
      const text = new TextDecoder().decode(body);
      if (text.includes("<title>postern: ")) return "another postern that waits for a sign-in";
      if (text === "ok" && /^BaseHTTP\//.test(fields.get("server") ?? "")) {
        return "commodore, which waits for a sign-in";
      }
    } catch {
      // Whoever it is does not say: the system's own hint has to do.
    }
  }
  return undefined;
}
