import { Connections } from "./connections.js";
import { Details } from "./details.js";
import { Instance } from "./instance.js";
import { announce, buttonById, byId, say } from "./elements.js";
import { Journal } from "./journal.js";
import { startSnippets } from "./snippets.js";
import { State } from "./state.js";
import { Tester } from "./tester.js";
import { startTheme } from "./theme.js";
import { showTraffic } from "./traffic.js";
import { Transports } from "./transports.js";

/** @typedef {import("./state.js").Connection} Connection */

startTheme();
const state = new State();
const instance = new Instance({
  message: (message) => {
    state.take(message);
    open();
    show();
  },
  lost: (why) => {
    byId("phase").className = "state lost";
    say(byId("phase"), "not connected");
    isConnected = false;
    announce(why);
  },
  locked: () => {
    byId("open").hidden = true;
    byId("locked").hidden = false;
    byId("phase").className = "state";
    say(byId("phase"), "locked");
    say(byId("locked-pac"), `${location.origin}/proxy.pac`);
  },
});
const tester = new Tester(instance);
const details = new Details({ close, explain: (target) => tester.explain(target) });
const connections = new Connections({ close, open: (connection) => details.open(connection, state) });
const transports = new Transports(() => transports.show(state));
const journal = new Journal();
/** Transports that do not work; the page announces each new one. @type {Set<string>} */
let broken = new Set();
let hasLooked = false;
let isOpen = false;
let isConnected = false;

buttonById("reload").addEventListener("click", async () => {
  try {
    const { changes } = await instance.ask("/reload", "POST");
    announce(changes.length === 0 ? "Configuration reloaded: no changes." : changes.join("\n"));
  } catch (error) {
    announce(messageOf(error));
  }
});
const pause = buttonById("pause");
pause.addEventListener("click", () => {
  const isPaused = pause.getAttribute("aria-pressed") !== "true";
  pause.setAttribute("aria-pressed", String(isPaused));
  say(pause, isPaused ? "Paused" : "Pause");
  instance.isWatched = !isPaused;
});
instance.isWatched = true;

/** Shows the page: an update proves that the token is valid. */
function open() {
  if (!isConnected) announce("");
  isConnected = true;
  if (isOpen) return;
  isOpen = true;
  byId("locked").hidden = true;
  byId("open").hidden = false;
  for (const id of ["pause", "reload"]) buttonById(id).disabled = false;
  startSnippets(instance);
}

function show() {
  const { status } = state;
  if (!status) return;
  const { state: phase, id, version, pid, config, listeners } = status;
  byId("phase").className = `state ${phase}`;
  say(byId("phase"), phase);
  const facts = byId("facts");
  const file = config.path?.replace(/^.*[/\\]/, "") ?? "no file";
  const loopback = status.dns?.loopback;
  const addresses = [
    ...listeners.map(({ address, target }) => target === undefined ? address : `${address} to ${target}`),
    ...loopback ? [`${loopback.listeners} ports for ${loopback.names} names in ${loopback.range}`] : [],
  ].join(", ");
  say(facts, `${id} · ${addresses} · ${file} · postern ${version}`);
  facts.title = `${config.path ?? "no file"}, loaded ${config.loadedAt}; process ${pid}`;
  say(document.head.querySelector("title") ?? facts, `postern: ${status.connections.open} open`);
  const problem = byId("problem");
  problem.hidden = config.problem === undefined;
  say(problem, config.problem === undefined ? "" : `Configuration not applied: ${config.problem}`);
  showTraffic(state);
  transports.show(state);
  connections.show(state);
  details.show(state);
  journal.show(state);
  tellBroken();
}

/** Announces when a transport stops working or works again. */
function tellBroken() {
  const now = new Set(
    (state.status?.transports ?? []).flatMap(({ name, state }) =>
      state === "failing" || state === "unusable" ? [name] : []
    ),
  );
  const fresh = [...now].filter((name) => !broken.has(name));
  const mended = [...broken].filter((name) => !now.has(name));
  broken = now;
  // Existing failures are visible; only changes are announced.
  if (!hasLooked) return void (hasLooked = true);
  if (fresh.length > 0) announce(`Not working: ${fresh.join(", ")}`);
  else if (mended.length > 0) announce(`Working again: ${mended.join(", ")}`);
}

async function close(/** @type {Connection} */ { id, target }) {
  try {
    await instance.ask(`/connections/${id}/close`, "POST");
    announce(`Closed the connection to ${target}.`);
  } catch (error) {
    announce(messageOf(error));
  }
}

function messageOf(/** @type {unknown} */ error) {
  return error instanceof Error ? error.message : String(error);
}
