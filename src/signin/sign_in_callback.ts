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

/** The redirect address of a sign-in. */
export interface CallbackPlace {
  /** The loopback addresses to listen on; IPv6 is skipped on machines without it. */
  readonly hosts: readonly string[];
  /** The host in the redirect URI, as registered with the provider. */
  readonly name: string;
  /** The path in the redirect URI, as registered with the provider; "/" is omitted. */
  readonly path: string;
}

/** The usual registration of command-line programs: the root path of localhost. */
const usualPlace: CallbackPlace = { hosts: ["127.0.0.1", "::1"], name: "localhost", path: "/" };

/** A round trip of the browser to the provider. */
export interface Errand<T> {
  readonly url: URL;
  /** The secret value that the browser must return. */
  readonly state: string;
  /** Returns the result and the user's name, or another errand for the same browser. */
  redeem(answer: URLSearchParams, options: { signal: AbortSignal }): Promise<Brought<T>>;
}

/** The outcome of an errand. */
export type Brought<T> =
  | { readonly result: T; readonly name: string | undefined }
  | { readonly next: Errand<T> };

/** Maximum size of a request in bytes; encrypted codes are long. */
const mostRequest = 32 * 1024;
/** How long a request may take to arrive, and a response to be read, in ms. */
const patience = 10_000;
/** Maximum number of silent clients: browsers open connections in advance. */
const mostSilent = 16;

/**
 * Listens on loopback for the browser's return from one sign-in. Other requests get a response but change
 * nothing.
 */
export class SignInCallback implements AsyncDisposable {
  /** The redirect URI, as registered with the provider. */
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

  /** Binds the port, or any free one for 0. If the port is taken, the error names its owner if possible. */
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
          // The machine has no IPv6.
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

  /** Waits for the browser's return from an errand, and shows it the result. */
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
      // The request belongs to another sign-in, guesses the state, or is a user's visit.
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
        const reason = error instanceof PosternError ? error.message : "An unexpected error occurred";
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
    const late = () =>
      client.abort(new PosternError("timeout", "Cannot serve this client: the timeout has passed"));
    const messages = new Messages(client, { limit: mostRequest });
    let response: Reply | undefined;
    try {
      const head = await this.#head(client, messages, late);
      if (!head) return;
      response = head === "bad" ? { page: otherPage(404) } : await respond(head);
      using _deadline = clock.after(patience / 5, late);
      await client.write(pageBytes(response.page, head === "bad" ? "GET" : head.method));
      await client.closeWrite();
      // Closing the connection with unread bytes would reset it, and the browser would lose the page.
      let drained = messages.take(mostRequest).length;
      while (drained < mostRequest && await messages.fill()) drained += messages.take(mostRequest).length;
    } finally {
      await client[Symbol.asyncDispose]();
      // The browser must receive the page before this program ends.
      response?.done?.();
    }
  }

  async #head(client: Conn, messages: Messages, late: () => void): Promise<RequestHead | "bad" | undefined> {
    // If clients fill all silent places, close the oldest one.
    const [oldest] = this.#silent;
    if (oldest && this.#silent.size >= mostSilent) {
      oldest.abort(
        new PosternError("timeout", "Cannot serve this client: too many newer clients are waiting"),
      );
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

/** A response, and the action after it was sent. */
interface Reply {
  readonly page: SignInPage;
  readonly done?: () => void;
}

/** The parameters that the browser returned, or the page for any other request. */
function answerOf({ method, target, fields }: RequestHead, wanted: string): URLSearchParams | SignInPage {
  // Another host name that resolves to this machine belongs to a website (DNS rebinding).
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
