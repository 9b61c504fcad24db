import { byId, say } from "./elements.js";
import { age, bytes, counted, rate } from "./format.js";

/** @typedef {import("./state.js").State} State */

const width = 600;
const height = 120;
/** The width of the plot in samples: five minutes. */
const span = 300;

let described = 0;

/** Shows the figures and the plot. */
export function showTraffic(/** @type {State} */ { status, traffic, now }) {
  if (!status) return;
  const { connections, bytes: moved, memory, startedAt } = status;
  const last = traffic.at(-1) ?? { up: 0, down: 0, open: 0 };
  say(byId("tile-open"), connections.open.toLocaleString("en"));
  say(byId("tile-total"), `${connections.total.toLocaleString("en")} total, ${connections.failed} failed`);
  say(byId("tile-down"), rate(last.down));
  say(byId("tile-down-total"), `${bytes(moved.down)} total`);
  say(byId("tile-up"), rate(last.up));
  say(byId("tile-up-total"), `${bytes(moved.up)} total`);
  say(byId("tile-memory"), bytes(memory.resident));
  say(byId("tile-running"), `up ${age(now - Date.parse(startedAt))}`);
  draw(traffic);
  // Screen readers would announce every update, so the description changes only every 10 s.
  if (Date.now() - described < 10_000) return;
  described = Date.now();
  say(byId("plot-said"), description(traffic));
}

function draw(/** @type {State["traffic"]} */ traffic) {
  const { ceiling, middle } = scale(traffic);
  const most = ceiling.down + ceiling.up;
  const area = (/** @type {(sample: State["traffic"][number]) => number} */ of) => {
    if (traffic.length === 0) return "";
    const from = span - traffic.length;
    const x = (/** @type {number} */ at) => (((from + at) / (span - 1)) * width).toFixed(1);
    const points = traffic.map((sample, at) => `L${x(at)} ${(middle + of(sample)).toFixed(1)}`).join("");
    return `M${x(0)} ${middle}${points}L${x(traffic.length - 1)} ${middle}Z`;
  };
  byId("plot-down").setAttribute("d", area(({ down }) => (-down / most) * height));
  byId("plot-up").setAttribute("d", area(({ up }) => (up / most) * height));
  const lines = [1, 2, 3, 4].map((minute) => `M${(minute * width) / 5} 0V${height}`);
  byId("plot-grid").setAttribute("d", `M0 ${middle}H${width}${lines.join("")}`);
  say(
    byId("plot-most"),
    traffic.length === 0 ? "" : `↓ ${rate(ceiling.down)}  ↑ ${rate(ceiling.up)}`,
  );
}

/**
 * One scale for both directions: down is above the middle line, up below it, each with the height it needs.
 */
export function scale(/** @type {State["traffic"]} */ traffic) {
  const highest = (/** @type {number[]} */ all) => Math.max(1000, ...all);
  const ceiling = {
    down: highest(traffic.map(({ down }) => down)) * 1.1,
    up: highest(traffic.map(({ up }) => up)) * 1.1,
  };
  const share = ceiling.down / (ceiling.down + ceiling.up);
  return { ceiling, middle: Math.round(height * share) };
}

function description(/** @type {State["traffic"]} */ traffic) {
  const most = (/** @type {number[]} */ all) => rate(Math.max(0, ...all));
  const seconds = traffic.length;
  return `Last ${seconds >= span ? "five minutes" : counted(seconds, "second")}: at most ${
    most(traffic.map(({ down }) => down))
  } down, ${most(traffic.map(({ up }) => up))} up`;
}
