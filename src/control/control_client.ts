import type { Infer, Schema } from "../config/mod.ts";
import {
  type Clock,
  type Conn,
  joinBytes,
  jsonIn,
  limitTime,
  Messages,
  whenAborted,
  within,
} from "../core/mod.ts";
import { formatTarget, isErrorCode, PosternError, type Target } from "../words/mod.ts";
import { encodeRequestHead, responseFraming, type ResponseHead } from "../wire/mod.ts";
import { answers, mostAnswer, readAnswer } from "./control_answers.ts";
import type {
  BoundForward,
  ConnectionInfo,
  ErrorInfo,
  ExplanationInfo,
  ForwardRequest,
  Hello,
  HostsInfo,
  ProxyEnvironment,
  ReloadReport,
  SshHosts,
  Status,
  WatchUpdate,
} from "./instance_state.ts";
import { EventReader } from "./event_reader.ts";
import { abortable, copyBody, readBody, readFinalHead } from "../http/mod.ts";
import { InstanceStream } from "./instance_stream.ts";
import { checkPac, checkPage, checkProxies, type IsOwn } from "./control_proxies.ts";
import { errorFromInfo } from "./error_info.ts";

export interface ControlClientOptions {
  readonly clock: Clock;
  /** The id of the instance, for error messages. */
  readonly id: string;
  /** Needed if the control port requires a token. */
  readonly token?: string;
  /** Timeout of an answer in ms (default: 5000). */
  readonly timeout?: number;
  /** Whether an address off loopback belongs to our configuration; without it, none does. */
  readonly isOwn?: IsOwn;
}

export interface CallOptions {
  readonly signal: AbortSignal;
}

/**
 * Queries an instance over its control socket. Rethrows the instance's errors. Checks every answer and throws
 * `protocol` if one is invalid.
 */
export class ControlClient {
  readonly #connect: (signal: AbortSignal) => Promise<Conn>;
  readonly #options: ControlClientOptions;

  /** Opens one connection per call, so that none stays open between calls. */
  constructor(connect: (signal: AbortSignal) => Promise<Conn>, options: ControlClientOptions) {
    this.#connect = connect;
    this.#options = options;
  }

  hello(options: CallOptions): Promise<Hello> {
    return this.#json("GET", "/v1/hello", answers.hello, options);
  }

  async status(options: CallOptions): Promise<Status> {
    return await this.#json("GET", "/v1/status", answers.status, options) as Status;
  }

  async connections(options: CallOptions): Promise<readonly ConnectionInfo[]> {
    return await this.#json("GET", "/v1/connections", answers.connections, options) as ConnectionInfo[];
  }

  /** Passes updates of an instance to `told` until the instance stops; fails without an update for 15 s. */
  watch(told: (watched: WatchUpdate) => void | Promise<void>, { signal }: CallOptions): Promise<void> {
    return this.#events("GET", "/v1/watch", { told: (text) => told(this.#watched(text)), signal });
  }

  /**
   * Asks for forwards that live as long as this call, and passes their addresses to `bound`. Resolves when the
   * instance stops; throws `protocol` if it ends otherwise.
   */
  async forward(
    asked: ForwardRequest,
    bound: (forwards: readonly BoundForward[]) => void | Promise<void>,
    { signal }: CallOptions,
  ): Promise<void> {
    const to = "/v1/forward";
    let hasStopped = false;
    let number: number | undefined;
    const told = async (text: string) => {
      const { kind, id, forwards, error } = readAnswer(text, answers.forward, { id: this.#options.id, to });
      if (kind === "failed" && error) throw errorFromInfo(error as ErrorInfo);
      number ??= id;
      if (kind === "bound" && forwards) await bound(forwards);
      if (kind === "stopped") hasStopped = true;
    };
    const body = new TextEncoder().encode(JSON.stringify(asked));
    try {
      await this.#events("POST", to, { told, body, signal });
    } finally {
      // The instance notices a closed connection within a second; the next command may want the address now.
      if (number !== undefined && !hasStopped) await this.#endForward(number);
    }
    if (hasStopped) return;
    throw new PosternError(
      "protocol",
      `Cannot keep the forwards: instance "${this.#options.id}" closed the connection`,
      {
        hint: `check its log: postern logs ${this.#options.id}`,
      },
    );
  }

  async #endForward(id: number): Promise<void> {
    const { signal } = new AbortController();
    await this.#json("POST", `/v1/forward/${id}/close`, answers.closed, { signal, timeout: 1000 }).catch(
      () => {},
    );
  }

