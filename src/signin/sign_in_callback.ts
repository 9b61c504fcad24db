import { accepting, type Listening, type Network } from "../world/mod.ts";
import { type Clock, type Conn, joinBytes, type Log, Messages, Tasks, whenAborted } from "../core/mod.ts";
import { describe, isLoopbackHost, PosternError } from "../words/mod.ts";
import { decodeRequestHead, encodeResponseHead, Http1Problem, type RequestHead } from "../wire/mod.ts";
import { portTaken } from "./sign_in_port_owner.ts";
import {
  failedPage,
  onwardPage,
  otherPage,
  signedInPage,
  type SignInPage,
  strayPage,
  usedPage,
} from "./sign_in_pages.ts";

export interface CallbackParts {
  readonly clock: Clock;
  readonly network: Network;
  readonly log: Log;
}

/** Where a browser comes back to. */
export interface CallbackPlace {
  /** The addresses of loopback to listen on; a machine without IPv6 does without that one. */
  readonly hosts: readonly string[];
  /** The host as the provider knows it. */
  readonly name: string;
  /** The path as the provider knows it; "/" is left out of the address. */
  readonly path: string;
}

/** As it is registered for tools of this kind: the root, under a name. */
const usualPlace: CallbackPlace = { hosts: ["127.0.0.1", "::1"], name: "localhost", path: "/" };

/** What a browser is sent away for. */
export interface Errand<T> {
  readonly url: URL;
  /** What it has to bring back; nobody else knows it. */
  readonly state: string;
  /** The result of what it brought, and as whom; or another errand, on which it is sent at once. */
  redeem(answer: URLSearchParams, options: { signal: AbortSignal }): Promise<Brought<T>>;
}

/** What comes of an errand. */
export type Brought<T> =
  | { readonly result: T; readonly name: string | undefined }
  | { readonly next: Errand<T> };

/** The most bytes of a request: codes are long where they are encrypted. */
const mostRequest = 32 * 1024;
/** How long a request may take to arrive, and an answer to be read, in ms. */
const patience = 10_000;
/** How many clients may be silent at once: browsers open connections ahead of need. */
const mostSilent = 16;

/**
 * The place where a browser comes back to, on loopback only, for one sign-in only. Whatever else comes there is
 * answered and changes nothing.
 */
export class SignInCallback implements AsyncDisposable {
  /** As it is registered with the provider. */
  readonly redirectUri: string;
  readonly #listening: readonly Listening[];
  readonly #path: string;
  readonly #parts: CallbackParts;
  readonly #silent = new Set<Conn>();

  private constructor(listening: readonly Listening[], { name, path }: CallbackPlace, parts: CallbackParts) {
    this.#listening = listening;
    const [first] = listening;
    const port = first && "port" in first.endpoint ? first.endpoint.port : 0;
    this.redirectUri = `http://${name}:${port}${path === "/" ? "" : path}`;
    this.#path = path;
    this.#parts = parts;
  }

  /** Binds the port, 0 for any free one; where it is taken, the failure says by whom as far as that can be told. */
  static async open(
    port: number,
    parts: CallbackParts,
    { place = usualPlace, signal }: { place?: CallbackPlace | undefined; signal: AbortSignal },
  ): Promise<SignInCallback> {
    const listening: Listening[] = [];
    try {
      for (const host of place.hosts) {
        try {
          listening.push(parts.network.listen({ host, port }));
        } catch (error) {
          // A machine without IPv6.
          const isMissing = error instanceof PosternError && error.detail === "network";
          if (!isMissing || host !== "::1") throw error;
        }
      }
      return new SignInCallback(listening, place, parts);
    } catch (error) {
      for (const one of listening) one.close();
      throw await portTaken(error, port, parts, { signal });
    }
  }

