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
  /** From 0 to below 1: pauses and the lives of watches differ, lest all come at once. */
  readonly random: () => number;
}

export interface Watched extends WatchSubject {
  readonly sink: WatchSink;
  /** Called after events that changed the sink. */
  readonly onChange: () => void;
  /** Goes on trying where the first list cannot be had: for those who have nothing to do without it. */
  readonly persists?: boolean;
}

/** How long a watch is asked to last, in seconds. */
const shortestLife = 240;
const moreLife = 60;
/** A server says something once a minute (`defaultBookmarkFrequency`): one that had not a word for so long is gone. */
const patience = 90_000;
/** How long nothing may come while a list is on its way, in ms. */
const listingPatience = 10_000;
/** How often the first list is tried before whoever waits for it is told why there is none. */
const mostAttempts = 3;
const firstPause = 250;
const longestPause = 5_000;
/**
 * The pause after `mostAttempts` refusals, in ms: a missing right, a failed sign-in or a missing program lasts until
 * someone mends it. An API server that starts refuses everything for a moment, so the first refusals are retried sooner.
 */
const refusedPause = 30_000;

/** Holds one kind of objects by a list and a watch, for as long as it runs. */
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
  /** How long the server asked us to wait, in ms. */
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

  /** Settles with the first whole list, or with why there is none. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Runs until the signal ends, or the first list cannot be had and it does not persist. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    try {
      await this.#run(signal);
    } finally {
      // Whoever waits for what does not come any more must hear of it.
      this.#synced.reject(new PosternError("cancelled", `Cannot list ${this.#what}: it was given up`));
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
        // One that broke after a while is no sign of trouble.
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

  /** Somebody needs it now: a pause ends at once. */
  hurry(): void {
    this.#hurry?.();
  }

  /** Resumes on a new connection: the one it has may be dead, and nobody would know for long. */
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

  /** One list, or one life of a watch. */
  async #once(signal: AbortSignal): Promise<void> {
    if (this.#state.resourceVersion !== undefined) return await this.#follow(signal, false);
    if (this.#isSynced) this.#relists++;
    this.#state.beginList();
    if (this.#takesWatchList) return await this.#follow(signal, true);
    await this.#list(signal);
  }

  /** The list in pages, for servers that do not begin a watch with it. */
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
      // A server that is overrun says when to come back; who needs it sooner may hurry.
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
      throw new PosternError("unreachable", `Cannot list ${this.#what}: the watch ended before all had come`);
    }
  }

  /** A server that begins a list and does not go on with it may still have pages. */
  #listingTimer(own: AbortController): Disposable {
    return limitTime(this.#parts.clock, listingPatience, () => {
      this.#takesWatchList = false;
      own.abort(this.#lost());
    });
  }

  /** False when the watch is of no use any more. */
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

  /** The version of a list that is still coming is no longer known: begin again, after a pause. */
  #lost(): PosternError {
    return new PosternError(
      "unreachable",
      `Cannot list ${this.#what}: the server lost its place in the list`,
    );
  }

  #refused(verb: string, status: number, text: string): PosternError {
    return refusalError({ status, text, what: `${verb} ${this.#what}`, cluster: this.#parts.api.name });
  }
}

/** Whether only a person can change what is wrong. */
function isSettled(error: unknown): boolean {
  if (!(error instanceof PosternError)) return false;
  return ["not_allowed", "auth", "config"].includes(error.code) || error.detail === "sign_in";
}