  /** Passes the events of an answer to `told` until it ends; fails without an event for 15 s. */
  async #events(
    method: string,
    path: string,
    { told, body, signal }: CallOptions & {
      readonly told: (text: string) => void | Promise<void>;
      readonly body?: Uint8Array<ArrayBuffer>;
    },
  ): Promise<void> {
    const { clock, id } = this.#options;
    const silent = new AbortController();
    const late = () =>
      silent.abort(
        new PosternError(
          "timeout",
          `Cannot watch instance "${id}": no update within ${mostSilence / 1000} s`,
        ),
      );
    let deadline = limitTime(clock, mostSilence, late);
    try {
      const either = AbortSignal.any([signal, silent.signal]);
      await using conn = await this.#connect(either);
      using _drop = whenAborted(either, () => conn.abort(either.reason));
      const { messages, head } = await this.#ask(conn, method, path, { body });
      const framing = responseFraming(head, method);
      if (head.status !== 200) {
        throw failureOf(head, await readBody(messages, framing, { from: this.#name, limit: mostAnswer }));
      }
      const reader = new EventReader();
      await copyBody(messages, framing, async (bytes) => {
        for (const text of reader.take(bytes)) {
          deadline[Symbol.dispose]();
          deadline = limitTime(clock, mostSilence, late);
          await told(text);
        }
      }, { from: this.#name });
    } finally {
      deadline[Symbol.dispose]();
    }
  }

  /** Makes the instance listen for these names (default: all known ones) until others are requested. */
  hosts(names: readonly string[] | "none", options: CallOptions): Promise<HostsInfo> {
    const query = names === "none" ? "release=1" : new URLSearchParams(names.map((name) => ["name", name]));
    return this.#json("POST", `/v1/hosts?${query}`, answers.hosts, { ...options, timeout: 120_000 });
  }

  /** Throws `usage` if the connection no longer exists. */
  async closeConnection(id: number, options: CallOptions): Promise<void> {
    await this.#json("POST", `/v1/connections/${id}/close`, answers.closed, options);
  }

  /** Resolves after the instance has applied the new configuration. */
  reload(options: CallOptions): Promise<ReloadReport> {
    return this.#json("POST", "/v1/reload", answers.reload, { ...options, timeout: 60_000 });
  }

  /**
   * Resolves before the instance stops. `drain` limits the time for live connections, in ms. Returns that
   * limit if the instance reports it.
   */
  async stop({ drain, signal }: CallOptions & { drain?: number }): Promise<{ readonly drain?: number }> {
    const query = drain === undefined ? "" : `?drain=${Math.round(drain)}`;
    return await this.#json("POST", `/v1/stop${query}`, answers.stop, { signal });
  }

  /** With `dial`, the instance also tries the route, within its own limits. */
  async explain(
    target: Target,
    { dial = false, signal }: CallOptions & { dial?: boolean },
  ): Promise<ExplanationInfo> {
    const query = new URLSearchParams({ target: formatTarget(target), ...(dial && { dial: "1" }) });
    const options = { signal, ...(dial && { timeout: 120_000 }) };
    return await this.#json("GET", `/v1/explain?${query}`, answers.explanation, options) as ExplanationInfo;
  }

  /** The PAC file for a browser that reaches the instance at `authority` (default: its first listener). */
  async pac({ authority, signal }: CallOptions & { authority?: string }): Promise<string> {
    const query = authority === undefined ? "" : `?${new URLSearchParams({ authority })}`;
    const text = new TextDecoder().decode(await this.#call("GET", `/v1/pac${query}`, { signal }));
    await checkPac(text, { ...this.#options, authority });
    return text;
  }

  /**
   * Connects to a target through the instance and its rules. Returns the connection, or the instance's error about
   * the target: `usage` from an older postern, which does not support this. Throws if the instance does not answer.
   * The signal ends the attempt, not the connection. `hops` names the ssh hosts whose ProxyCommand asks: a path through
   * one of them would be a loop.
   */
  async stream(
    target: Target,
    { hops = [], signal }: CallOptions & { hops?: readonly string[] },
  ): Promise<Conn | PosternError> {
    const { id } = this.#options;
    const conn = await this.#connect(signal);
    try {
      const fields = hops.length === 0 ? [] : [[hopsField, hops.map(encodeURIComponent).join(" ")] as const];
      const { messages, head } = await abortable(
        conn,
        signal,
        () => this.#ask(conn, "CONNECT", formatTarget(target), { fields, limit: mostAhead }),
      );
      if (head.status !== 200) {
        const framing = responseFraming(head, "GET");
        const body = await readBody(messages, framing, { from: this.#name, limit: mostAnswer });
        await conn[Symbol.asyncDispose]();
        return failureOf(head, body);
      }
      const of = { id, to: "CONNECT" };
      return new InstanceStream(conn, messages, {
        from: this.#name,
        readEnd: (text) => errorFromInfo(readAnswer(text, answers.end, of)),
      });
    } catch (error) {
      conn.abort(error);
      throw error;
    }
  }

  /** The ssh patterns of the targets that the instance sends through a transport. */
  sshHosts(options: CallOptions): Promise<SshHosts> {
    return this.#json("GET", "/v1/ssh-hosts", answers.sshHosts, options);
  }

  /** The URL of the status page. It contains a token: show it only to the caller, never log it. */
  async page(options: CallOptions): Promise<string> {
    const { url } = await this.#json("GET", "/v1/page", answers.page, options);
    await checkPage(url, this.#options);
    return url;
  }

  async env(
    { credentials = false, client, signal }: CallOptions & { credentials?: boolean; client?: string },
  ): Promise<ProxyEnvironment> {
    const query = new URLSearchParams({
      ...(credentials && { credentials: "1" }),
      ...(client !== undefined && { client }),
    });
    const environment = await this.#json("GET", `/v1/env?${query}`, answers.environment, { signal });
    await checkProxies(environment, this.#options);
    return environment;
  }

  /** The fields depend on the version of the instance, which `hello` reports. */
  async #json<S extends Schema<unknown>>(
    method: string,
    path: string,
    schema: S,
    options: CallOptions & { timeout?: number },
  ): Promise<Infer<S>> {
    const body = await this.#call(method, path, options);
    return readAnswer(body, schema, { id: this.#options.id, to: path.replace(/\?.*$/s, "") });
  }

  #watched(text: string): WatchUpdate {
    const of = { id: this.#options.id, to: "/v1/watch" };
    const isWhole = /^\s*\{\s*"kind"\s*:\s*"whole"/.test(text);
    return isWhole
      ? { ...readAnswer(text, answers.whole, of), kind: "whole" } as WatchUpdate
      : { ...readAnswer(text, answers.step, of), kind: "step" } as unknown as WatchUpdate;
  }

  async #call(
    method: string,
    path: string,
    { signal, timeout = this.#options.timeout ?? 5000 }: CallOptions & { timeout?: number },
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { clock, id } = this.#options;
    const error = () => silentInstance(id, timeout);
    return await within({ clock, ms: timeout, signal, error }, async (signal) => {
      await using conn = await this.#connect(signal);
      return await abortable(conn, signal, () => this.#exchange(conn, method, path));
    });
  }

  async #exchange(conn: Conn, method: string, path: string): Promise<Uint8Array<ArrayBuffer>> {
    const { messages, head } = await this.#ask(conn, method, path);
    const framing = responseFraming(head, method);
    const body = await readBody(messages, framing, { from: this.#name, limit: mostAnswer });
    if (head.status < 200 || head.status > 299) throw failureOf(head, body);
    return body;
  }

  async #ask(
    conn: Conn,
    method: string,
    path: string,
    { fields: more = [], body, ...options }: {
      readonly fields?: readonly (readonly [string, string])[];
      readonly limit?: number;
      readonly body?: Uint8Array<ArrayBuffer> | undefined;
    } = {},
  ): Promise<{ readonly messages: Messages; readonly head: ResponseHead }> {
    const { token } = this.#options;
    const fields: (readonly [string, string])[] = [["Host", "localhost"], ["Connection", "close"], ...more];
    if (token !== undefined) fields.push(["Authorization", `Bearer ${token}`]);
    if (body) fields.push(["Content-Type", "application/json"], ["Content-Length", `${body.length}`]);
    const head = encodeRequestHead({ method, target: path, fields });
    await conn.write(body ? joinBytes([head, body]) : head);
    const messages = new Messages(conn, options);
    return { messages, head: await readFinalHead(messages, { from: this.#name }) };
  }

  get #name(): string {
    return `instance "${this.#options.id}"`;
  }
}

/** The field with the ssh hosts whose ProxyCommand requests a stream, each encoded as in a URL. */
export const hopsField = "postern-hops";

/** How many bytes of a stream to read at once. */
const mostAhead = 256 * 1024;

function silentInstance(id: string, ms: number): PosternError {
  return new PosternError("timeout", `Cannot query instance "${id}": no answer within ${ms / 1000} s`, {
    hint: `check its log: postern logs ${id}; if the instance hangs, kill its process`,
  });
}

/** Maximum time between updates of a watched instance, in ms; it sends one every second. */
const mostSilence = 15_000;

function failureOf(head: ResponseHead, body: Uint8Array): PosternError {
  const text = new TextDecoder().decode(body);
  if (head.fields.get("content-type") === "application/json") {
    // Another program may have sent this body; the `postern-error` header is the second source.
    const info = jsonIn(text) as Partial<ErrorInfo> | null | undefined;
    if (isErrorCode(info?.code) && typeof info?.message === "string") {
      return errorFromInfo({ ...info, code: info.code, message: info.message });
    }
  }
  const [, code, message] = /^([a-z_]+); (.*)$/.exec(head.fields.get("postern-error") ?? "") ?? [];
  if (isErrorCode(code) && message !== undefined) return new PosternError(code, message);
  return new PosternError("protocol", `Cannot read the answer of the instance: HTTP status ${head.status}`, {
    hint: "compare versions: postern version and postern status",
  });
}
