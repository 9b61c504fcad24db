import { buttonById, byId, element, say } from "./elements.js";
import { age, bytes, rate } from "./format.js";
import { pathTo } from "./state.js";
import { pathList } from "./transports.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Connection} Connection */

/** The dialog with all details of one connection. */
export class Details {
  #dialog = /** @type {HTMLDialogElement} */ (byId("details"));
  /** @type {Connection | undefined} */
  #shown;

  constructor(
    /** @type {{ close: (connection: Connection) => void, explain: (target: string) => void }} */ {
      close,
      explain,
    },
  ) {
    buttonById("details-done").addEventListener("click", () => this.#dialog.close());
    buttonById("details-close").addEventListener("click", () => {
      if (this.#shown) close(this.#shown);
      this.#dialog.close();
    });
    buttonById("details-explain").addEventListener("click", () => {
      const target = this.#shown?.target;
      this.#dialog.close();
      if (target !== undefined) explain(target);
    });
    this.#dialog.addEventListener("close", () => this.#shown = undefined);
  }

  open(/** @type {Connection} */ connection, /** @type {State} */ state) {
    this.#shown = connection;
    this.show(state);
    this.#dialog.showModal();
    buttonById("details-done").focus();
  }

  /** Updates the dialog while it is open. */
  show(/** @type {State} */ state) {
    const one = this.#shown;
    if (!one) return;
    const ended = one.endedAt === undefined ? state.ended.find(({ id }) => id === one.id) : one;
    const now = ended ?? one;
    say(byId("details-title"), `#${one.id} ${one.target}`);
    const transports = state.status?.transports ?? [];
    const path = pathTo(one.transport, transports).flatMap((name) => {
      const hops = transports.find((transport) => transport.name === name)?.hops ?? [];
      return hops.length === 0 ? [{ name }] : hops.map(({ host, state }) => ({ name: host, state }));
    });
    byId("details-path").replaceChildren(pathList([...path, { name: one.target }]));
    byId("details-facts").replaceChildren(
      ...facts(now, state).flatMap(([name, value]) => [
        element("dt", {}, name),
        element("dd", {}, value),
      ]),
    );
    buttonById("details-close").hidden = now.endedAt !== undefined || !state.live.has(one.id);
  }
}

/** @returns {[string, string][]} */
function facts(/** @type {Connection} */ one, /** @type {State} */ { now }) {
  const {
    client,
    user,
    protocol,
    forward = "",
    transport,
    because,
    startedAt,
    endedAt,
    outcome,
    reason,
    up,
    down,
    upRate,
    downRate,
  } = one;
  const lasted = endedAt === undefined ? now - Date.parse(startedAt) : one.ageMs;
  return [
    ["Because", because],
    ["Transport", transport],
    [
      "Client",
      `${client}${user === undefined ? "" : `, signed in as ${user}`}, ${protocol} ${forward}`.trimEnd(),
    ],
    [
      "Since",
      `${new Date(startedAt).toLocaleString()}, ${age(lasted)}${endedAt === undefined ? "" : " long"}`,
    ],
    ["Down", `${bytes(down)}${downRate ? `, now ${rate(downRate)}` : ""}`],
    ["Up", `${bytes(up)}${upRate ? `, now ${rate(upRate)}` : ""}`],
    ...(endedAt === undefined
      ? []
      : /** @type {[string, string][]} */ ([["Ended", `${new Date(endedAt).toLocaleString()}: ${outcome}`]])),
    ...(reason === undefined ? [] : /** @type {[string, string][]} */ ([["Reason", reason]])),
    ...(one.isDialling ? /** @type {[string, string][]} */ ([["State", "dialing"]]) : []),
  ];
}
