import {
  type Found,
  foundPeersVariable,
  type Peer,
  type PeerName,
  peers as known,
} from "../../scripts/peer_table.ts";
import { skippedName } from "../../scripts/test_outcome.ts";

/** The paths of a test's peers. */
export type PeerPaths<Name extends PeerName> = Readonly<Record<Name, string>>;

/** The platforms of a test; elsewhere the test is skipped without a failure. */
export interface PeerTestOptions {
  readonly platforms?: readonly (typeof Deno.build.os)[];
}

/**
 * Registers a test that needs real programs. If one is missing, the test is skipped and the reason printed:
 *
 *     peerTest("curl fetches through SOCKS5", ["curl"], async ({ curl }) => { … });
 */
export function peerTest<Name extends PeerName>(
  name: string,
  peers: readonly Name[],
  test: (paths: PeerPaths<Name>, context: Deno.TestContext) => Promise<void> | void,
  options: PeerTestOptions = {},
): void {
  const found = peers.map((peer) => [peer, findPeer(peer)] as const);
  const reason = platformReason(options.platforms) ?? peers.map(missingReason).find(Boolean);
  if (reason !== undefined) return skippedTest(name, reason);
  const paths = Object.fromEntries(found.flatMap(([peer, at]) => "path" in at ? [[peer, at.path]] : []));
  Deno.test(name, (context) => test(paths as PeerPaths<Name>, context));
}

/** Returns the reason of a skip, if the peer is missing; a missing optional peer is not a failure. */
export function missingReason(name: PeerName): string | undefined {
  const found = findPeer(name);
  if ("path" in found) return undefined;
  const { isOptional }: Peer = known[name];
  return isOptional ? `only on a machine with ${name}: ${found.missing}` : `needs ${name}: ${found.missing}`;
}

/** Registers a skipped test. `scripts/test.ts` prints and counts its reason. */
export function skippedTest(name: string, reason: string): void {
  Deno.test({ name: skippedName(name, reason), ignore: true, fn: () => {} });
}

/** Returns the path of a peer, or why it is missing. */
export function findPeer(name: PeerName): Found {
  return foundPeers()[name] ?? { missing: "run it with: deno task test" };
}

function platformReason(platforms: PeerTestOptions["platforms"]): string | undefined {
  return platforms === undefined || platforms.includes(Deno.build.os)
    ? undefined
    : `only on ${platforms.join(", ")}`;
}

function foundPeers(): Partial<Record<PeerName, Found>> {
  const asked = { name: "env", variable: foundPeersVariable } as const;
  if (Deno.permissions.querySync(asked).state !== "granted") return {};
  return JSON.parse(Deno.env.get(foundPeersVariable) ?? "{}");
}
