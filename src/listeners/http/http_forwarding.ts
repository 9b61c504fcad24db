import type { Framing, HttpVersion, RequestHead, ResponseHead } from "../../wire/mod.ts";

type Entries = (readonly [name: string, value: string])[];

/** What concerns one connection only (RFC 9110, section 7.6.1) or is for this door alone; framing is written anew. */
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

/** The protocol that a request wants to change to; h2c is not passed on, since its settings are hop-by-hop. */
export function upgradeOf({ version, fields }: RequestHead, framing: Framing): string | undefined {
  if (version !== "1.1" || framing.kind !== "none" || !fields.tokens("connection").includes("upgrade")) {
    return undefined;
  }
  const wanted = fields.all("upgrade").join(", ").split(",").map((name) => name.trim());
  const passed = wanted.filter((name) => name !== "" && name.toLowerCase() !== "h2c");
  return passed.length > 0 ? passed.join(", ") : undefined;
}

/** How many more may pass a request on (RFC 9110, section 7.6.2); undefined where nobody counts. */
export function maxForwards({ method, fields }: RequestHead): number | undefined {
  if (method !== "TRACE" && method !== "OPTIONS") return undefined;
  const value = fields.get("max-forwards") ?? "";
  return /^[0-9]{1,9}$/.test(value) ? Number(value) : undefined;
}

/**
 * The fields of a request as the origin gets them. No Via is added: this door belongs to the client's own machine,
 * and there are servers that stop compressing for whoever names a proxy.
 */
export function requestFields(
  head: RequestHead,
  { authority, framing, upgrade }: { authority: string; framing: Framing; upgrade: string | undefined },
): Entries {
  const { version } = head;
  const hops = maxForwards(head);
  const fields = hops === undefined ? head.fields : head.fields.with("Max-Forwards", String(hops - 1));
  const dropped = [...hopByHop, ...fields.tokens("connection"), "host"];
  // A client of HTTP/1.0 cannot read the 100 that it would get.
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

/** What the client's side of an answer depends on. */
export interface Receiver {
  readonly method: string;
  readonly version: HttpVersion;
  /** Whether the connection may serve another request after this one. */
  readonly keeps: boolean;
}

/** How a body gets to the client: one without a known end is chunked, so that a broken one never looks whole. */
export function framingFor({ version }: Receiver, framing: Framing): Framing {
  const isUnknown = framing.kind === "chunked" || framing.kind === "close";
  return isUnknown ? { kind: version === "1.1" ? "chunked" : "close" } : framing;
}

/** The fields of a response as the client gets them. */
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

/** The fields of an interim response; of 101 with the protocol that it changes to. */
export function interimFields(head: ResponseHead): Entries {
  const entries = passedOn(head);
  if (head.status !== 101) return entries;
  const upgrade = head.fields.all("upgrade").join(", ");
  return [...entries, ["Upgrade", upgrade], ["Connection", "Upgrade"]];
}

/** The trailers that may be passed on: none that frames, routes or signs in (RFC 9110, section 6.5.1). */
export function passedTrailers(trailers: RequestHead["fields"]): Entries {
  return [
    ...trailers.without([...hopByHop, ...trailers.tokens("connection"), "host", "trailer", "authorization"]),
  ];
}

function passedOn({ fields }: ResponseHead): Entries {
  return [...fields.without([...hopByHop, ...fields.tokens("connection")])];
}
