import { type ClientNames, type Clock, type DialRequest, within } from "../../core/mod.ts";
import { normalHost, parseIp, parseIPv4, PosternError } from "../../words/mod.ts";
import type { Network } from "../../world/mod.ts";
import type { ListenerSettings } from "../../listeners/mod.ts";
import { allowedHostsBy, transportOf, type Transports } from "../../plan/mod.ts";
import { namedPorts } from "../../routing/mod.ts";
import type { DnsHelper } from "./dns_helper.ts";
import { isHostName } from "./fake_addresses.ts";

export interface ClientNamesParts {
  readonly clock: Clock;
  readonly network: Pick<Network, "lookup" | "nameOf">;
  readonly dns: DnsHelper;
  readonly transports: Transports;
}

type Options = { readonly signal: AbortSignal };

/**
 * Looks up names for the clients of a listener. The system's resolver sees only names that postern would also
 * connect to directly. Every other name gets an address that stands for it.
 */
export class ListenerNames implements ClientNames {
  readonly #parts: ClientNamesParts;
  readonly #allows: ((host: string) => boolean) | undefined;

  constructor(listener: ListenerSettings, parts: ClientNamesParts) {
    this.#parts = parts;
    this.#allows = allowedHostsBy(listener);
  }

  async addressOf({ target: { host } }: DialRequest, options: Options): Promise<string> {
    if (parseIp(host)) return host;
    const name = normalHost(host);
    this.#demandAllowed(name);
    return await this.#inTime(name, options, async (signal) => {
      if (await this.#isDirect(name, signal)) {
        return oneOf(await this.#parts.network.lookup(name, { signal }));
      }
      if (isHostName(name)) return await this.#parts.dns.standIn(name);
      throw new PosternError("name_not_found", `Cannot resolve ${JSON.stringify(name)}: not a host name`);
    });
  }

  async nameOf({ target: { host } }: DialRequest, options: Options): Promise<string> {
    const { dns, network, transports } = this.#parts;
    if (!parseIp(host)) {
      throw new PosternError("protocol", `Cannot find the name of ${host}: not an IP address`, {
        detail: "address_type",
      });
    }
    const { target, by, failure } = dns.meaningOf({ host, port: 0 });
    if (failure) throw failure.error;
    this.#demandAllowed(target.host);
    if (by !== undefined) return target.host;
    return await this.#inTime(host, options, async (signal) => {
      for (const { transport } of transports.plan.transports.byName.values()) {
        const name = transport.names?.nameOf(host);
        if (name !== undefined) return name;
      }
      if (await this.#isDirect(host, signal) && network.nameOf) return await network.nameOf(host, { signal });
      throw new PosternError("name_not_found", `Cannot find the name of ${host}: a rule routes the address`);
    });
  }

  /** Whether every port of a host is reached directly; throws if every port is refused. */
  async #isDirect(host: string, signal: AbortSignal): Promise<boolean> {
    const { transports } = this.#parts;
    const { plan, route } = await transports.routed({ host, port: 0 }, { signal });
    const routes = [{ plan, route }];
    for (const port of namedPorts(plan.router)) {
      const target = { host, port };
      const found = plan.router.route(target);
      const mustLook = transports.tables.needsLook(target, found);
      routes.push(mustLook ? await transports.routed(target, { signal }) : { plan, route: found });
    }
    signal.throwIfAborted();
    const types = routes.map(({ plan, route }) => route.held ? "held" : transportOf(plan, route).type);
    if (types.some((type) => type !== "direct" && type !== "reject" && type !== "held")) return false;
    // A name whose routes are not all known must not leave this machine.
    for (const { route: { held } } of routes) {
      if (held) throw transports.tables.refusal({ host, port: 0 }, held);
    }
    if (types.includes("direct")) return true;
    throw new PosternError("not_allowed", `Cannot resolve ${host}: ${route.because} rejects it`);
  }

  #demandAllowed(host: string): void {
    if (this.#allows?.(host) !== false) return;
    throw new PosternError(
      "not_allowed",
      `Cannot resolve ${host}: this listener does not allow that target`,
      {
        hint: 'use another listener, or add the target to its "only" list',
      },
    );
  }

  async #inTime(
    host: string,
    { signal }: Options,
    work: (signal: AbortSignal) => Promise<string>,
  ): Promise<string> {
    const { clock, transports: { plan: { limits: { dial: ms } } } } = this.#parts;
    const error = () =>
      new PosternError("timeout", `Cannot resolve ${host}: no answer within ${ms / 1000} s`, {
        hint: "raise the timeout: listen.limits.dial",
      });
    return await within({ clock, ms, signal, error }, work);
  }
}

/** Prefers IPv4, as Tor does: a client cannot say which family it wants, and most expect IPv4. */
function oneOf(addresses: readonly string[]): string {
  const address = addresses.find((address) => parseIPv4(address)) ?? addresses[0];
  if (address !== undefined) return address;
  throw new PosternError("name_not_found", "Cannot resolve the name: it has no address");
}
