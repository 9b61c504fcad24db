import type { Bytes } from "../../core/mod.ts";
import { encodeRequest } from "../../http/mod.ts";
import type { KubeRequest } from "./kube_api.ts";
import type { Credentials } from "./kube_credentials.ts";

/** Serializes a request; prefixes its path with the path of the server's URL. */
export function requestBytes(
  { method = "GET", path, fields = [], body }: KubeRequest,
  { server, credentials }: { readonly server: URL; readonly credentials: Credentials },
): Bytes {
  const content = body === undefined ? undefined : JSON.stringify(body);
  const given = [...fields];
  const usual: (readonly [string, string])[] = [["Accept", "application/json"]];
  if (content !== undefined) usual.push(["Content-Type", "application/json"]);
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  return encodeRequest({
    method,
    target: `${server.pathname.replace(/\/$/, "")}${path}`,
    host: server.host,
    fields: [...usual.filter(([name]) => !names.has(name.toLowerCase())), ...given, ...credentials.fields],
    body: content ?? (method === "GET" ? undefined : ""),
  });
}
