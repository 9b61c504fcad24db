import { byId, element, inputById, onChoice, say } from "./elements.js";
import { age, bytes, counted, rate } from "./format.js";
import { chosen, seen } from "./rows.js";
import { pathTo } from "./state.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Connection} Connection */
/** @typedef {{ tr: HTMLTableRowElement, cells: HTMLTableCellElement[] }} Row */
/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} title
 * @property {string} width
 * @property {string} style
 * @property {"live" | "ended" | "both"} when
 */
/** @typedef {{ open: (connection: Connection) => void, close: (connection: Connection) => void }} Actions */

/** The row height of the stylesheet. */
const row = 34;

/** The limits of the table height in rows. */
const fewest = 4;
const most = 12;

/** @type {Column[]} */
const columns = [
  { key: "target", title: "Target", width: "20%", style: "target", when: "both" },
  { key: "path", title: "Path", width: "11%", style: "path-cell", when: "both" },
  { key: "because", title: "Because", width: "18%", style: "because", when: "both" },
  { key: "client", title: "Client", width: "11.5%", style: "client", when: "both" },
  { key: "downRate", title: "↓ now", width: "8%", style: "number rate-down", when: "live" },
  { key: "upRate", title: "↑ now", width: "8%", style: "number rate-up", when: "live" },
  { key: "end", title: "End", width: "8rem", style: "end", when: "ended" },
  { key: "down", title: "Down", width: "6%", style: "number", when: "both" },
  { key: "up", title: "Up", width: "6%", style: "number", when: "both" },
  { key: "age", title: "Age", width: "5.5%", style: "number age", when: "both" },
  { key: "close", title: "", width: "5rem", style: "number", when: "live" },
];

/**
 * The table of connections. It contains only the visible rows, so thousands of connections cost as much as
 * thirty.
 */
export class Connections {
  #box = byId("table-box");
  #body = byId("table-body");
  #filter = inputById("filter");
  #actions;
  /** @type {State | undefined} */
  #state;
  #which = "live";
  #order = { key: "age", isDescending: false };
  /** @type {Column[]} */
  #columns = [];
  /** @type {Connection[]} */
  #chosen = [];
  /** @type {Map<Connection, Row>} */
  #rows = new Map();
  #above = gap();
  #below = gap();
  /** The row that the arrow keys selected. */
  #at = 0;
  #isAsked = false;

  constructor(/** @type {Actions} */ actions) {
    this.#actions = actions;
    this.#box.addEventListener("scroll", () => this.#askForFrame(), { passive: true });
    this.#filter.addEventListener("input", () => this.#begin());
    this.#body.addEventListener("click", (event) => this.#onClick(event));
    this.#body.addEventListener("keydown", (event) => this.#onKey(event));
    onChoice("which", (which) => {
      this.#which = which;
      this.#order = { key: "age", isDescending: false };
      this.#begin();
    });
    document.addEventListener("keydown", (event) => {
      const { target } = event;
      const isTyping = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.#filter.focus();
    });
    new ResizeObserver(() => this.#askForFrame()).observe(this.#box);
  }

  show(/** @type {State} */ state) {
    this.#state = state;
    this.#askForFrame(true);
  }

  /** Draws from the first row with the current selection. */
  #begin() {
    this.#box.scrollTop = 0;
    this.#at = 0;
    this.#columns = [];
    this.#askForFrame(true);
  }

  /** Draws at most once per frame. */
  #askForFrame(isNew = false) {
    if (isNew) this.#choose();
    if (this.#isAsked) return;
    this.#isAsked = true;
    requestAnimationFrame(() => {
      this.#isAsked = false;
      this.#draw();
    });
  }

  #choose() {
    if (!this.#state) return;
    const { live, ended } = this.#state;
    const focused = this.#focused();
    const from = this.#which === "live"
      ? live.values()
      : this.#which === "failed"
      ? ended.filter(isFailed)
      : ended;
    this.#chosen = chosen(from, this.#filter.value, this.#order);
    // The focus stays with the connection when its row moves.
    const now = focused ? this.#chosen.indexOf(focused) : -1;
    if (now >= 0) this.#at = now;
    this.#at = Math.max(0, Math.min(this.#at, this.#chosen.length - 1));
    const all = this.#which === "live"
      ? live.size
      : this.#which === "failed"
      ? ended.filter(isFailed).length
      : ended.length;
    const few = this.#chosen.length === all ? "" : `${this.#chosen.length.toLocaleString("en")} of `;
    say(byId("connections-said"), `${few}${counted(all, "connection")}`);
  }

