/** The look of the pages, in the browser's own fonts and colours, light or dark as the person has it. */
export const statusStyle = `
:root { color-scheme: light dark; --line: #d0d0d4; --good: #136c2e; --bad: #a31515; --soft: #f4f4f6; }
@media (prefers-color-scheme: dark) { :root { --line: #46464c; --good: #7ed491; --bad: #ff9a92; --soft: #26262a; } }
body { font: 1rem/1.45 system-ui, sans-serif; margin: 0; }
main { max-width: 75rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
dl { margin: 0; display: grid; gap: .2rem; }
dl div { display: flex; flex-wrap: wrap; gap: 0 1rem; }
dt { min-width: 8rem; font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
code { background: var(--soft); padding: .1rem .3rem; border-radius: .2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.ready { color: var(--good); }
.bad, .failing, .unusable { color: var(--bad); }
form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; }
input, button { font: inherit; }
:focus-visible { outline: 2px solid; outline-offset: 2px; }
`;

/**
 * Keeps the page up to date by asking for it again, and does what its buttons say. Texts of the answers are only ever
 * put in as text; the markup that replaces the old one comes from the same place as the page.
 */
export const statusScript = `
"use strict";
const token = new URLSearchParams(location.search).get("token") ?? "";
const live = document.getElementById("live");
const said = document.getElementById("said");
const ask = (path, method = "GET") => fetch(path, { method, headers: { "Postern-Token": token } });
async function act(path, done) {
  try {
    const response = await ask(path, "POST");
    const answer = await response.json();
    said.textContent = response.ok ? done(answer) : answer.message;
  } catch {
    said.textContent = "The door does not answer.";
  }
  await refresh();
}
async function refresh() {
  try {
    const response = await ask("/live");
    if (!response.ok) throw new Error(response.statusText);
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").body;
    const focused = live.contains(document.activeElement) ? document.activeElement.id : "";
    live.replaceChildren(...fresh.childNodes);
    if (focused) document.getElementById(focused)?.focus();
  } catch {
    said.textContent = "The door does not answer. This is the last that was heard of it.";
  }
}
live.addEventListener("click", (event) => {
  const { id, dataset } = event.target;
  if (id === "reload") act("/reload", ({ changes }) => changes.join("; ") || "Nothing has changed.");
  else if (dataset.close) act("/connections/" + dataset.close + "/close", () => "Closed " + dataset.close + ".");
});
document.getElementById("explain").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  const query = new URLSearchParams({ target: form.get("target"), dial: form.get("dial") ?? "0" });
  const lines = [];
  try {
    const response = await ask("/explain?" + query);
    const answer = await response.json();
    if (!response.ok) lines.push(answer.message, answer.hint ?? "");
    else {
      lines.push(answer.target + " goes to " + answer.transport + ", because of " + answer.because + ".");
      for (const hop of answer.hops) lines.push("Through " + hop.name + " (" + hop.type + ") " + (hop.problem ?? hop.detail ?? ""));
      for (const { rule, source, why } of answer.losers) lines.push("Not " + rule + " (" + source + "): " + why);
      const { dial } = answer;
      if (dial) lines.push(dial.error ? "Tried: " + dial.error.message : "Reached in " + Math.round(dial.ms) + " ms.");
    }
  } catch {
    lines.push("The door does not answer.");
  }
  document.getElementById("explained").replaceChildren(...lines.filter(Boolean).map((line) => {
    const element = document.createElement("p");
    element.textContent = line;
    return element;
  }));
});
// Not while somebody selects text to copy it.
setInterval(() => document.hidden || !getSelection().isCollapsed || refresh(), 2000);
`;
