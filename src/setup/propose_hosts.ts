import { formatIp, isLoopback, isLoopbackHost, parseIPv4, type Target } from "../words/mod.ts";
import { exampleOf, type SshHost, type SshSurvey, type SshSurveyEntry } from "../ssh/mod.ts";
import {
  type Existing,
  isDecided,
  namesText,
  type ProposedRoute,
  type ProposedTransport,
  rulesOf,
  type TransportNames,
} from "./proposal.ts";
import { isTooBroad } from "./shared_domains.ts";

export interface HostProposal {
  readonly transports: readonly ProposedTransport[];
  readonly routes: readonly ProposedRoute[];
  readonly notes: readonly string[];
}

/** A host or a pattern of the ssh configuration that ssh reaches through a jump host. */
interface Behind {
  /** A host name, an address, or a pattern with wildcards. */
  readonly text: string;
  /** As the user names it. */
  readonly name: string;
  readonly port: number;
  readonly place: string;
}

/** A host that looks like a jump host, with the evidence. */
interface Jump {
  readonly alias: string;
  readonly host: SshHost | undefined;
  readonly behind: Behind[];
  /** The targets of its LocalForward lines. */
  readonly forwards: { readonly target: Target; readonly place: string }[];
  /** Why it looks like one although nothing is known behind it. */
  hint: string | undefined;
  /** The jump host before it that only this use needs. */
  after: string | undefined;
}

const jumpName =
  /(?:^|[-_.0-9])(?:bastion|jump(?:host|box|server|station)?|jmp|gw|gateway|hop|dmz)(?:[-_.0-9]|$)/i;

/** A transport for each jump host of the ssh configuration, with routes for the hosts behind it. */
export function proposeHosts(
  { entries, hosts, notes: before }: SshSurvey,
  existing: Existing,
  names: TransportNames,
  shown: (file: string) => string,
): HostProposal {
  const notes = before.map(shown);
  const jumps = new Jumps(hosts, notes);
  for (const entry of entries) {
    const place = `${shown(entry.file)}:${entry.line}`;
    for (const pattern of entry.patterns) jumps.look(pattern, place);
    jumps.lookAtForwards(entry, { place, file: shown(entry.file) });
  }
  const transports: ProposedTransport[] = [];
  const routes: ProposedRoute[] = [];
  const known = new Map(
    Object.entries(existing.transports).flatMap(([name, { kind, settings }]) =>
      kind === "ssh" && typeof settings === "string" ? [[settings, name]] : []
    ),
  );
  const used = jumps.all.filter((jump) =>
    jump.behind.length + jump.forwards.length > 0 || jump.hint !== undefined
  );
  for (const { alias } of used) if (!known.has(alias)) known.set(alias, names.free(alias));
  for (const jump of used) {
    const name = known.get(jump.alias) ?? jump.alias;
    const isNew = !Object.hasOwn(existing.transports, name);
    const found = routesThrough(jump, { hosts, jumps, name });
    if (isNew) {
      const via = jump.after === undefined ? undefined : known.get(jump.after);
      const count = new Set(jump.behind.map((one) => one.name)).size;
      const evidence = [
        ...count > 0
          ? [
            `ProxyJump of ${namesText([...new Set(jump.behind.map(({ name }) => name))])} (${
              jump.behind[0]?.place
            })`,
          ]
          : [],
        ...jump.forwards.length > 0 ? [`LocalForward in ${jump.forwards[0]?.place}`] : [],
        ...count + jump.forwards.length === 0 && jump.hint !== undefined ? [jump.hint] : [],
      ];
      transports.push({
        kind: "ssh",
        name,
        settings: jump.alias,
        ...(via !== undefined && { via }),
        reason: evidence.join("; "),
      });
    }
    for (const route of found) {
      if (route.isGuess && !isNew) continue;
      const to = route.to.filter((text) => !isDecided(text, existing.rules));
      if (to.length > 0) routes.push({ ...route, to });
    }
  }
  return { transports, routes: withoutRepeats(routes, notes), notes: [...new Set(notes)] };
}

/** Collects the jump hosts and the hosts behind them. */
class Jumps {
  readonly #byAlias = new Map<string, Jump>();
  readonly #hosts: ReadonlyMap<string, SshHost>;
  readonly #notes: string[];

  constructor(hosts: ReadonlyMap<string, SshHost>, notes: string[]) {
    this.#hosts = hosts;
    this.#notes = notes;
  }