  #draw() {
    const state = this.#state;
    if (!state) return;
    if (this.#columns.length === 0) this.#drawHead();
    const table = byId("table");
    table.setAttribute("aria-rowcount", String(this.#chosen.length + 1));
    const empty = byId("table-empty");
    empty.hidden = this.#chosen.length > 0;
    if (!empty.hidden) say(empty, this.#emptyText());
    // As high as its rows, within limits, plus one row for the heading and the borders.
    const rows = Math.max(fewest, Math.min(most, this.#chosen.length)) + 1;
    this.#box.style.height = `${rows * row + 12}px`;
    const { scrollTop: top, clientHeight: height } = this.#box;
    const part = seen({ count: this.#chosen.length, top, height, row });
    const shown = this.#chosen.slice(part.first, part.last);
    const hadFocus = this.#focused();
    const wanted = new Set(shown);
    for (const [connection, { tr }] of this.#rows) {
      if (wanted.has(connection)) continue;
      tr.remove();
      this.#rows.delete(connection);
    }
    room(this.#above, part.above);
    room(this.#below, part.below);
    let place = this.#above.nextSibling;
    for (const [at, connection] of shown.entries()) {
      const { tr } = this.#drawRow(connection, part.first + at, state);
      if (place === tr) place = tr.nextSibling;
      else this.#body.insertBefore(tr, place);
    }
    // If the focused connection is gone, the focus moves to the row in its place.
    if (hadFocus && !wanted.has(hadFocus)) this.#focusRow();
  }

  #emptyText() {
    if (this.#filter.value.trim() !== "") return "No connection contains all of these words.";
    if (this.#which === "live") return "No clients are connected. Configure a program as shown below.";
    return this.#which === "failed" ? "No recent failures." : "No ended connections.";
  }

  #drawHead() {
    const isLive = this.#which === "live";
    this.#columns = columns.filter(({ when }) => when === "both" || when === (isLive ? "live" : "ended"));
    byId("table-head").replaceChildren(...this.#columns.map((column) => this.#heading(column)));
    this.#rows.clear();
    this.#body.replaceChildren(this.#above, this.#below);
    for (const gapRow of [this.#above, this.#below]) {
      gapRow.cells[0]?.setAttribute("colspan", String(this.#columns.length));
    }
  }

  #heading(/** @type {Column} */ { key, title, width, style }) {
    const isNumber = style.startsWith("number");
    const th = element("th", { scope: "col", ...(isNumber ? { class: "number" } : {}) });
    th.style.width = width;
    if (title === "") {
      th.append(element("span", {}, element("span", { class: "unseen" }, "Action")));
      return th;
    }
    const button = element("button", { type: "button" }, title);
    button.addEventListener("click", () => {
      const isSame = this.#order.key === key;
      this.#order = { key, isDescending: isSame ? !this.#order.isDescending : isNumber && key !== "age" };
      for (const other of byId("table-head").children) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", this.#order.isDescending ? "descending" : "ascending");
      this.#askForFrame(true);
    });
    if (this.#order.key === key) {
      th.setAttribute("aria-sort", this.#order.isDescending ? "descending" : "ascending");
    }
    th.append(button);
    return th;
  }

  /** @returns {Row} */
  #drawRow(/** @type {Connection} */ connection, /** @type {number} */ index, /** @type {State} */ state) {
    const drawn = this.#rows.get(connection) ?? this.#newRow(connection);
    const { tr, cells } = drawn;
    const style = connection.isDialling ? "dialling" : isFailed(connection) ? "failed" : "";
    if (tr.className !== style) tr.className = style;
    tr.setAttribute("aria-rowindex", String(index + 2));
    tr.tabIndex = index === this.#at ? 0 : -1;
    for (const [at, { key }] of this.#columns.entries()) {
      const cell = cells[at];
      if (!cell || key === "close") continue;
      const text = textOf(key, connection, state);
      if (cell.textContent !== text) {
        cell.textContent = text;
        if (longOnes.has(key)) cell.title = text;
      }
      if (key === "downRate" || key === "upRate") cell.classList.toggle("moving", (connection[key] ?? 0) > 0);
    }
    return drawn;
  }

  #newRow(/** @type {Connection} */ connection) {
    const cells = this.#columns.map(({ style, key }) => {
      const cell = element("td", { class: style });
      if (key === "close") {
        cell.append(
          element("button", {
            type: "button",
            tabindex: -1,
            "aria-label": `Close connection to ${connection.target}`,
          }, "Close"),
        );
      }
      return cell;
    });
    const made = { tr: element("tr", { "data-id": connection.id }, ...cells), cells };
    this.#rows.set(connection, made);
    return made;
  }

  #focused() {
    const active = document.activeElement?.closest("tr[data-id]");
    return active && [...this.#rows].find(([, { tr }]) => tr === active)?.[0];
  }

  #focusRow() {
    const connection = this.#chosen[this.#at];
    const drawn = connection && this.#rows.get(connection);
    if (drawn) drawn.tr.focus({ preventScroll: true });
    else byId("connections").focus();
  }

  #rowOf(/** @type {EventTarget | null} */ target) {
    const tr = target instanceof Element ? target.closest("tr[data-id]") : undefined;
    return [...this.#rows].find(([, drawn]) => drawn.tr === tr)?.[0];
  }

  #onClick(/** @type {MouseEvent} */ { target }) {
    const connection = this.#rowOf(target);
    if (!connection) return;
    if (target instanceof HTMLButtonElement) this.#actions.close(connection);
    else this.#actions.open(connection);
  }

  #onKey(/** @type {KeyboardEvent} */ event) {
    const connection = this.#rowOf(event.target);
    if (!connection || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.#box.clientHeight / row) - 2);
    /** @type {Record<string, number>} */
    const moves = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const move = moves[event.key];
    if (move !== undefined) this.#move(move);
    else if (event.key === "Enter") this.#actions.open(connection);
    else if (event.key === "Delete" && this.#which === "live") this.#actions.close(connection);
    else return;
    event.preventDefault();
  }

  #move(/** @type {number} */ by) {
    this.#at = Math.max(0, Math.min(this.#chosen.length - 1, this.#at + by));
    const top = this.#at * row;
    const { clientHeight, scrollTop } = this.#box;
    // The heading covers one row.
    if (top < scrollTop) this.#box.scrollTop = top;
    else if (top + 3 * row > scrollTop + clientHeight) this.#box.scrollTop = top + 3 * row - clientHeight;
    this.#draw();
    this.#focusRow();
  }
}

/** Columns whose text may be too long. */
const longOnes = new Set(["target", "path", "because", "client", "end"]);

function textOf(
  /** @type {string} */ key,
  /** @type {Connection} */ one,
  /** @type {State} */ { status, now },
) {
  switch (key) {
    case "target":
      return one.target;
    case "path":
      return pathTo(one.transport, status?.transports ?? []).join(" → ");
    case "because":
      return one.because;
    case "client":
      return one.user === undefined ? one.client : `${one.user}@${one.client}`;
    case "downRate":
      return one.isDialling || !one.downRate ? "" : rate(one.downRate);
    case "upRate":
      return one.isDialling || !one.upRate ? "" : rate(one.upRate);
    case "end":
      return one.outcome ?? "";
    case "down":
      return bytes(one.down);
    case "up":
      return bytes(one.up);
    case "age":
      if (one.endedAt !== undefined) return age(one.ageMs);
      return one.isDialling ? "dialing" : age(now - (one.began ?? now));
    default:
      return "";
  }
}

/** Whether it ended for another reason than a regular close. */
function isFailed(/** @type {Connection} */ { outcome }) {
  return outcome !== undefined && !fine.has(outcome);
}

const fine = new Set(["done", "client_gone", "lingered", "closed"]);

function gap() {
  const tr = element("tr", { "aria-hidden": "true" }, element("td", { class: "gap-row" }));
  return tr;
}

/** Sets the height of the spacer for hidden rows. */
function room(/** @type {HTMLTableRowElement} */ tr, /** @type {number} */ height) {
  const [cell] = tr.cells;
  if (cell) cell.style.height = `${height}px`;
  tr.hidden = height === 0;
}
