import { isNeverClosed, type TransportTried, without } from "../transport_contract.ts";
import { Surroundings } from "./surroundings.ts";

export function direct(): TransportTried {
  const own = "it has no way of its own";
  return {
    name: "direct",
    kind: "direct",
    of: "Direct",
    codes: { refused: "refused", unknown: "name_not_found" },
    open: () => Promise.resolve(new Surroundings().build({})),
    cannot: {
      ...isNeverClosed,
      "says that it cannot be reached itself, which is no answer of the target": own,
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
      "hands on what a target says before it is spoken to",
      "keeps a half-close: the target answers after it",
      "keeps a half-close of the target, which still hears",
      "carries many connections at once and apart",
      "makes a writer wait while the target does not read",
      "passes a reset of the target on",
      "passes an abort on to the target",
      "says at the dial that a target refuses",
      "says at the dial that a name is unknown",
      "says that it cannot be reached itself, which is no answer of the target",
      "leaves nothing open when the signal ends while it dials",
      "dials nothing for a signal that has ended",
      "lets a connection live when the signal of its dial ends after it",
      "drops its connections when it is disposed",
      "dials no more once it is disposed",
      "dials no more once it is disposed, though it has dialled before",
    ], refuses),
  };
}
