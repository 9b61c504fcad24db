import { backoff, type Clock, limitTime, pause, whenAborted } from "../../core/mod.ts";
import { describe, isPosternError, PosternError } from "../../words/mod.ts";
import type { WatchStatus } from "./cluster_view.ts";
import type { KubeApi } from "./kube_api.ts";
import { KubeLines } from "./kube_lines.ts";
import { jsonBody } from "../../http/mod.ts";
import { refusalError } from "./kube_refusal.ts";
import { listPath, subjectText, watchPath, type WatchSubject } from "./watch_question.ts";
import { type WatchSink, WatchState } from "./watch_state.ts";

export interface WatchParts {
  readonly api: Pick<KubeApi, "name" | "request" | "stream">;
  readonly clock: Clock;
  /**
   * Returns a number from 0 to below 1; spreads pauses and watch durations so that not all requests come at
   * once.
   */
  readonly random: () => number;
}

export interface Watched extends WatchSubject {
  readonly sink: WatchSink;
  /** Called after events that changed the sink. */
  readonly onChange: () => void;
  /** Keeps retrying while the first list fails, for callers that cannot work without it. */
  readonly persists?: boolean;
}

/** The duration that a watch requests from the server, in seconds. */
const shortestLife = 240;
const moreLife = 60;
/**
 * The server sends a bookmark every minute (`defaultBookmarkFrequency`); after this silence, in ms, it is
 * considered gone.
 */
const patience = 90_000;
/** How long the server may send nothing during a list, in ms. */
const listingPatience = 10_000;
/** Attempts at the first list before callers of `synced` get the error. */
const mostAttempts = 3;
const firstPause = 250;
const longestPause = 5_000;
/**
 * The pause after `mostAttempts` refusals, in ms: a missing right, a failed sign-in or a missing program lasts until an
 * operator fixes it. A starting API server refuses every request for a moment, so the first retries come sooner.
 */
const refusedPause = 30_000;

/** Holds one kind of objects with a list and a watch, until it is stopped. */
export class KubeWatch {
  readonly #parts: WatchParts;
  readonly #watched: Watched;
  readonly #state: WatchState;
  readonly #synced = Promise.withResolvers<void>();
  #isSynced = false;
  #takesWatchList = true;
  #phase: WatchStatus["state"] = "starting";
  #since: Date;
  #relists = 0;
  #error: unknown;
  #lastHeard = 0;
  /** The delay that the server requested, in ms. */
  #asked = 0;
  #hurry: (() => void) | undefined;
  #renew: (() => void) | undefined;

  constructor(parts: WatchParts, watched: Watched) {
    this.#parts = parts;
    this.#watched = watched;
    this.#state = new WatchState(watched.sink);
    this.#since = parts.clock.date();
    this.#synced.promise.catch(() => {});
  }

  /** Resolves with the first complete list; rejects with the reason why it failed. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Runs until the signal aborts, or until the first list fails and `persists` is off. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    try {
      await this.#run(signal);
    } finally {
      // Callers that still wait for the list must get an error.
      this.#synced.reject(new PosternError("cancelled", `Cannot list ${this.#what}: the watch was stopped`));
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (true) {
      const before = this.#state.resourceVersion;
      const begun = this.#parts.clock.now();
      try {
        await this.#renewable(signal);
        failures = 0;
        if (before === undefined) continue;
      } catch (error) {
        signal.throwIfAborted();
        this.#error = error;
        // A watch that breaks after a while is normal.
        failures = this.#lastHeard - begun > 10_000 ? 1 : failures + 1;
        this.#become(this.#isSynced ? "resuming" : "starting");
        const isRefused = isSettled(error);
        const isFinal = isRefused || isPosternError(error, "timeout") ||
          isPosternError(error, "name_not_found");
        const isOver = !this.#isSynced && (isFinal || failures >= mostAttempts);
        if (isRefused || isOver) this.#become("failing");
        if (isOver && this.#watched.persists !== true) {
          this.#synced.reject(error);
          throw error;
        }
        if (isRefused && failures >= mostAttempts) {
          await this.#pause(refusedPause, signal);
          continue;
        }
      }
      const ms = backoff(Math.max(0, failures - 1), { first: firstPause, most: longestPause });
      await this.#pause(Math.max(this.#asked, ms * (0.5 + this.#parts.random())), signal);
      this.#asked = 0;
    }
  }

  /** Ends a pause, because a caller needs the objects now. */
  hurry(): void {
    this.#hurry?.();
  }

  /** Resumes on a new connection, because a dead connection would go unnoticed for long. */
  renew(): void {
    this.#renew?.();
    this.#hurry?.();
  }

  status(): WatchStatus {
    const { resourceVersion, objects } = this.#state;
    return {
      namespace: this.#watched.namespace ?? "*",
      resource: this.#watched.resource,
      state: this.#phase,
      since: this.#since.toISOString(),
      objects,
      ...(resourceVersion !== undefined && { resourceVersion }),
      relists: this.#relists,
      ...(this.#error !== undefined && { lastError: describe(this.#error) }),
    };
  }

  async #renewable(signal: AbortSignal): Promise<void> {
    const own = new AbortController();
    using _stop = whenAborted(signal, () => own.abort(signal.reason));
    const renewed = new Error("resumed on a new connection");
    this.#renew = () => own.abort(renewed);
    try {
      await this.#once(own.signal);
    } catch (error) {
      if (error !== renewed) throw error;
    } finally {
      this.#renew = undefined;
    }
  }

