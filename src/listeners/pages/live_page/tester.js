import { byId, element, inputById } from "./elements.js";
import { pathList } from "./transports.js";

/** @typedef {{ name: string, type: string, detail?: string, hosts?: { host: string, address: string }[], problem?: string, hint?: string }} Hop */
/** @typedef {{ rule: string, source: string, transport: string, why: string }} Loser */
/** @typedef {{ ms: number, steps: { step: string, ms: number }[], error?: { message: string, hint?: string } }} Dial */
/** @typedef {{ target: string, transport: string, because: string, hops: Hop[], losers: Loser[], forward?: { address: string, target: string }, loopback?: string, dial?: Dial }} Explanation */

/** Explains the route of a target; connects if requested. */
export class Tester {
  #instance;
  #answer = byId("tester-answer");
  #asked = 0;

  constructor(/** @type {import("./instance.js").Instance} */ instance) {
    this.#instance = instance;
    byId("tester-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask();
    });
  }

  explain(/** @type {string} */ target) {
    inputById("tester-target").value = target;
    byId("tester-form").scrollIntoView({ block: "center" });
    inputById("tester-target").focus({ preventScroll: true });
    this.#ask();
  }

  async #ask() {
    const asked = ++this.#asked;
    const dial = inputById("tester-dial").checked;
    const query = new URLSearchParams({ target: inputById("tester-target").value, dial: dial ? "1" : "0" });
    this.#answer.replaceChildren(element("p", { class: "soft" }, dial ? "Connecting …" : "Looking up …"));
    const parts = await this.#instance.ask(`/explain?${query}`).then(explained, (error) => [
      element("p", { class: "error" }, error.message),
    ]);
    // The user has submitted another target meanwhile.
    if (asked === this.#asked) this.#answer.replaceChildren(...parts);
  }
}

function explained(
  /** @type {Explanation} */ { target, transport, because, hops, losers, forward, loopback, dial },
) {
  const stops = hops.toReversed().flatMap(({ name, hosts = [] }) =>
    hosts.length === 0 ? [{ name }] : hosts.map(({ host, address }) => ({ name: host, more: address }))
  );
  const problems = hops.flatMap(({ name, problem, hint }) =>
    problem === undefined ? [] : [
      element("p", { class: "error" }, `${name}: ${problem}${hint === undefined ? "" : ` ; ${hint}`}`),
    ]
  );
  return [
    element(
      "p",
      { class: "verdict" },
      element("b", {}, target),
      " goes to ",
      element("b", {}, transport),
      `: ${because}`,
    ),
    ...loopback === undefined
      ? []
      : [element("p", { class: "soft" }, `postern listens on ${loopback} for this target`)],
    ...forward === undefined
      ? []
      : [element("p", { class: "soft" }, `postern forwards ${forward.address} to ${forward.target}`)],
    pathList([...stops, { name: target }]),
    ...hops.flatMap(({ name, detail }) =>
      detail === undefined ? [] : [element("p", { class: "soft" }, `${name}: ${detail}`)]
    ),
    ...problems,
    ...dial === undefined ? [] : dialParts(dial),
    ...losers.length === 0 ? [] : [losersTable(losers)],
  ];
}

function dialParts(/** @type {Dial} */ { ms, steps, error }) {
  const said = error
    ? [
      element("p", { class: "error" }, `Failed after ${Math.round(ms)} ms: ${error.message}`),
      ...error.hint === undefined ? [] : [element("p", { class: "hint" }, `Hint: ${error.hint}`)],
    ]
    : [element("p", {}, element("span", { class: "state ready" }, `connected in ${Math.round(ms)} ms`))];
  const bars = element("ol", { class: "bars", "aria-label": "Steps" });
  let before = 0;
  for (const { step, ms: at } of steps) {
    const bar = element("i");
    bar.style.marginLeft = `${share(before, ms)}%`;
    bar.style.width = `${Math.max(1, share(at - before, ms))}%`;
    bars.append(
      element(
        "li",
        {},
        element("span", {}, step),
        bar,
        element("span", { class: "number" }, `${at.toFixed(1)} ms`),
      ),
    );
    before = at;
  }
  return steps.length === 0 ? said : [...said, bars];
}

function share(/** @type {number} */ part, /** @type {number} */ whole) {
  return whole <= 0 ? 0 : Math.min(100, (part / whole) * 100);
}

function losersTable(/** @type {Loser[]} */ losers) {
  const heading = ["Losing rule", "To", "Why"].map((title) => element("th", { scope: "col" }, title));
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...heading)),
    element(
      "tbody",
      {},
      ...losers.map(({ rule, source, transport, why }) =>
        element(
          "tr",
          {},
          element("td", {}, rule, element("span", { class: "soft" }, ` ${source}`)),
          element("td", {}, transport),
          element("td", {}, why),
        )
      ),
    ),
  );
}
