import { byId, element, onChoice } from "./elements.js";
import { clock } from "./format.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Line} Line */

const most = 300;

/** The last lines of the log; scrolls with new lines while the end is visible. */
export class Journal {
  #list = byId("log-lines");
  #onlyWarnings = false;
  #last = 0;
  /** @type {State | undefined} */
  #state;

  constructor() {
    onChoice("level", (level) => {
      this.#onlyWarnings = level === "warn";
      this.#list.replaceChildren();
      this.#last = 0;
      if (this.#state) this.show(this.#state);
    });
  }

  show(/** @type {State} */ state) {
    this.#state = state;
    const { log } = state;
    // A restarted instance counts from 1 again.
    if ((log.at(-1)?.number ?? 0) < this.#last) {
      this.#list.replaceChildren();
      this.#last = 0;
    }
    const fresh = log.filter(({ number, level }) =>
      number > this.#last && (!this.#onlyWarnings || isLoud(level))
    );
    this.#last = log.at(-1)?.number ?? this.#last;
    if (fresh.length === 0) return;
    const { scrollTop, scrollHeight, clientHeight } = this.#list;
    const isAtEnd = scrollTop + clientHeight >= scrollHeight - 8;
    this.#list.append(...fresh.map(lineElement));
    while (this.#list.childElementCount > most) this.#list.firstElementChild?.remove();
    if (isAtEnd) this.#list.scrollTop = this.#list.scrollHeight;
  }
}

function isLoud(/** @type {string} */ level) {
  return level === "warn" || level === "error";
}

function lineElement(/** @type {Line} */ { time, level, event, fields }) {
  return element(
    "li",
    { class: level },
    element("time", { datetime: time }, clock(time)),
    " ",
    element("b", {}, isLoud(level) ? `${level.toUpperCase()} ${event}` : event),
    " ",
    element("span", {}, fields),
  );
}