  get all(): readonly Jump[] {
    return [...this.#byAlias.values()];
  }

  has(alias: string): boolean {
    return this.#byAlias.has(alias);
  }

  /** The jump host that a host is reached through. */
  of(host: SshHost): string | undefined {
    return host.jumps.at(-1)?.host;
  }

  look(pattern: string, place: string): void {
    const host = this.#hosts.get(exampleOf(pattern));
    if (!host) return;
    const isPattern = /[*?]/.test(pattern);
    const last = host.jumps.at(-1);
    if (!last) {
      if (!isPattern && jumpName.test(pattern)) this.#hint(pattern, `The name of Host ${pattern} (${place})`);
      return;
    }
    if (/^[*?]*$/.test(pattern)) {
      this.#notes.push(`${place}: Host ${pattern}: postern does not propose ${last.host} for every host`);
      return;
    }
    const jump = this.#through(host, place);
    if (!jump) return;
    const text = isPattern ? pattern : host.hostName;
    // There it is the jump host itself, here it is this machine.
    if (isLoopbackHost(text)) return;
    // `Host db* *.corp` may list the same host twice.
    if (jump.behind.some((one) => one.text === text)) return;
    jump.behind.push({ text, name: pattern, port: host.port, place });
  }

  lookAtForwards(
    { patterns, forwards, dynamicForward }: SshSurveyEntry,
    { place, file }: { readonly place: string; readonly file: string },
  ): void {
    const alias = patterns.find((pattern) => !/[*?!]/.test(pattern));
    if (alias === undefined || !this.#hosts.has(alias)) return;
    for (const { target, line } of forwards) {
      if (isLoopbackHost(target.host)) continue;
      this.#jump(alias).forwards.push({ target, place: `${file}:${line}` });
    }
    if (dynamicForward !== undefined) {
      this.#hint(alias, `DynamicForward of Host ${alias} (${file}:${dynamicForward})`);
    } else if (forwards.length > 0 && this.#byAlias.has(alias)) {
      this.#hint(alias, `LocalForward of Host ${alias} (${place})`);
    }
  }

  /** The jump host before a host; undefined if the configuration cannot express it. */
  #through({ jumps }: SshHost, place: string): Jump | undefined {
    const unnamed = jumps.find(({ host, user, port }) => {
      const known = this.#hosts.get(host);
      return (user !== undefined && user !== known?.user) ||
        (port !== undefined && port !== (known?.port ?? 22));
    });
    if (unnamed) {
      this.#notes.push(
        `${place}: ProxyJump sets the user or port of ${unnamed.host}: add a Host for it, then run setup again`,
      );
      return undefined;
    }
    const [last, before, ...more] = [...jumps].reverse().map(({ host }) => host);
    if (last === undefined) return undefined;
    const own = this.#hosts.get(last)?.jumps.at(-1)?.host;
    if (before !== undefined && own !== before) {
      if (own !== undefined || more.length > 0 || (this.#byAlias.get(last)?.after ?? before) !== before) {
        this.#notes.push(`${place}: add ProxyJump ${before} to Host ${last}, then run setup again`);
        return undefined;
      }
      this.#hint(before, `ProxyJump before ${last} (${place})`);
      const jump = this.#jump(last);
      jump.after = before;
      return jump;
    }
    return this.#jump(last);
  }

  #hint(alias: string, hint: string): void {
    this.#jump(alias).hint ??= hint;
  }

  #jump(alias: string): Jump {
    const found = this.#byAlias.get(alias);
    if (found) return found;
    const made: Jump = {
      alias,
      host: this.#hosts.get(alias),
      behind: [],
      forwards: [],
      hint: undefined,
      after: undefined,
    };
    this.#byAlias.set(alias, made);
    return made;
  }
}

interface Through {
  readonly hosts: ReadonlyMap<string, SshHost>;
  readonly jumps: Jumps;
  /** The name of the transport. */
  readonly name: string;
}

