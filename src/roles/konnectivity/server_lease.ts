import { backoff, type Clock, type Log, pause, within } from "../../core/mod.ts";
import { describe, isPosternError, PosternError } from "../../words/mod.ts";
import type { Lease, Leases } from "../../kube/mod.ts";

export interface ServerLeaseOptions {
  readonly leases: Leases;
  readonly clock: Clock;
  readonly log: Log;
  readonly serverId: string;
  /** The labels by which agents find servers' Leases. */
  readonly labels: Readonly<Record<string, string>>;
  readonly random: () => number;
}

/** In s and ms, like upstream: its agents and servers judge our Lease by these times. */
const seconds = 30;
const renewEvery = 15_000;
const firstPause = 1000;
const mostWrites = 3;

/** Renews this server's Lease, which agents count, and deletes expired Leases of other servers. */
export class ServerLease {
  readonly #options: ServerLeaseOptions;
  readonly #name: string;
  #lease: Lease | undefined;
  #culled = 0;

  constructor(options: ServerLeaseOptions) {
    this.#options = options;
    this.#name = `konnectivity-proxy-server-${options.serverId}`;
  }

  /** The number of expired Leases deleted. */
  get culled(): number {
    return this.#culled;
  }

  /** Renews the Lease until the signal aborts; retries sooner after a failure. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { clock, log, random } = this.#options;
    for (let failures = 0;;) {
      try {
        await this.#renew(signal);
        if (failures > 0) log.info("lease.renewed", { lease: this.#name });
        failures = 0;
        await this.#cull(signal);
      } catch (error) {
        signal.throwIfAborted();
        failures++;
        log.warn("lease.failed", { lease: this.#name, reason: describe(error) });
      }
      const wait = failures === 0
        ? renewEvery
        : backoff(failures - 1, { first: firstPause, most: renewEvery });
      await pause(clock, wait * (1 + 0.04 * random()), { signal });
    }
  }

  /** Deletes the Lease, so that agents expect one server less. */
  async remove(): Promise<void> {
    const { leases, clock, log } = this.#options;
    const late = () => new PosternError("timeout", "Cannot delete the Lease: timeout");
    const { signal } = new AbortController();
    try {
      const work = (signal: AbortSignal) => leases.remove(this.#name, { signal });
      await within({ clock, ms: 5000, signal, error: late }, work);
    } catch (error) {
      // The Lease expires soon anyway.
      log.warn("lease.left", { lease: this.#name, reason: describe(error) });
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { leases, clock, labels, serverId: holder } = this.#options;
    for (let writes = 0; writes < mostWrites; writes++) {
      const now = clock.date();
      const before = this.#lease ?? await leases.read(this.#name, { signal });
      const changes = { holder, seconds, labels, renewed: now };
      this.#lease = before
        ? await leases.update(before, { ...changes, labels: { ...before.labels, ...labels } }, { signal })
        : await leases.create(this.#name, { ...changes, acquired: undefined, transitions: 0 }, { signal });
      if (this.#lease) return;
    }
    throw new PosternError(
      "refused",
      `Cannot renew the Lease "${this.#name}": other clients keep changing it`,
    );
  }

  /** Deletes a Lease only in the version it was read, so that renewed ones stay. */
  async #cull(signal: AbortSignal): Promise<void> {
    const { leases, clock, labels, log } = this.#options;
    for (const lease of await leases.listExpired(selectorOf(labels), clock.date(), { signal })) {
      if (lease.name === this.#name) continue;
      try {
        if (!await leases.remove(lease, { signal })) continue;
      } catch (error) {
        if (!isPosternError(error, "not_allowed")) throw error;
        log.warn("lease.stays", { lease: lease.name, reason: describe(error) });
        continue;
      }
      this.#culled++;
      log.info("lease.culled", { lease: lease.name, holder: lease.holder });
    }
  }
}

/** Parses `a=b,c=d` as labels; throws `usage` for other texts. */
export function parseLabels(text: string): Readonly<Record<string, string>> {
  const labels = text.split(",").map((part) => /^\s*([\w./-]+)\s*=\s*([\w.-]*)\s*$/.exec(part));
  if (text.trim() === "" || labels.some((label) => !label)) {
    throw new PosternError("usage", `Cannot read ${JSON.stringify(text)} as labels`, {
      hint: "write them as k8s-app=konnectivity-server,other=value",
    });
  }
  return Object.fromEntries(labels.map((label) => [label?.[1] ?? "", label?.[2] ?? ""]));
}

/** Formats labels as an API selector. */
export function selectorOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels).map(([name, is]) => `${name}=${is}`).join(",");
}
