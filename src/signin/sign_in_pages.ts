import { encodeBase64, escapedMarkup } from "../core/mod.ts";
/** A page for the browser at the end of a sign-in. */
export interface SignInPage {
  readonly status: number;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array<ArrayBuffer>;
}

export function signedInPage(name: string | undefined): SignInPage {
  return page(200, name === undefined ? "You are signed in" : `You are signed in as ${name}`, [
    "You can close this window and return to your program.",
  ]);
}

/** Redirects the browser to the provider again. */
export function onwardPage(url: URL): SignInPage {
  const { fields, body } = page(302, "Redirecting to the provider", [
    `The provider needs another step: ${url.origin}`,
  ]);
  return { status: 302, fields: [["Location", url.href], ...fields], body };
}

export function failedPage(reason: string): SignInPage {
  return page(403, "You are not signed in", [
    reason,
    "You can close this window. The program that you started shows the details.",
  ]);
}

/** The page for a request that belongs to no sign-in or to another one. */
export function strayPage(): SignInPage {
  return page(400, "Nothing to do here", [
    "postern waits for a sign-in at this address. Your request does not belong to it.",
    "Open the address that postern shows in this browser.",
  ]);
}

/** The page for a browser that returns a second time. */
export function usedPage(): SignInPage {
  return page(409, "This sign-in is complete", ["You can use it only once. You can close this window."]);
}

/** The page for any other path or method. */
export function otherPage(status: 404 | 405 | 421): SignInPage {
  return page(status, "Nothing to do here", [
    "postern only waits for a sign-in at this address.",
  ]);
}

function page(status: number, title: string, lines: readonly string[]): SignInPage {
  const nonce = encodeBase64(crypto.getRandomValues(new Uint8Array(16)));
  const paragraphs = lines.map((line) => `<p>${escapedMarkup(line)}</p>`).join("\n");
  const text = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>postern: ${escapedMarkup(title)}</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem; }</style>
</head>
<body>
<h1>${escapedMarkup(title)}</h1>
${paragraphs}
</body>
</html>
`;
  return {
    status,
    fields: [
      ["Content-Type", "text/html; charset=utf-8"],
      ["Cache-Control", "no-store"],
      // The URL of this page contains the code of the sign-in.
      ["Referrer-Policy", "no-referrer"],
      ["X-Content-Type-Options", "nosniff"],
      [
        "Content-Security-Policy",
        `default-src 'none'; style-src 'nonce-${nonce}'; img-src data:; base-uri 'none'; frame-ancestors 'none'`,
      ],
    ],
    body: new TextEncoder().encode(text),
  };
}
