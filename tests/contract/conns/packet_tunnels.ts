import type { Conn } from "../../../src/core/mod.ts";
import { packetPair } from "../../support/packet_pair.ts";
import { type ConnKind, type Pair, swapped, withoutHalfClose } from "../conn_contract.ts";

const { signal } = new AbortController();

/** Both ends of a tunnel: the dialer's end, and the answerer's end for its target. */
export function packetTunnels(): readonly ConnKind[] {
  const asking = { of: "PacketTunnel", madeBy: ["src/konnectivity/packet_dialer.ts"] };
  const answering = { of: "PacketTunnel", madeBy: ["src/konnectivity/packet_answerer.ts"] };
  const cannot = withoutHalfClose("Kubernetes' packets close both directions at once");
  const [ours, theirs] = [{ isPostern: true }, { isPostern: false }];
  return [
    { ...asking, name: "a tunnel of Konnectivity, from the asking side,", open: () => tunnel(ours) },
    {
      ...answering,
      name: "a tunnel of Konnectivity, from the answering side,",
      open: () => swapped(tunnel(ours)),
    },
    {
      ...asking,
      name: "a tunnel of another Konnectivity, from the asking side,",
      open: () => tunnel(theirs),
      cannot,
    },
    {
      ...answering,
      name: "a tunnel of another Konnectivity, from the answering side,",
      open: () => swapped(tunnel(theirs)),
      cannot,
    },
    {
      ...asking,
      name: "a tunnel of another Konnectivity, on a separate stream,",
      open: () => tunnel({ ...theirs, isShared: false }),
      cannot,
    },
  ];
}

async function tunnel(options: { readonly isPostern: boolean; readonly isShared?: boolean }): Promise<Pair> {
  const arrived = Promise.withResolvers<Conn>();
  const over = Promise.withResolvers<void>();
  const pair = await packetPair({
    ...options,
    answer: () =>
      Promise.resolve(async (asker) => {
        arrived.resolve(asker);
        await over.promise;
      }),
  });
  const near = await pair.dialer.dial({ host: "a.test", port: 80 }, { signal });
  const far = await arrived.promise;
  const close = async () => {
    over.resolve();
    await pair[Symbol.asyncDispose]();
  };
  return { near, far, close };
}
