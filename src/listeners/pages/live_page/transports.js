import { buttonById, byId, element, say } from "./elements.js";
import { age, counted, rate } from "./format.js";
import { pathTo } from "./state.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Transport} Transport */
/** @typedef {import("./state.js").Hop} Hop */
/** @typedef {import("./state.js").Cluster} Cluster */

/** With more transports than this, the idle ones are hidden behind a button. */
const fewEnough = 6;

/** The cards of the transports; a card is rendered again only after a change. */
export class Transports {
  #list = byId("transports-list");
  #button = buttonById("transports-all");
  #showsAll = false;
  /** @type {Map<string, { card: HTMLElement, shown: string }>} */
  #cards = new Map();
  #redraw;

  constructor(/** @type {() => void} */ redraw) {
    this.#redraw = redraw;
    this.#button.addEventListener("click", () => {
      this.#showsAll = !this.#showsAll;
      this.#button.setAttribute("aria-expanded", String(this.#showsAll));
      say(this.#button, this.#showsAll ? "Hide idle transports" : "Show idle transports");
      this.#redraw();
    });
  }

  show(/** @type {State} */ state) {
    const { status } = state;
    if (!status) return;
    const { transports } = status;
    const isIdle = (/** @type {Transport} */ { state, lastError }) =>
      state === "idle" && lastError === undefined;
    const mayHide = transports.length > fewEnough && transports.some(isIdle);
    const shown = mayHide && !this.#showsAll ? transports.filter((one) => !isIdle(one)) : transports;
    this.#button.hidden = !mayHide;
    say(byId("transports-said"), saidOf(transports));
    const figures = figuresOf(state.live.values());
    const names = new Set(shown.map(({ name }) => name));
    for (const [name, { card }] of this.#cards) {
      if (names.has(name)) continue;
      card.remove();
      this.#cards.delete(name);
    }
    for (const [at, one] of shown.entries()) {
      const card = this.#card(one, transports, figures.get(one.name), state.now);
      if (this.#list.children[at] !== card) this.#list.insertBefore(card, this.#list.children[at] ?? null);
    }
  }

  #card(
    /** @type {Transport} */ one,
    /** @type {readonly Transport[]} */ all,
    /** @type {Figures | undefined} */ figures,
    /** @type {number} */ now,
  ) {
    const path = pathTo(one.name, all);
    const known = this.#cards.get(one.name);
    const shown = JSON.stringify([
      one,
      path,
      (one.hops ?? []).map(({ since }) => age(now - Date.parse(since))),
    ]);
    const card = known?.card ?? element("li", { class: "card" });
    if (known?.shown !== shown) {
      card.className = `card ${one.state}`;
      card.replaceChildren(...partsOf(one, path));
      this.#cards.set(one.name, { card, shown });
    }
    const place = card.querySelector(".figures");
    if (place) showFigures(place, one, figures);
    return card;
  }
}

/** @typedef {{ open: number, up: number, down: number }} Figures */

function figuresOf(/** @type {Iterable<import("./state.js").Connection>} */ live) {
  /** @type {Map<string, Figures>} */
  const all = new Map();
  for (const { transport, upRate = 0, downRate = 0 } of live) {
    const sum = all.get(transport) ?? { open: 0, up: 0, down: 0 };
    sum.open++;
    sum.up += upRate;
    sum.down += downRate;
    all.set(transport, sum);
  }
  return all;
}

function showFigures(
  /** @type {Element} */ place,
  /** @type {Transport} */ { dials, failures },
  /** @type {Figures} */ { open, up, down } = { open: 0, up: 0, down: 0 },
) {
  const texts = [
    `${open} open`,
    `↓ ${rate(down)}`,
    `↑ ${rate(up)}`,
    counted(dials, "dial"),
    `${failures} failed`,
  ];
  for (const [at, text] of texts.entries()) {
    const [figure = "", ...unit] = at === 1 || at === 2 ? ["", text] : text.split(" ");
    const span = place.children[at] ?? place.appendChild(element("span", {}, element("b"), element("span")));
    const [first, second] = span.children;
    if (first) say(first, figure);
    if (second) say(second, ` ${unit.join(" ")}`);
  }
}

