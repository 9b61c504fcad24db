import { type Endpoint, formatIp, isLoopback, parseIp, PosternError } from "../words/mod.ts";
import { maskedUrl } from "./masked_url.ts";
import { port } from "./scalars.ts";
import { type Schema, shown } from "./schema.ts";

/** One socket of a listen address. */
export interface ListenSocket {
  readonly endpoint: Endpoint;
  /** True if this machine may lack the address family. */
  readonly mayBeMissing: boolean;
}

/** The address of a listener. */
export interface ListenAddress {
  /** The full form of the written address: `localhost:12000`. */
  readonly text: string;
  /** The sockets to bind: IPv4 and IPv6 for `localhost`. */
  readonly sockets: readonly [ListenSocket, ...ListenSocket[]];
  /** True if only programs on this machine can connect. */
  readonly isLoopback: boolean;
}

/** Reads `127.0.0.1:12000`, `[::1]:12000`, `localhost:12000`, `12000`, `unix:/path`; throws `usage` for other text. */
export function parseListenAddress(text: string): ListenAddress {
  if (text.startsWith("unix:") && text.length > 5) return unixAddress(text.slice(5));
  const match = /^(?:(?:\[([^\]]*)\]|([^:[\]\s/]*)):)?([0-9]{1,5})$/.exec(text);
  const number = Number(match?.[3]);
  if (!match || !(number <= 65535)) throw unreadable(text, advice(text));
  const [, bracketed, bare] = match;
  const host = bracketed ?? bare ?? "localhost";
  if (bracketed === undefined && host.toLowerCase() === "localhost") return localhost(number);
  const bytes = parseIp(host);
  // IPv6 requires brackets; IPv4 must not have them.
  if (!bytes || (bracketed !== undefined) !== (bytes.length === 16)) throw unreadable(text, advice(text));
  return {
    text: bytes.length === 16 ? `[${formatIp(bytes)}]:${number}` : `${formatIp(bytes)}:${number}`,
    sockets: [{ endpoint: { host: formatIp(bytes), port: number }, mayBeMissing: false }],
    isLoopback: isLoopback(bytes),
  };
}

function localhost(number: number): ListenAddress {
  return {
    text: `localhost:${number}`,
    sockets: [
      { endpoint: { host: "127.0.0.1", port: number }, mayBeMissing: false },
      { endpoint: { host: "::1", port: number }, mayBeMissing: true },
    ],
    isLoopback: true,
  };
}

export function unixAddress(path: string): ListenAddress {
  return { text: `unix:${path}`, sockets: [{ endpoint: { path }, mayBeMissing: false }], isLoopback: true };
}

function advice(text: string): string {
  const port = /^(?:\*|any)?:([0-9]{1,5})$/.exec(text)?.[1];
  if (port !== undefined) {
    return `name the interface: 127.0.0.1:${port} for this machine only, 0.0.0.0:${port} or [::]:${port} for all interfaces`;
  }
  if (parseIp(text)) return `add a port: ${text.includes(":") ? `[${text}]` : text}:12000`;
  return "use, for example, 127.0.0.1:12000, [::1]:12000, localhost:12000 or only a port";
}

function unreadable(text: string, hint: string): PosternError {
  return new PosternError("usage", `Cannot listen on "${maskedUrl(text).slice(0, 100)}": invalid address`, {
    hint,
  });
}

/** A listen address: an address with a port, or only a port for localhost. */
export function listenAddress(): Schema<ListenAddress> {
  const expects = "an address such as 127.0.0.1:12000 or localhost:12000";
  const plain = port();
  return {
    expects,
    shapes: ["text", "number"],
    parse(value, context) {
      if (typeof value === "number") {
        const number = plain.parse(value, context);
        return number === undefined ? undefined : localhost(number);
      }
      if (typeof value !== "string") {
        context.report(`must be ${expects}: current value is ${shown(value)}`);
        return undefined;
      }
      try {
        return parseListenAddress(value);
      } catch (error) {
        if (!(error instanceof PosternError)) throw error;
        context.report(`must be ${expects}: current value is ${shown(value)}, ${error.hint}`);
        return undefined;
      }
    },
    json: () => ({
      anyOf: [
        { type: "string", pattern: "^(?:(?:\\[[^\\]]*\\]|[^:\\[\\]\\s/]+):)?[0-9]{1,5}$|^unix:." },
        plain.json(),
      ],
    }),
    write: (value) => isListenAddress(value) ? value.text : value,
  };
}

function isListenAddress(value: unknown): value is ListenAddress {
  return typeof value === "object" && value !== null && "text" in value && "sockets" in value;
}
