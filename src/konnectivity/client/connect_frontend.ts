import type { Conn, DialOptions } from "../../core/mod.ts";
import { PosternError, type Target } from "../../words/mod.ts";
import { httpConnect, orDrop } from "../../http/mod.ts";
import type { FrontendReach } from "./reach_frontend.ts";

/** Dials through a server's HTTP CONNECT frontend, with one connection to the server per dial. */
export async function dialByConnect(
  reach: FrontendReach,
  target: Target,
  { signal, onStep }: DialOptions,
): Promise<Conn> {
  const conn = await reach.connect([], { signal, onStep });
  return await orDrop(conn, signal, async () => {
    onStep?.(`reached ${reach.label}`);
    const answer = await httpConnect(conn, { target, proxy: reach.label, isKonnectivity: true });
    if (answer instanceof PosternError) throw answer;
    return answer;
  });
}
