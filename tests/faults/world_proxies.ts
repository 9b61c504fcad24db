import type { PeerServer } from "../support/peer_program.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { startTinyproxy } from "../support/real_proxies.ts";
import { RoughLine } from "../support/rough_line.ts";
import {
  freezing,
  lineFaults,
  type LivePart,
  Replaceable,
  restarting,
  type WorldSection,
} from "./live_parts.ts";

/** Starts tinyproxy and a second instance as upstream proxies. */
export async function startProxies(
  { tinyproxy }: { readonly tinyproxy: string },
  started: AsyncDisposableStack,
): Promise<WorldSection & { readonly upstream: () => Instance }> {
  const home = started.use(await Household.open());
  let port: number | undefined;
  const corp = started.use(
    await Replaceable.start(async (): Promise<PeerServer> => {
      const server = await startTinyproxy(
        tinyproxy,
        home.directory,
        undefined,
        port === undefined ? {} : { port },
      );
      port = server.port;
      return server;
    }),
  );
  await home.configure("default: direct\n");
  let address = "127.0.0.1:0";
  const upstream = started.use(
    await Replaceable.start(async (): Promise<Instance> => {
      const instance = home.start(["proxy", "--listen", address]);
      address = await instance.address();
      return instance;
    }),
  );
  const toCorp = started.use(new RoughLine(() => corp.current.port));
  const toUpstream = started.use(new RoughLine(() => Number(address.split(":")[1])));
  const kinds = <T extends AsyncDisposable & { kill(signal: Deno.Signal): void }>(
    program: Replaceable<T>,
    line: RoughLine,
  ) => [...lineFaults(line), freezing(() => program.current), restarting((lasts) => program.restart(lasts))];
  const parts: LivePart[] = [
    { name: "corp", ways: ["corp", "deep"], kinds: kinds(corp, toCorp) },
    { name: "upstream", ways: ["upstream"], kinds: kinds(upstream, toUpstream) },
  ];
  return {
    parts,
    transports: [
      `  corp: { proxy: { url: "http://127.0.0.1:${toCorp.port}" } }`,
      `  upstream: { proxy: { url: "socks5h://127.0.0.1:${toUpstream.port}" } }`,
    ],
    upstream: () => upstream.current,
  };
}
