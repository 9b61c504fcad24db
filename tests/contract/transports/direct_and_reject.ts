import { isNeverClosed, type TransportTried, without } from "../transport_contract.ts";
import { Surroundings } from "./surroundings.ts";

export function direct(): TransportTried {
  const own = "it needs no server";
  return {
    name: "direct",
    kind: "direct",
    of: "Direct",
    codes: { refused: "refused", unknown: "name_not_found" },
    open: () => Promise.resolve(new Surroundings().build({})),
    cannot: {
      ...isNeverClosed,
      "distinguishes its own failure from an answer of the target": own,
    },
  };
}

export function reject(): TransportTried {
  const refuses = "it refuses every target";
  return {
    name: "reject",
    kind: "reject",
    of: "Reject",
    codes: { refused: "not_allowed", unknown: "not_allowed" },
    open: () =>
      Promise.resolve(
        new Surroundings().build({ it: { kind: "reject", settings: "Not from this machine" } }, {
          dialing: () => Promise.resolve(),
        }),
      ),
    cannot: without([
      "carries bytes both ways to an address",
      "carries bytes both ways to a name",
      "delivers bytes that a target sends first",
      "keeps a half-close: the target answers after it",
      "keeps a half-close of the target, which still reads",
      "carries many connections at once without mixing them",
      "blocks a writer while the target does not read",
      "forwards a reset of the target",
      "forwards an abort to the target",
      "reports at the dial that a target refuses",
      "reports at the dial that a name is unknown",
      "distinguishes its own failure from an answer of the target",
      "leaves no connection open when the signal aborts during a dial",
      "does not dial with an aborted signal",
      "keeps a connection when its dial's signal aborts later",
      "drops its connections when it is disposed",
      "refuses to dial once it is disposed",
      "refuses to dial once it is disposed, after earlier dials",
    ], refuses),
  };
}
