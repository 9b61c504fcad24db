import { encodeRequestHead } from "../../wire/mod.ts";
import type { KubeRequest } from "./kube_api.ts";
import type { Credentials } from "./kube_credentials.ts";

/** A request as it goes over the wire; the path of the server's URL comes before that of the request. */
export function requestBytes(
  { method = "GET", path, fields = [], body }: KubeRequest,
  { server, credentials }: { readonly server: URL; readonly credentials: Credentials },
): Uint8Array<ArrayBuffer> {
  const content = body === undefined ? undefined : new TextEncoder().encode(JSON.stringify(body));
  const given = [...fields];
  const usual: (readonly [string, string])[] = [["Accept", "application/json"]];
  if (content) usual.push(["Content-Type", "application/json"]);
  if (content || method !== "GET") usual.push(["Content-Length", String(content?.length ?? 0)]);
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  const head = encodeRequestHead({
    method,
    target: `${server.pathname.replace(/\/$/, "")}${path}`,
    fields: [
      ["Host", server.host],
      ["User-Agent", "postern"],
      ...usual.filter(([name]) => !names.has(name.toLowerCase())),
      ...given,
      ...credentials.fields,
    ],
  });
  if (!content) return head;
  const bytes = new Uint8Array(head.length + content.length);
  bytes.set(head);
  bytes.set(content, head.length);
  return bytes;
}
