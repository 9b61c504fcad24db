import {
  type Clock,
  type Conn,
  type ErrorCode,
  formatTarget,
  jsonIn,
  limitTime,
  Messages,
  PosternError,
  type Target,
  whenAborted,
  within,
} from "../core/mod.ts";
import { decodeResponseHead, encodeRequestHead, responseFraming, type ResponseHead } from "../wire/mod.ts";
import type {
  ConnectionInfo,
  ErrorInfo,
  ExplanationInfo,
  Hello,
  ProxyEnvironment,
  ReloadReport,
  Status,
  Watched,
} from "./door_state.ts";
import { EventReader } from "./event_reader.ts";
import { copyBody, readBody } from "./http_body.ts";
import { errorFromInfo } from "./page.ts";

export interface ControlClientOptions {
  readonly clock: Clock;
  /** Which door it is, for what is said of it. */
  readonly id: string;
  /** Where the control port demands one. */
  readonly token?: string;
  /** How long one answer may take, in ms; 5 s unless told. */
  readonly timeout?: number;
}

export interface CallOptions {
  readonly signal: AbortSignal;
}

/** Asks a running door over its control socket. A failure there is the same failure here. */
export class ControlClient {
  readonly #connect: (signal: AbortSignal) => Promise<Conn>;
  readonly #options: ControlClientOptions;

  /** Each call makes its own connection, so that nothing is left open between them. */
  constructor(connect: (signal: AbortSignal) => Promise<Conn>, options: ControlClientOptions) {
    this.#connect = connect;
    this.#options = options;
  }

  hello(options: CallOptions): Promise<Hello> {
    return this.#json("GET", "/v1/hello", options);
  }

  status(options: CallOptions): Promise<Status> {
    return this.#json("GET", "/v1/status", options);
  }

  connections(options: CallOptions): Promise<readonly ConnectionInfo[]> {
    return this.#json("GET", "/v1/connections", options);
  }

  /** Hands over what happens at the door as it is told, until the door closes; fails when it falls silent. */
  async watch(told: (watched: Watched) => void | Promise<void>, { signal }: CallOptions): Promise<void> {
    const { clock, id } = this.#options;
    const silent = new AbortController();
    const late = () =>
      silent.abort(new PosternError("timeout", `Cannot watch the door "${id}" any longer: it says nothing`));
    let deadline = limitTime(clock, mostSilence, late);
    try {
      const either = AbortSignal.any([signal, silent.signal]);
      await using conn = await this.#connect(either);
      using _drop = whenAborted(either, () => conn.abort(either.reason));
      const { messages, head } = await this.#ask(conn, "GET", "/v1/watch");
      const framing = responseFraming(head, "GET");
      if (head.status !== 200) throw failureOf(head, await readBody(messages, framing, { status: 502 }));
      const reader = new EventReader();
      await copyBody(messages, framing, async (bytes) => {
        deadline[Symbol.dispose]();
        deadline = limitTime(clock, mostSilence, late);
        for (const text of reader.take(bytes)) await told(JSON.parse(text));
      }, { status: 502 });
    } finally {
      deadline[Symbol.dispose]();
    }
  }

  /** A connection that is gone is `usage`. */
  async closeConnection(id: number, options: CallOptions): Promise<void> {
    await this.#json("POST", `/v1/connections/${id}/close`, options);
  }

  /** Takes as long as the door needs to build itself anew. */
  reload(options: CallOptions): Promise<ReloadReport> {
    return this.#json("POST", "/v1/reload", { ...options, timeout: 60_000 });
  }

