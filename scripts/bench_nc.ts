import { type Contender, startPostern } from "./bench_contenders.ts";
import { type BenchPlace, told } from "./bench_measure.ts";
import { judge, type Sample, type Verdict } from "./bench_table.ts";
import { findPeer } from "./find_peers.ts";
import { peers } from "./peer_table.ts";

/**
 * Measures the time from the start of `postern nc` to the target's first byte, in addition to that of netcat through
 * the same instance, in turns. ssh waits for it at each connection.
 */
export async function benchNc({ directory, program, isSmoke }: BenchPlace): Promise<Verdict[]> {
  const netcat = await findPeer(peers.nc_openbsd);
  if ("missing" in netcat) {
    console.log(`skipped: nc: ${netcat.missing}`);
    return [];
  }
  let home = "";
  await using postern: Contender = await startPostern(directory, "default: direct\n", {
    prepare: (cache) => Promise.resolve(void (home = cache.replace(/\/\.cache\/.*$/, ""))),
  });
  await using greeter = greeting();
  const env = { HOME: home, XDG_RUNTIME_DIR: `${home}/run` };
  const own = [program.path, "nc", "127.0.0.1", greeter.port];
  const other = [netcat.path, "-X", "5", "-x", postern.address, "127.0.0.1", greeter.port];
  const samples: Sample[] = [];
  for (let round = 0; round < (isSmoke ? 1 : 20); round++) {
    const alone = await firstByteOf(other, env);
    samples.push({ contender: "postern", value: await firstByteOf(own, env) - alone });
  }
  return [told(judge("nc, ms to the first byte in addition to nc -X 5", samples, { atMost: 40 }))];
}

/** A server that sends one line to each client. */
function greeting() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const served = (async () => {
    for await (const conn of listener) {
      await conn.write(new TextEncoder().encode("SSH-2.0-bench\r\n")).finally(() => conn.close());
    }
  })();
  return {
    port: String(listener.addr.port),
    async [Symbol.asyncDispose]() {
      listener.close();
      await served;
    },
  };
}

async function firstByteOf(
  [program = "", ...args]: readonly string[],
  env: Record<string, string>,
): Promise<number> {
  const begun = performance.now();
  const child = new Deno.Command(program, { args, env, stdin: "null", stdout: "piped", stderr: "piped" })
    .spawn();
  const reader = child.stdout.getReader();
  const { done } = await reader.read();
  const ms = performance.now() - begun;
  await reader.cancel();
  const said = await new Response(child.stderr).text();
  await child.status;
  if (!done) return ms;
  throw new Error(`Cannot measure ${program}: no byte: ${said.trim()}`);
}
