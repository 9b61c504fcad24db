import { PosternError } from "../words/mod.ts";
import { type HttpClient, placeOf } from "./http_client.ts";

/** The options that libraries pass to `fetch`. */
export interface FetchOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | string | null | undefined;
  readonly signal?: AbortSignal;
}

/** Wraps the client as a `fetch` for libraries. Never follows a redirect. */
export function fetchWith(
  client: HttpClient,
  { signal }: { signal: AbortSignal },
): (url: string, options: FetchOptions) => Promise<Response> {
  return async (url, { method = "GET", headers = {}, body, signal: own }) => {
    const answer = await client.ask({
      url: new URL(url),
      method,
      fields: Object.entries(headers),
      ...(body !== undefined && body !== null && { body: String(body) }),
    }, { signal: own ? AbortSignal.any([signal, own]) : signal });
    if (answer.status > 599 || answer.status < 200) {
      throw new PosternError(
        "protocol",
        `Cannot read the response from ${placeOf(answer.url)}: invalid status ${answer.status}`,
      );
    }
    const isEmpty = [204, 205, 304].includes(answer.status);
    return new Response(isEmpty ? null : answer.body, { status: answer.status, headers: [...answer.fields] });
  };
}
