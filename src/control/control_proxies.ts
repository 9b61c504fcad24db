import {
  formatTarget,
  isLoopback,
  parseIp,
  parseTarget,
  PosternError,
  type Target,
  targetOf,
} from "../words/mod.ts";
import type { ProxyEnvironment } from "./instance_state.ts";

/** Whether our configuration listens at an address. */
export type IsOwn = (address: Target) => Promise<boolean>;

interface Asked {
  readonly id: string;
  readonly isOwn?: IsOwn;
}

/** Rejects proxies that are neither on loopback nor in our configuration. */
export async function checkProxies(
  { http, socks, proxyUrl }: Pick<ProxyEnvironment, "http" | "socks" | "proxyUrl">,
  asked: Asked,
): Promise<void> {
  for (const text of [http, socks, ...(proxyUrl === undefined ? [] : [proxyUrl])]) {
    const url = URL.parse(text);
    const isProxy = url !== null && /^(?:http|socks5h?):$/.test(url.protocol) &&
      /^\/?$/.test(url.pathname) && url.search === "" && url.hash === "";
    if (!isProxy) throw refused(asked, "it names a proxy with an invalid URL");
    await demandOwn(targetOf(url), asked);
  }
}

/** Rejects a page outside this machine: its URL contains the token of the instance. */
export async function checkPage(text: string, asked: Asked): Promise<void> {
  const url = URL.parse(text);
  const isPage = url?.protocol === "http:" && url.username === "" && url.pathname === "/" &&
    url.search === "" && /^#token=[A-Za-z0-9%._~-]*$/.test(url.hash);
  if (!url || !isPage) throw refused(asked, "it names a URL that is not a status page");
  await demandOwn(targetOf(url), asked);
}

/**
 * Checks the proxies that a PAC file names, and that it is plain ASCII. More cannot be checked in a program.
 */
export async function checkPac(
  text: string,
  { authority, ...asked }: Asked & { readonly authority?: string | undefined },
): Promise<void> {
  if (/[^\t\n\x20-\x7e]/.test(text)) {
    throw refused(asked, "its PAC file contains characters other than printable ASCII");
  }
  for (const [, double, single] of text.matchAll(/"([^"\n]*)"|'([^'\n]*)'/g)) {
    for (const entry of (double ?? single ?? "").split(";")) {
      const [, words] = /^\s*(?:PROXY|SOCKS[45]?|HTTPS?)\s+(\S+)\s*$/i.exec(entry) ?? [];
      if (words !== undefined && words !== authority) await demandOwn(targetIn(words, asked), asked);
    }
  }
}

async function demandOwn(address: Target, asked: Asked): Promise<void> {
  const bytes = parseIp(address.host);
  // Some resolvers send other names below localhost to the network.
  const isHere = bytes ? isLoopback(bytes) : address.host.toLowerCase() === "localhost";
  if (isHere || await asked.isOwn?.(address)) return;
  throw refused(
    asked,
    `it names ${formatTarget(address)}, which is neither on loopback nor in your configuration`,
  );
}

function targetIn(words: string, asked: Asked): Target {
  try {
    return parseTarget(words);
  } catch {
    throw refused(
      asked,
      `its PAC file names a proxy with an invalid address: ${JSON.stringify(words.slice(0, 100))}`,
    );
  }
}

function refused({ id }: Asked, why: string): PosternError {
  return new PosternError("not_allowed", `Cannot use the answer of instance "${id}": ${why}`, {
    hint: "if the address is yours, add it to listen.mixed in your configuration",
  });
}
