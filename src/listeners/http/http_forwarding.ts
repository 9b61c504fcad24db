import type { Framing, RequestHead, ResponseHead } from "../../wire/mod.ts";

type Entries = (readonly [name: string, value: string])[];

/** Fields for a single connection (RFC 9110, section 7.6.1) or for this proxy; framing is written again. */
const hopByHop = [
  "connection",
  "proxy-connection",
  "keep-alive",
  "te",
  "upgrade",
  "transfer-encoding",
  "content-length",
  "proxy-authorization",
  "proxy-authenticate",
  "proxy-authentication-info",
];

/** The protocols to which a request wants to upgrade. Drops h2c: its settings are hop-by-hop. */
export function upgradeOf({ version, fields }: RequestHead, framing: Framing): string | undefined {
  if (version !== "1.1" || framing.kind !== "none" || !fields.tokens("connection").includes("upgrade")) {
    return undefined;
  }
  const wanted = fields.all("upgrade").join(", ").split(",").map((name) => name.trim());
  const passed = wanted.filter((name) => name !== "" && name.toLowerCase() !== "h2c");
  return passed.length > 0 ? passed.join(", ") : undefined;
}

/** The remaining number of forwards (RFC 9110, section 7.6.2); undefined without a limit. */
export function maxForwards({ method, fields }: RequestHead): number | undefined {
  if (method !== "TRACE" && method !== "OPTIONS") return undefined;
  const value = fields.get("max-forwards") ?? "";
  return /^[0-9]{1,9}$/.test(value) ? Number(value) : undefined;
}

/**
 * The request fields for the origin. Adds no Via: the proxy is on the client's own machine, and some servers
 * disable compression when they see one.
 */
export function requestFields(
  head: RequestHead,
  { authority, framing, upgrade }: { authority: string; framing: Framing; upgrade: string | undefined },
): Entries {
  const { version } = head;
  const hops = maxForwards(head);
  const fields = hops === undefined ? head.fields : head.fields.with("Max-Forwards", String(hops - 1));
  const dropped = [...hopByHop, ...fields.tokens("connection"), "host"];
  // An HTTP/1.0 client cannot read the 100 response.
  if (version === "1.0") dropped.push("expect");
  const entries: Entries = [["Host", authority], ...fields.without(dropped)];
  const options: string[] = [];
  if (fields.tokens("te").some((token) => /^trailers\b/.test(token))) {
    entries.push(["TE", "trailers"]);
    options.push("TE");
  }
  if (upgrade !== undefined) {
    entries.push(["Upgrade", upgrade]);
    options.push("Upgrade");
  }
  if (options.length > 0) entries.push(["Connection", options.join(", ")]);
  if (framing.kind === "chunked") entries.push(["Transfer-Encoding", "chunked"]);
  else if (framing.kind === "length") entries.push(["Content-Length", String(framing.length)]);
  else if (fields.has("content-length")) entries.push(["Content-Length", "0"]);
  return entries;
}

/** The properties of the client that shape its response. */
export interface Receiver {
  readonly method: string;
  readonly version: RequestHead["version"];
  /** Whether the connection accepts another request. */
  readonly keeps: boolean;
}

/**
 * The framing of a body for the client. A body of unknown length is chunked, so that the client can detect
 * truncation.
 */
export function framingFor({ version }: Receiver, framing: Framing): Framing {
  const isUnknown = framing.kind === "chunked" || framing.kind === "close";
  return isUnknown ? { kind: version === "1.1" ? "chunked" : "close" } : framing;
}

/** The response fields for the client. */
export function responseFields(head: ResponseHead, receiver: Receiver, framing: Framing): Entries {
  const entries: Entries = passedOn(head);
  if (framing.kind === "chunked") entries.push(["Transfer-Encoding", "chunked"]);
  else if (framing.kind === "length") entries.push(["Content-Length", String(framing.length)]);
  else if (framing.kind === "none") {
    const length = receiver.method === "HEAD" || head.status === 304
      ? head.fields.get("content-length")
      : "0";
    if (length !== undefined && head.status !== 204) entries.push(["Content-Length", length]);
  }
  if (!receiver.keeps) entries.push(["Connection", "close"]);
  else if (receiver.version === "1.0") entries.push(["Connection", "keep-alive"]);
  return entries;
}

/** The fields of an interim response; a 101 keeps its protocol. */
export function interimFields(head: ResponseHead): Entries {
  const entries = passedOn(head);
  if (head.status !== 101) return entries;
  const upgrade = head.fields.all("upgrade").join(", ");
  return [...entries, ["Upgrade", upgrade], ["Connection", "Upgrade"]];
}

/** The trailers to forward: none for framing, routing or authentication (RFC 9110, section 6.5.1). */
export function passedTrailers(trailers: RequestHead["fields"]): Entries {
  return [
    ...trailers.without([...hopByHop, ...trailers.tokens("connection"), "host", "trailer", "authorization"]),
  ];
}

function passedOn({ fields }: ResponseHead): Entries {
  return [...fields.without([...hopByHop, ...fields.tokens("connection")])];
}
