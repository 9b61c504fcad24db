import { formatAge, formatBytes } from "../core/mod.ts";
import type { ConnectionInfo, Status, TransportState } from "./door_state.ts";
import { Html, html } from "./html.ts";
import { htmlPage } from "./html_page.ts";
import type { PageRequest, PageResponse } from "./page.ts";
import type { PageSource } from "./page_source.ts";
import { statusScript } from "./status_page_assets.ts";

const mostShown = 200;
const numeric = new Set([
  ...["Age", "Up", "Down", "Dials", "Failures"],
  ...["Round trip", "Channels", "Sessions", "Streams", "Reconnects"],
]);

/** What a browser without the token is shown: that a door runs here and how to use it. */
export function greetingPage(request: PageRequest): PageResponse {
  return htmlPage(() =>
    html`
      <main>
      <h1>postern</h1>
      <p>A door runs here: a proxy that sends each connection where it belongs.</p>
      ${useSection(request)}
      <p>Its state: <code>postern status</code>, or this page with the door's token.</p>
      </main>
    `
  );
}

/** The whole state of the door; it refreshes itself where scripts run. */
export function statusPage(source: PageSource, request: PageRequest): PageResponse {
  return htmlPage((nonce) =>
    html`
      <main>
      <h1>postern</h1>
      <div id="live">${livePart(source)}</div>
      <p id="said" role="status"></p>
      ${explainSection(source.token)}
      ${useSection(request)}
      </main>
      <script nonce="${nonce}">${new Html(statusScript)}</script>
    `
  );
}

/** The part of `statusPage` that changes, alone. */
export function livePage(source: PageSource): PageResponse {
  return { status: 200, fields: [["Content-Type", "text/html; charset=utf-8"]], body: livePart(source).text };
}

function livePart(source: PageSource): Html {
  const status = source.status();
  return html`
    ${stateSection(status)}
    ${connectionsSection(source.connections(), status)}
    ${transportsSection(status.transports)}
    ${chainsSection(status.transports)}
    ${clustersSection(status.transports)}
    ${listenersSection(status)}
  `;
}

function stateSection(
  { state, version, id, pid, startedAt, config, connections, bytes, memory }: Status,
): Html {
  const problem = config.problem === undefined
    ? html``
    : html`<p class="bad" role="alert">The configuration is not in force: ${config.problem}</p>`;
  return html`<section aria-labelledby="state">
<h2 id="state">State: <span class="${state}">${state}</span></h2>
${problem}
<dl>
<div><dt>Version</dt><dd>${version}</dd></div>
<div><dt>Instance</dt><dd>${id}, process ${pid}</dd></div>
<div><dt>Running since</dt><dd>${time(startedAt)}</dd></div>
<div><dt>Configuration</dt><dd>${config.path ?? "none"}, read ${time(config.loadedAt)}
 <button type="button" id="reload">Reload</button></dd></div>
<div><dt>Connections</dt><dd>${connections.open} open, ${connections.total} in all, ${connections.failed} failed</dd></div>
<div><dt>Moved</dt><dd>${formatBytes(bytes.up)} up, ${formatBytes(bytes.down)} down</dd></div>
<div><dt>Memory</dt><dd>${formatBytes(memory.resident)}</dd></div>
</dl>
</section>`;
}

function connectionsSection(connections: readonly ConnectionInfo[], { connections: counts }: Status): Html {
  const shown = connections.slice(-mostShown).reverse();
  const rows = shown.map((info) =>
    html`
      <tr>
        <td>${info.id}</td>
        <td>${info.client}${info.user === undefined ? "" : ` (${info.user})`}</td>
        <td>${info.protocol}</td>
        <td>${info.target}</td>
        <td>${info.transport}</td>
        <td>${info.because}</td>
        <td class="number">${formatAge(info.ageMs)}</td>
        <td class="number">${formatBytes(info.up)}</td>
        <td class="number">${formatBytes(info.down)}</td>
        <td><button type="button" id="close-${info.id}" data-close="${info
          .id}" aria-label="Close connection ${info.id}">Close</button></td>
      </tr>
    `
  );
  const left = counts.open > shown.length
    ? html`<p>The newest ${shown.length} of ${counts.open}.</p>`
    : html``;
  return html`<section aria-labelledby="connections">
<h2 id="connections">Connections</h2>${left}
${table(["Id", "Client", "By", "Target", "Transport", "Because", "Age", "Up", "Down", "Action"], rows)}
</section>`;
}

function transportsSection(transports: readonly TransportState[]): Html {
  const rows = transports.map(({ name, type, via, state, lastError, hint, dials, failures }) =>
    html`
      <tr>
        <td>${name}</td>
        <td>${type}${via === undefined ? "" : ` via ${via}`}</td>
        <td class="${state}">${state}</td>
        <td class="number">${dials}</td>
        <td class="number">${failures}</td>
        <td>${lastError ?? ""}${hint === undefined ? "" : html`<br>${hint}`}</td>
      </tr>
    `
  );
  return html`<section aria-labelledby="transports">
<h2 id="transports">Transports</h2>
${table(["Name", "Type", "State", "Dials", "Failures", "Last error"], rows)}
</section>`;
}