  /** Runs one list, or one watch from start to end. */
  async #once(signal: AbortSignal): Promise<void> {
    if (this.#state.resourceVersion !== undefined) return await this.#follow(signal, false);
    if (this.#isSynced) this.#relists++;
    this.#state.beginList();
    if (this.#takesWatchList) return await this.#follow(signal, true);
    await this.#list(signal);
  }

  /** Lists in pages, for servers that cannot start a watch with a list. */
  async #list(signal: AbortSignal): Promise<void> {
    let next: string | undefined;
    do {
      const path = listPath(this.#watched, next);
      const { status, body } = await this.#parts.api.request({ path }, { signal });
      const text = new TextDecoder().decode(body);
      if (status === 410) throw this.#lost();
      if (status < 200 || status > 299) throw this.#refused("list", status, text);
      next = this.#state.page(jsonBody(text, "Cannot read the list"));
    } while (next !== undefined);
    this.#hasListed();
  }

  async #follow(signal: AbortSignal, isInitial: boolean): Promise<void> {
    const seconds = shortestLife + Math.floor(moreLife * this.#parts.random());
    const own = new AbortController();
    using _pass = whenAborted(signal, () => own.abort(signal.reason));
    const from = this.#state.resourceVersion;
    const path = watchPath(this.#watched, { seconds, from });
    await using stream = await this.#parts.api.stream({ path, silence: patience }, { signal: own.signal });
    if (!stream.read) {
      if (isInitial && (stream.status === 400 || stream.status === 422)) {
        this.#takesWatchList = false;
        return;
      }
      if (stream.status === 410 && isInitial) throw this.#lost();
      if (stream.status === 410) return this.#state.beginList();
      // An overloaded server says when to retry; a caller that needs the objects sooner can hurry.
      const seconds = /^[0-9]{1,4}$/.exec(stream.fields.get("retry-after") ?? "")?.[0] ?? 0;
      this.#asked = Math.min(refusedPause, Number(seconds) * 1000);
      throw this.#refused("watch", stream.status, stream.text);
    }
    this.#heard();
    if (!isInitial) this.#become("watching");
    const lines = new KubeLines();
    const read = async () => {
      using _timer = this.#state.resourceVersion === undefined ? this.#listingTimer(own) : undefined;
      return await stream.read();
    };
    for (let bytes = await read(); bytes; bytes = await read()) {
      this.#heard();
      if (this.#takeEvents(lines.push(bytes))) continue;
      if (isInitial) throw this.#lost();
      return;
    }
    if (this.#state.resourceVersion === undefined) {
      throw new PosternError(
        "unreachable",
        `Cannot list ${this.#what}: the watch ended before the list was complete`,
      );
    }
  }

  /** If the server stalls in a watch list, it may still support pages. */
  #listingTimer(own: AbortController): Disposable {
    return limitTime(this.#parts.clock, listingPatience, () => {
      this.#takesWatchList = false;
      own.abort(this.#lost());
    });
  }

  /** False if the watch must be restarted. */
  #takeEvents(events: readonly unknown[]): boolean {
    let hasChanged = false;
    try {
      for (const event of events) {
        const step = this.#state.event(event);
        if (step === "gone") {
          this.#state.beginList();
          return false;
        }
        if (typeof step === "object") throw this.#refused("watch", step.status, step.text);
        if (step === "listed") this.#hasListed();
        hasChanged ||= step !== "same";
      }
      return true;
    } finally {
      if (hasChanged && this.#isSynced) this.#watched.onChange();
    }
  }

  #hasListed(): void {
    this.#become("watching");
    this.#isSynced = true;
    this.#synced.resolve();
    this.#watched.onChange();
  }

  #heard(): void {
    this.#lastHeard = this.#parts.clock.now();
  }

  #become(phase: WatchStatus["state"]): void {
    if (phase === "watching") this.#error = undefined;
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#since = this.#parts.clock.date();
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { promise: until, resolve } = Promise.withResolvers<void>();
    this.#hurry = resolve;
    try {
      await pause(this.#parts.clock, ms, { signal, until });
    } finally {
      this.#hurry = undefined;
    }
  }

  get #what(): string {
    return subjectText(this.#watched);
  }

  /** The version of an unfinished list has expired: start again after a pause. */
  #lost(): PosternError {
    return new PosternError(
      "unreachable",
      `Cannot list ${this.#what}: the version of the list has expired`,
    );
  }

  #refused(verb: string, status: number, text: string): PosternError {
    return refusalError({ status, text, what: `${verb} ${this.#what}`, cluster: this.#parts.api.name });
  }
}

/** Whether only an operator can fix the error. */
function isSettled(error: unknown): boolean {
  if (!(error instanceof PosternError)) return false;
  return ["not_allowed", "auth", "config"].includes(error.code) || error.detail === "sign_in";
}
