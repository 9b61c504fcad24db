import type { ClientNames, Clock, Deadlines, Dial, Log } from "../../core/mod.ts";
import type {
  Authenticator,
  ListenerDeps,
  ListenerLimits,
  OpenDatagramRelay,
  Pages,
  Serve,
} from "../../listeners/mod.ts";

/** The current settings for the clients of a socket; a reload replaces them while the socket stays bound. */
export class LiveDeps implements ListenerDeps {
  now: { readonly deps: ListenerDeps; readonly serve: Serve };

  constructor(now: { readonly deps: ListenerDeps; readonly serve: Serve }) {
    this.now = now;
  }

  limit(limits: ListenerLimits): void {
    this.now = { ...this.now, deps: { ...this.now.deps, limits } };
  }

  get dial(): Dial {
    return this.now.deps.dial;
  }

  get names(): ClientNames | undefined {
    return this.now.deps.names;
  }

  get datagrams(): OpenDatagramRelay | undefined {
    return this.now.deps.datagrams;
  }

  get generation(): (() => number) | undefined {
    return this.now.deps.generation;
  }

  get clock(): Clock {
    return this.now.deps.clock;
  }

  get log(): Log {
    return this.now.deps.log;
  }

  get deadlines(): Deadlines {
    return this.now.deps.deadlines;
  }

  get limits(): ListenerLimits {
    return this.now.deps.limits;
  }

  get auth(): Authenticator | undefined {
    return this.now.deps.auth;
  }

  get pages(): Pages | undefined {
    return this.now.deps.pages;
  }
}