/** The hosts that transports go through; nothing where there are none. */
function chainsSection(transports: readonly TransportState[]): Html {
  const rows = transports.flatMap(({ name, hops = [] }) =>
    hops.map((hop, at) =>
      html`
        <tr>
          <td>${at === 0 ? name : ""}</td>
          <td>${hop.host}</td>
          <td>${hop.address}</td>
          <td class="${hop.state}">${hop.state}</td>
          <td>${time(hop.since)}</td>
          <td class="number">${hop.roundTripMs === undefined ? "" : `${hop.roundTripMs.toFixed(1)} ms`}</td>
          <td class="number">${hop.channels}</td>
          <td class="number">${hop.sessions}</td>
          <td class="number">${hop.reconnects}</td>
          <td>${hop.lastError ?? ""}</td>
        </tr>
      `
    )
  );
  if (rows.length === 0) return html``;
  return html`<section aria-labelledby="chains">
<h2 id="chains">Jump hosts</h2>
${
    table(
      [
        ...["Chain", "Host", "Address", "State", "Since"],
        ...["Round trip", "Channels", "Sessions", "Reconnects", "Last error"],
      ],
      rows,
    )
  }
</section>`;
}

/** The clusters that are in use; nothing where there are none. */
function clustersSection(transports: readonly TransportState[]): Html {
  const rows = transports.flatMap(({ name, clusters = [] }) =>
    clusters.map((cluster, at) =>
      html`
        <tr>
          <td>${at === 0 ? name : ""}</td>
          <td>${cluster.name}</td>
          <td>${cluster.server}</td>
          <td>${cluster.version ?? ""}</td>
          <td class="${cluster.state}">${cluster.state}</td>
          <td class="number">${cluster.sessions}</td>
          <td class="number">${cluster.streams}</td>
          <td>${cluster.watches.map(({ namespace, resource, objects }) =>
            `${namespace}: ${objects} ${resource}`
          ).join(", ")}</td>
          <td>${cluster.lastError ?? ""}</td>
        </tr>
      `
    )
  );
  if (rows.length === 0) return html``;
  return html`<section aria-labelledby="clusters">
<h2 id="clusters">Clusters</h2>
${
    table(
      ["Transport", "Context", "Server", "Version", "State", "Sessions", "Streams", "Watches", "Last error"],
      rows,
    )
  }
</section>`;
}

function listenersSection({ listeners }: Status): Html {
  const rows = listeners.map(({ kind, address, auth }) =>
    html`
      <tr>
        <td>${kind}</td>
        <td>${address}</td>
        <td>${auth ? "user and password" : "none"}</td>
      </tr>
    `
  );
  return html`<section aria-labelledby="listeners">
<h2 id="listeners">Listeners</h2>
${table(["Kind", "Address", "Authentication"], rows)}
</section>`;
}

function explainSection(token: string): Html {
  return html`
    <section aria-labelledby="explain-title">
      <h2 id="explain-title">Where would it go?</h2>
      <form id="explain" action="/explain" method="get">
        <input type="hidden" name="token" value="${token}">
        <label>Host or host:port <input name="target" required autocomplete="off" autocapitalize="none" spellcheck="false"></label>
        <label><input type="checkbox" name="dial" value="1"> try it</label>
        <button>Explain</button>
      </form>
      <div id="explained" role="status"></div>
    </section>
  `;
}

function useSection({ fields, local }: PageRequest): Html {
  const authority = fields.get("host") ?? local ?? "127.0.0.1:12000";
  return html`
    <section aria-labelledby="use">
      <h2 id="use">Use it</h2>
      <dl>
        <div>
          <dt>A browser</dt>
          <dd>automatic proxy configuration (PAC): <code>http://${authority}/proxy.pac</code></dd>
        </div>
        <div>
          <dt>A shell</dt>
          <dd><code>eval "$(postern env)"</code></dd>
        </div>
        <div>
          <dt>fish</dt>
          <dd><code>postern env --shell fish | source</code></dd>
        </div>
        <div>
          <dt>PowerShell</dt>
          <dd><code>postern env --shell powershell | Out-String | Invoke-Expression</code></dd>
        </div>
        <div>
          <dt>One program</dt>
          <dd><code>curl -x socks5h://${authority} https://example.com/</code></dd>
        </div>
      </dl>
    </section>
  `;
}

function table(headings: readonly string[], rows: readonly Html[]): Html {
  if (rows.length === 0) return html`<p>None.</p>`;
  return html`
    <div class="wide">
      <table>
        <thead>
          <tr>${headings.map((heading) =>
            html`<th scope="col" class="${numeric.has(heading) ? "number" : "text"}">${heading}</th>`
          )}</tr>
        </thead>
        <tbody>${rows}</tbody>
      </table>
    </div>
  `;
}

function time(iso: string): Html {
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")} UTC</time>`;
}
