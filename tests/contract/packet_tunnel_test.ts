import type { Conn } from "../../src/core/mod.ts";
import { packetPair } from "../support/packet_pair.ts";
import { connContract } from "./conn_contract.ts";

const { signal } = new AbortController();

/** Both ends of a tunnel between two posterns: the asker's, and the one that the answerer gives to its target. */
for (const from of ["the asking", "the answering"] as const) {
  connContract(`a tunnel of Konnectivity, from ${from} side,`, async () => {
    const arrived = Promise.withResolvers<Conn>();
    const over = Promise.withResolvers<void>();
    const pair = await packetPair({
      isPostern: true,
      answer: () =>
        Promise.resolve(async (asker) => {
          arrived.resolve(asker);
          await over.promise;
        }),
    });
    const asker = await pair.dialer.dial({ host: "a.test", port: 80 }, { signal });
    const answered = await arrived.promise;
    const isAsking = from === "the asking";
    return {
      near: isAsking ? asker : answered,
      far: isAsking ? answered : asker,
      close: async () => {
        over.resolve();
        await pair[Symbol.asyncDispose]();
      },
    };
  });
}