  /** Answered before the door ends; `drain` is how long its connections may go on, in ms. */
  async stop({ drain, signal }: CallOptions & { drain?: number }): Promise<void> {
    await this.#json("POST", `/v1/stop${drain === undefined ? "" : `?drain=${Math.round(drain)}`}`, {
      signal,
    });
  }

  /** With `dial` it is tried as well, within the door's own limits. */
  explain(
    target: Target,
    { dial = false, signal }: CallOptions & { dial?: boolean },
  ): Promise<ExplanationInfo> {
    const query = new URLSearchParams({ target: formatTarget(target), ...(dial && { dial: "1" }) });
    return this.#json("GET", `/v1/explain?${query}`, { signal, ...(dial && { timeout: 120_000 }) });
  }

  /** For a browser that reaches the door at `authority`; its first listener unless told. */
  async pac({ authority, signal }: CallOptions & { authority?: string }): Promise<string> {
    const query = authority === undefined ? "" : `?${new URLSearchParams({ authority })}`;
    return new TextDecoder().decode(await this.#call("GET", `/v1/pac${query}`, { signal }));
  }

  /** The address of the status page. It holds the page's token: for the person who asks, and for no log. */
  async page(options: CallOptions): Promise<string> {
    return (await this.#json<{ readonly url: string }>("GET", "/v1/page", options)).url;
  }

  env(
    { credentials = false, client, signal }: CallOptions & { credentials?: boolean; client?: string },
  ): Promise<ProxyEnvironment> {
    const query = new URLSearchParams({
      ...(credentials && { credentials: "1" }),
      ...(client !== undefined && { client }),
    });
    return this.#json("GET", `/v1/env?${query}`, { signal });
  }

  /** The shapes are those of the door's own version, which `hello` tells. */
  async #json<T>(method: string, path: string, options: CallOptions & { timeout?: number }): Promise<T> {
    const body = await this.#call(method, path, options);
    try {
      return JSON.parse(new TextDecoder().decode(body)) as T;
    } catch (cause) {
      throw new PosternError("protocol", `Cannot read the door's answer to ${path}`, { cause });
    }
  }

  async #call(
    method: string,
    path: string,
    { signal, timeout = this.#options.timeout ?? 5000 }: CallOptions & { timeout?: number },
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { clock, id } = this.#options;
    const error = () =>
      new PosternError("timeout", `Cannot ask the door "${id}": no answer within ${timeout / 1000} s`, {
        hint: `see what it did last: postern logs ${id}; if it hangs, end its process by hand`,
      });
    return await within({ clock, ms: timeout, signal, error }, async (signal) => {
      await using conn = await this.#connect(signal);
      signal.throwIfAborted();
      using _drop = whenAborted(signal, () => conn.abort(signal.reason));
      return await this.#exchange(conn, method, path);
    });
  }

  async #exchange(conn: Conn, method: string, path: string): Promise<Uint8Array<ArrayBuffer>> {
    const { messages, head } = await this.#ask(conn, method, path);
    const body = await readBody(messages, responseFraming(head, method), { status: 502 });
    if (head.status < 200 || head.status > 299) throw failureOf(head, body);
    return body;
  }

  async #ask(
    conn: Conn,
    method: string,
    path: string,
  ): Promise<{ readonly messages: Messages; readonly head: ResponseHead }> {
    const { token } = this.#options;
    const fields: [string, string][] = [["Host", "localhost"], ["Connection", "close"]];
    if (token !== undefined) fields.push(["Authorization", `Bearer ${token}`]);
    await conn.write(encodeRequestHead({ method, target: path, fields }));
    const messages = new Messages(conn);
    const head = await messages.read(decodeResponseHead);
    if (!head) {
      // As a door does that is just ending, where it does not reset the connection.
      throw new PosternError("unreachable", "Cannot read the door's answer: it closed the connection", {
        detail: "reset",
      });
    }
    return { messages, head };
  }
}

/** How long a door that is watched may say nothing, in ms: it says something every second. */
const mostSilence = 15_000;

function failureOf(head: ResponseHead, body: Uint8Array): PosternError {
  const text = new TextDecoder().decode(body);
  if (head.fields.get("content-type") === "application/json") {
    // It may be another program's, and then there is another way to tell what went wrong.
    const info = jsonIn(text) as Partial<ErrorInfo> | undefined;
    if (info?.code !== undefined && info.message !== undefined) {
      return errorFromInfo({ ...info, code: info.code, message: info.message });
    }
  }
  const [, code, message] = /^([a-z_]+); (.*)$/.exec(head.fields.get("postern-error") ?? "") ?? [];
  if (code !== undefined && message !== undefined) return new PosternError(code as ErrorCode, message);
  return new PosternError("protocol", `Cannot read the door's answer: status ${head.status}`, {
    hint: "the door may be of another version than this postern",
  });
}
