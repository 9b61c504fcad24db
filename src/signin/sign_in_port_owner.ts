import type { Clock } from "../core/mod.ts";
import type { Network } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";
import { HttpClient } from "../http/mod.ts";

/**
 * Converts a failure to bind the sign-in port, with the port's owner in the hint. Usually another program
 * waits for a sign-in there, and its responses identify it.
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
        ? "finish that sign-in or stop that program, then try again; or sign in with --device"
        : `${error.hint ?? "find the program that uses the port"}; or sign in with --device`,
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
      if (text.includes("<title>postern: ")) return "another postern process that waits for a sign-in";
      if (text === "ok" && /^BaseHTTP\//.test(fields.get("server") ?? "")) {
        return "commodore, which waits for a sign-in";
      }
    } catch {
      // The owner is unknown.
    }
  }
  return undefined;
}