function saidOf(/** @type {readonly Transport[]} */ transports) {
  const bad = transports.filter(({ state }) => state === "failing" || state === "unusable").length;
  return bad === 0
    ? counted(transports.length, "transport")
    : `${transports.length} transports, ${bad} not working`;
}

function partsOf(/** @type {Transport} */ one, /** @type {string[]} */ path) {
  const { name, type, state, detail, lastError, hint, hops = [], clusters = [] } = one;
  const isBroken = state === "failing" || state === "unusable";
  return [
    element(
      "h3",
      {},
      name,
      element("span", { class: `state ${state}` }, state),
    ),
    element("p", { class: "soft detail" }, typeof detail === "string" ? `${type} · ${detail}` : type),
    pathList([...path.slice(0, -1).map((before) => ({ name: before })), ...stopsOf(name, hops)]),
    element("p", { class: "figures" }),
    ...isSet(lastError)
      ? [element("p", { class: isBroken ? "error" : "soft hint" }, lastErrorText(lastError, isBroken))]
      : [],
    ...isSet(hint) && isBroken ? [element("p", { class: "hint" }, `Hint: ${hint}`)] : [],
    ...hops.flatMap(hopProblem),
    ...clusters.map(clusterPart),
  ];
}

function lastErrorText(/** @type {string} */ text, /** @type {boolean} */ isBroken) {
  return isBroken ? text : `Last error: ${text}`;
}

/** @typedef {{ name: string, more?: string, state?: string, title?: string }} Stop */

/** @returns {Stop[]} */
function stopsOf(/** @type {string} */ name, /** @type {readonly Hop[]} */ hops) {
  if (hops.length === 0) return [{ name }];
  return hops.map(({ host, address, state, roundTripMs, channels, sessions, reconnects, since }) => ({
    name: host,
    more: roundTripMs === undefined ? state : `${roundTripMs.toFixed(1)} ms`,
    state,
    title: `${address}: ${state} since ${since}, ${counted(channels, "channel")}, ${
      counted(sessions, "session")
    }, ${counted(reconnects, "reconnect")}`,
  }));
}

/** A path as a row of stops, starting at this machine. */
export function pathList(/** @type {Stop[]} */ stops) {
  const list = element(
    "ol",
    { class: "path", "aria-label": "Path" },
    element("li", {}, stopElement({ name: "this machine" })),
  );
  for (const stop of stops) list.append(element("li", {}, stopElement(stop)));
  return list;
}

function stopElement(/** @type {Stop} */ { name, more, state = "", title }) {
  return element(
    "span",
    { class: `stop ${state}`, ...(title === undefined ? {} : { title }) },
    name,
    more !== undefined && element("span", { class: "soft" }, more),
  );
}

function hopProblem(/** @type {Hop} */ { host, state, lastError, hint }) {
  if (state !== "failing" || !isSet(lastError)) return [];
  return [element("p", { class: "error" }, `${host}: ${lastError}${isSet(hint) ? ` ; ${hint}` : ""}`)];
}

function clusterPart(
  /** @type {Cluster} */ { name, server, version, state, sessions, streams, watches, lastError, hint },
) {
  const followed = watches.map(({ namespace, resource, objects }) =>
    `${resource}: ${objects} in ${namespace === "*" ? "all namespaces" : namespace}`
  );
  return element(
    "div",
    { class: "cluster" },
    element(
      "p",
      {},
      element("b", {}, name),
      element("span", { class: `state ${state}` }, state === "ready" ? "reachable" : "not reachable"),
    ),
    element(
      "p",
      { class: "soft" },
      [server, version, counted(sessions, "session"), counted(streams, "stream")].filter(Boolean).join(" · "),
    ),
    followed.length > 0 && element("p", { class: "soft" }, `Watches ${followed.join(", ")}`),
    isSet(lastError) &&
      element(
        "p",
        { class: state === "ready" ? "soft" : "error" },
        lastErrorText(lastError, state !== "ready"),
      ),
    isSet(hint) && state !== "ready" && element("p", { class: "hint" }, `Hint: ${hint}`),
  );
}

/** @returns {text is string} */
function isSet(/** @type {string | undefined} */ text) {
  return text !== undefined && text !== "";
}
