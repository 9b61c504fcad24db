import { encodeBase64, escapedMarkup } from "../core/mod.ts";
/** A page for the browser that a sign-in has sent away and got back. */
export interface SignInPage {
  readonly status: number;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array<ArrayBuffer>;
}

/** The end of a sign-in that worked, and as whom. */
export function signedInPage(name: string | undefined): SignInPage {
  return page(200, name === undefined ? "You are signed in" : `You are signed in as ${name}`, [
    "You can close this window and go back to where you started.",
  ]);
}

/** Sends the browser to the provider once more. */
export function onwardPage(url: URL): SignInPage {
  const { fields, body } = page(302, "On to the provider", [`It asks once more: ${url.origin}`]);
  return { status: 302, fields: [["Location", url.href], ...fields], body };
}

/** The end of a sign-in that did not. */
export function failedPage(reason: string): SignInPage {
  return page(403, "You are not signed in", [
    reason,
    "You can close this window: the program you started says more.",
  ]);
}

/** For whoever comes without having been sent, or from another sign-in. */
export function strayPage(): SignInPage {
  return page(400, "Nothing to do here", [
    "postern waits for a sign-in at this address. This page does not belong to it.",
    "Open the address that postern shows, in this browser.",
  ]);
}

/** For a browser that comes back once more. */
export function usedPage(): SignInPage {
  return page(409, "This sign-in is done", ["It can be used once. You can close this window."]);
}

/** For anything that is no page here. */
export function otherPage(status: 404 | 405 | 421): SignInPage {
  return page(status, "Nothing to do here", [
    "postern waits for a sign-in at this address, and for nothing else.",
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
      // The address of this page holds the code of the sign-in.
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
