import connections from "./live_page/connections.js" with { type: "text" };
import details from "./live_page/details.js" with { type: "text" };
import instance from "./live_page/instance.js" with { type: "text" };
import elements from "./live_page/elements.js" with { type: "text" };
import format from "./live_page/format.js" with { type: "text" };
import journal from "./live_page/journal.js" with { type: "text" };
import main from "./live_page/main.js" with { type: "text" };
import markup from "./live_page/page.html" with { type: "text" };
import style from "./live_page/page.css" with { type: "text" };
import rows from "./live_page/rows.js" with { type: "text" };
import snippets from "./live_page/snippets.js" with { type: "text" };
import state from "./live_page/state.js" with { type: "text" };
import tester from "./live_page/tester.js" with { type: "text" };
import theme from "./live_page/theme.js" with { type: "text" };
import traffic from "./live_page/traffic.js" with { type: "text" };
import transports from "./live_page/transports.js" with { type: "text" };
import { html } from "./html.ts";
import type { WholePage } from "./page.ts";

const scripts: Readonly<Record<string, string>> = {
  "connections.js": connections,
  "details.js": details,
  "instance.js": instance,
  "elements.js": elements,
  "format.js": format,
  "journal.js": journal,
  "main.js": main,
  "rows.js": rows,
  "snippets.js": snippets,
  "state.js": state,
  "tester.js": tester,
  "theme.js": theme,
  "traffic.js": traffic,
  "transports.js": transports,
};

/**
 * The live page. Contains no data of the instance except the token, if given; otherwise the page asks for a
 * token. Scripts and styles need the nonce of this response, so injected ones do not run.
 */
export function livePage(token: string | undefined): WholePage {
  const nonce = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16))));
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src data:",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return {
    status: 200,
    fields: [["Content-Type", "text/html; charset=utf-8"], ["Content-Security-Policy", policy.join("; ")]],
    body: markup.replaceAll("NONCE", nonce).replace("TOKEN", html`${token ?? ""}`.text),
  };
}

/** A file of the page by name; the same for every client. */
export function livePart(name: string): WholePage | undefined {
  if (name === "page.css") return part(style, "text/css");
  const script = Object.hasOwn(scripts, name) ? scripts[name] : undefined;
  return script === undefined ? undefined : part(script, "text/javascript");
}

function part(body: string, type: string): WholePage {
  return { status: 200, fields: [["Content-Type", `${type}; charset=utf-8`]], body };
}