/** The routes for what is behind a jump host: domains, networks, and single hosts. */
function routesThrough(jump: Jump, { hosts, jumps, name: via }: Through): ProposedRoute[] {
  const routes: ProposedRoute[] = [];
  const add = (route: Omit<ProposedRoute, "via">) => void routes.push({ ...route, via });
  for (const { text, name, place } of jump.behind.filter(({ text }) => /[*?]/.test(text))) {
    const pattern = patternOf(text);
    if (pattern !== undefined) add({ to: [pattern], reason: `Host ${name} (${place})` });
  }
  const broad = rulesOf(routes);
  const single = jump.behind.filter(({ text }) => !/[*?]/.test(text) && !isDecided(exactly(text), broad));
  // A domain with hosts that ssh reaches in another way is not behind this jump host.
  const elsewhere = [...hosts.values()].filter((host) =>
    jumps.of(host) !== jump.alias && !jumps.has(host.alias) && !host.alias.includes(exampleOf("*"))
  ).map(({ hostName }) => hostName);
  const groups = Map.groupBy(single, ({ text }) => groupOf(text) ?? `=${text}`);
  for (const [group, members] of groups) {
    const [first] = members;
    if (!first) continue;
    const isShared = members.length > 1 && !group.startsWith("=") &&
      !elsewhere.some((host) => groupOf(host) === group || isBelow(host, group));
    const reason = `${namesText(members.map(({ name }) => name))} (${first.place})`;
    add({
      to: isShared ? [group] : members.map(({ text }) => exactly(text)),
      reason,
      example: { host: first.text, port: first.port },
    });
  }
  for (const { target, place } of jump.forwards) {
    const to = exactly(target.host);
    if (isDecided(to, rulesOf(routes))) continue;
    add({ to: [to], reason: `LocalForward in ${place}`, example: target });
  }
  const domain = jump.host && groupOf(jump.host.hostName);
  if (routes.length === 0 && domain?.startsWith(".")) {
    add({
      to: [domain],
      isGuess: true,
      reason:
        `Only a guess, from HostName ${jump.host?.hostName}. If this domain is behind the host, remove the #`,
    });
  }
  return routes;
}

/** The domain or network that a host shares with others; undefined if there is none to generalize to. */
function groupOf(host: string): string | undefined {
  const address = parseIPv4(host);
  if (address) return isPrivate(address) ? `${formatIp(address.with(3, 0))}/24` : undefined;
  if (host.includes(":")) return undefined;
  const parent = host.toLowerCase().split(".").slice(1).join(".");
  return isTooBroad(parent) ? undefined : `.${parent}`;
}

function isBelow(host: string, domain: string): boolean {
  return domain.startsWith(".") && host.toLowerCase().endsWith(domain);
}

function isPrivate([one = 0, two = 0]: Uint8Array): boolean {
  return one === 10 || (one === 172 && two >= 16 && two < 32) || (one === 192 && two === 168);
}

/** The pattern of a single host. */
function exactly(host: string): string {
  return parseIPv4(host) || host.includes(":") ? host : `=${host.toLowerCase()}`;
}

/** The pattern that means the same as one of ssh; undefined if there is none, or it is too broad. */
function patternOf(text: string): string | undefined {
  const network = /^((?:[0-9]{1,3}\.){1,3})\*(?:\.\*)*$/.exec(text)?.[1];
  if (network !== undefined) {
    const bytes = network.split(".").filter((part) => part !== "").map(Number);
    const bits = bytes.length * 8;
    const address = Uint8Array.from([...bytes, 0, 0, 0].slice(0, 4));
    const isUsable = bytes.every((byte) => byte <= 255) && !isLoopback(address) && bytes[0] !== 0;
    return isUsable ? `${formatIp(address)}/${bits}` : undefined;
  }
  const domain = /^\*\.([^*?]+)$/.exec(text)?.[1]?.toLowerCase();
  // The user wrote the domain, so a private one of a single label is fine.
  if (domain !== undefined && isLoopbackHost(domain)) return undefined;
  return domain === undefined || isTooBroad(domain, { isWritten: true }) ? undefined : `.${domain}`;
}

/** Keeps the first of two jump hosts that reach a target, with a note about the other. */
function withoutRepeats(routes: readonly ProposedRoute[], notes: string[]): ProposedRoute[] {
  const owners = new Map<string, string>();
  return routes.flatMap((route) => {
    const to = route.to.filter((text) => {
      const owner = owners.get(text);
      if (owner === undefined) owners.set(text, route.via);
      else if (owner !== route.via) {
        notes.push(`${text}: both ${owner} and ${route.via} reach it; postern uses ${owner}`);
      }
      return owner === undefined;
    });
    return to.length === 0 ? [] : [{ ...route, to }];
  });
}
