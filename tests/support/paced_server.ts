import { TargetServer } from "./target_server.ts";

/** Starts a server that sends `bytes` bytes ten times a second to each client. */
export function pacedServer(bytes: number, listener?: Deno.TcpListener): TargetServer {
  const piece = new Uint8Array(bytes).fill(46);
  return new TargetServer(async (client) => {
    const timer = setInterval(() => void client.send(piece).catch(() => clearInterval(timer)), 100);
    try {
      while (await client.some());
    } finally {
      clearInterval(timer);
    }
  }, listener);
}