  /** Waits for the browser that comes back from an errand, and shows whether that worked. */
  async result<T>(first: Errand<T>, { signal }: { signal: AbortSignal }): Promise<T> {
    const { clock, log } = this.#parts;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    await using tasks = new Tasks(
      signal,
      (error) => log.debug("sign_in.client_gone", { reason: describe(error) }),
    );
    using _stop = whenAborted(signal, () => reject(signal.reason));
    let errand = first;
    let isTaken = false;
    const respond = async (head: RequestHead): Promise<Reply> => {
      const answer = answerOf(head, this.#path);
      if (!(answer instanceof URLSearchParams)) return { page: answer };
      // Another sign-in's, somebody's guess, or a person who looks what is here.
      if (answer.getAll("state").length !== 1 || answer.get("state") !== errand.state) {
        log.warn("sign_in.foreign_callback");
        return { page: strayPage() };
      }
      if (isTaken) return { page: usedPage() };
      isTaken = true;
      try {
        const brought = await errand.redeem(answer, { signal });
        if ("result" in brought) {
          return { page: signedInPage(brought.name), done: () => resolve(brought.result) };
        }
        errand = brought.next;
        isTaken = false;
        return { page: onwardPage(errand.url) };
      } catch (error) {
        const reason = error instanceof PosternError ? error.message : "Something unexpected went wrong";
        return { page: failedPage(reason), done: () => reject(error) };
      }
    };
    const serve = async (client: Conn, signal: AbortSignal) => {
      using _drop = whenAborted(signal, () => client.abort(signal.reason));
      await this.#serve(client, respond);
    };
    for (const listening of this.#listening) {
      tasks.spawn(async (signal) => {
        for await (const client of accepting(listening, { signal, clock, log })) {
          tasks.spawn((signal) => serve(client, signal));
        }
      });
    }
    return await promise;
  }

  async #serve(client: Conn, respond: (head: RequestHead) => Promise<Reply>): Promise<void> {
    const { clock } = this.#parts;
    const late = () => client.abort(new PosternError("timeout", "Cannot wait any longer for this client"));
    const messages = new Messages(client, { limit: mostRequest });
    let response: Reply | undefined;
    try {
      const head = await this.#head(client, messages, late);
      if (!head) return;
      response = head === "bad" ? { page: otherPage(404) } : await respond(head);
      using _deadline = clock.after(patience / 5, late);
      await client.write(pageBytes(response.page, head === "bad" ? "GET" : head.method));
      await client.closeWrite();
      // Closing over bytes that nobody has read would reset the connection, and the page would be lost.
      let drained = messages.take(mostRequest).length;
      while (drained < mostRequest && await messages.fill()) drained += messages.take(mostRequest).length;
    } finally {
      await client[Symbol.asyncDispose]();
      // Only now: the person has to get the page before this program ends.
      response?.done?.();
    }
  }

  async #head(client: Conn, messages: Messages, late: () => void): Promise<RequestHead | "bad" | undefined> {
    // Whoever opens connections to keep others out loses the oldest of them.
    const [oldest] = this.#silent;
    if (oldest && this.#silent.size >= mostSilent) {
      oldest.abort(new PosternError("timeout", "Cannot wait for this client: others came after it"));
    }
    this.#silent.add(client);
    using _deadline = this.#parts.clock.after(patience, late);
    try {
      return await messages.read(decodeRequestHead);
    } catch (error) {
      if (error instanceof Http1Problem) return "bad";
      throw error;
    } finally {
      this.#silent.delete(client);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const listening of this.#listening) listening.close();
    return Promise.resolve();
  }
}

/** What a client is answered, and what follows when it has that. */
interface Reply {
  readonly page: SignInPage;
  readonly done?: () => void;
}

/** What the browser brought, or the page for a request that brings nothing. */
function answerOf({ method, target, fields }: RequestHead, wanted: string): URLSearchParams | SignInPage {
  // A name that was made to point here belongs to somebody else's page.
  const host = URL.parse(`http://${fields.get("host") ?? ""}`)?.hostname ?? "";
  if (!isLoopbackHost(host)) return otherPage(421);
  const [path = "", query = ""] = target.split(/\?(.*)/s);
  if (path !== wanted) return otherPage(404);
  if (method !== "GET") return otherPage(405);
  return new URLSearchParams(query);
}

function pageBytes({ status, fields, body }: SignInPage, method: string): Uint8Array<ArrayBuffer> {
  const head = encodeResponseHead({
    status,
    fields: [...fields, ["Content-Length", String(body.length)], ["Connection", "close"]],
  });
  return method === "HEAD" ? head : joinBytes([head, body]);
}
