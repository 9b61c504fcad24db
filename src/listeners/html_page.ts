import { Html, html } from "./html.ts";
import type { PageResponse } from "./page.ts";
import { statusStyle } from "./status_page_assets.ts";

/**
 * A whole page in our look. Scripts and styles run only with this answer's own nonce, so that nothing shown can bring
 * its own.
 */
export function htmlPage(body: (nonce: string) => Html): PageResponse {
  const nonce = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16))));
  const whole = html`
    <!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>postern</title>
        <link rel="icon" href="data:,">
        <style nonce="${nonce}">${new Html(statusStyle)}</style>
      </head>
      <body>${body(nonce)}</body>
    </html>
  `;
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    status: 200,
    fields: [["Content-Type", "text/html; charset=utf-8"], ["Content-Security-Policy", policy.join("; ")]],
    body: whole.text,
  };
}
