import { type Clock, Counter, type Log, type Metric } from "../../core/mod.ts";
import { describe, PosternError, type Target } from "../../words/mod.ts";
import type { UdpInfo } from "../../control/mod.ts";
import { listenerKinds, type ListenerSettings, type OpenDatagramRelay } from "../../listeners/mod.ts";
import { allowedBy, listenOf, type Plan, type Transports } from "../../plan/mod.ts";
import type { ConnectionTable } from "../dials/connection_table.ts";
import type { Dials } from "../dials/dials.ts";
import type { DnsHelper } from "../dns/dns_helper.ts";
import { notAllowed } from "../dials/dials.ts";
import { UdpRelay } from "./udp_relay.ts";

export interface UdpRelaysParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly connections: ConnectionTable;
  readonly dials: Dials;
  readonly dns: DnsHelper;
  readonly transports: Transports;
}

/** The UDP relays of an instance's SOCKS5 clients. */
export class UdpRelays {
  readonly parts: UdpRelaysParts;
  readonly #dropped = new Counter(
    "postern_udp_dropped_total",
    "UDP datagrams of SOCKS5 clients that were not relayed.",
    ["transport", "reason"],
  );
  #count = 0;
  #total = 0;
  #refused = 0;
  #lastRefusal: string | undefined;

  constructor(parts: UdpRelaysParts) {
    this.parts = parts;
  }

  /** Opens relays for the clients of a listener. */
  relayOf(listener: ListenerSettings): OpenDatagramRelay {
    return async (request, reply) => {
      const { transports: { plan, deps: { network } } } = this.parts;
      const { associations } = plan.limits;
      if (this.#count >= associations) {
        throw new PosternError("internal", `Cannot relay UDP for another client: ${associations} use it`, {
          detail: "overloaded",
          hint: "raise listen.limits.associations",
        });
      }
      this.#count++;
      try {
        const socket = await network.datagrams({ host: request.host, port: 0 });
        const relay = new UdpRelay(this, { request, reply, socket, listener, closed: () => this.#count-- });
        this.#total++;
        return relay;
      } catch (error) {
        this.#count--;
        throw error;
      }
    };
  }

  /** Counts a datagram that was not relayed. */
  dropped(transport: string, reason: string): void {
    this.#dropped.add(1, transport, reason);
  }

  /** Counts a datagram that its route does not carry. */
  refused(transport: string, error: PosternError): void {
    this.#refused++;
    this.#lastRefusal = describe(error);
    this.dropped(transport, error.code);
  }

  /** The UDP part of `postern status`; undefined while it is off and unused. */
  info(): UdpInfo | undefined {
    if (!listenOf(this.parts.transports.plan.config.settings).udp && this.#total === 0) return undefined;
    const lastRefusal = this.#lastRefusal;
    return {
      associations: this.#count,
      refused: this.#refused,
      ...(lastRefusal !== undefined && { lastRefusal }),
    };
  }

  collect(): Metric[] {
    if (this.info() === undefined) return [];
    return [this.#dropped.metric(), {
      kind: "gauge",
      name: "postern_udp_associations",
      help: "SOCKS5 clients whose UDP is relayed.",
      samples: [{ labels: {}, value: this.#count }],
    }];
  }

  /** Throws if a plan does not allow a target to the clients of a listener. */
  demandAllowed(target: Target, listener: ListenerSettings, plan: Plan): void {
    const settings = listenOf(plan.config.settings);
    if (!settings.udp) {
      throw new PosternError("not_allowed", "Cannot relay UDP: listen.udp was turned off");
    }
    // A reload may have changed the targets of the listener.
    const current = listenerKinds.flatMap((kind) => settings[kind] ?? [])
      .find(({ address }) => address.text === listener.address.text) ?? listener;
    if (allowedBy(current)?.(target) === false) throw notAllowed(target);
  }
}
