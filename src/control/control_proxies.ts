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

/** Whether our own configuration listens at an address. */
export type IsOwn = (address: Target) => Promise<boolean>;

interface Asked {
  readonly id: string;
  readonly isOwn?: IsOwn;
}

/** Programs are sent to no proxy but one of this machine's loopback, or one that our own configuration names. */
export async function checkProxies(
  { http, socks, proxyUrl }: Pick<ProxyEnvironment, "http" | "socks" | "proxyUrl">,
  asked: Asked,
): Promise<void> {
  for (const text of [http, socks, ...(proxyUrl === undefined ? [] : [proxyUrl])]) {
    const url = URL.parse(text);
    const isProxy = url !== null && /^(?:http|socks5h?):$/.test(url.protocol) &&
      /^\/?$/.test(url.pathname) && url.search === "" && url.hash === "";
    if (!isProxy) throw refused(asked, "a proxy that it names is no URL of one");
    await demandOwn(targetOf(url), asked);
  }
}

/** The page has the token of the instance: it is opened on this machine only. */
export async function checkPage(text: string, asked: Asked): Promise<void> {
  const url = URL.parse(text);
  const isPage = url?.protocol === "http:" && url.username === "" && url.pathname === "/" &&
    url.search === "" && /^#token=[A-Za-z0-9%._~-]*$/.test(url.hash);
  if (!url || !isPage) throw refused(asked, "the page that it names is none of an instance");
  await demandOwn(targetOf(url), asked);
}

/** A PAC file is a program: all that can be checked are the proxies that its texts name, and that it is plain text. */
export async function checkPac(
  text: string,
  { authority, ...asked }: Asked & { readonly authority?: string | undefined },
): Promise<void> {
  if (/[^\t\n\x20-\x7e]/.test(text)) {
    throw refused(asked, "its PAC file has characters that no PAC file needs");
  }
  for (const [, double, single] of text.matchAll(/"([^"\n]*)"|'([^'\n]*)'/g)) {
    for (const way of (double ?? single ?? "").split(";")) {
      const [, words] = /^\s*(?:PROXY|SOCKS[45]?|HTTPS?)\s+(\S+)\s*$/i.exec(way) ?? [];
      if (words !== undefined && words !== authority) await demandOwn(targetIn(words, asked), asked);
    }
  }
}

async function demandOwn(address: Target, asked: Asked): Promise<void> {
  const bytes = parseIp(address.host);
  // Some resolvers ask the network for other names that end in localhost.
  const isHere = bytes ? isLoopback(bytes) : address.host.toLowerCase() === "localhost";
  if (isHere || await asked.isOwn?.(address)) return;
  throw refused(
    asked,
    `it names ${formatTarget(address)}, which is not on loopback and not in your configuration`,
  );
}

function targetIn(words: string, asked: Asked): Target {
  try {
    return parseTarget(words);
  } catch {
    throw refused(
      asked,
      `its PAC file names a proxy that is no address: ${JSON.stringify(words.slice(0, 100))}`,
    );
  }
}

function refused({ id }: Asked, why: string): PosternError {
  return new PosternError("not_allowed", `Cannot use the answer of the instance "${id}": ${why}`, {
    hint: "if that address is yours, name it in listen.mixed of the configuration that this command reads",
  });
}
