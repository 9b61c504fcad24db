import { isMapping, maskedUrl, parseListenAddress, type Path } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type ListenerKind, listenerKinds } from "../listeners/mod.ts";
import { parsePattern } from "../routing/mod.ts";
import { transportKinds } from "../transports/mod.ts";

/** What the command line changes in the configuration. */
export interface Overrides {
  readonly listen?: readonly string[];
  readonly listenSocks?: readonly string[];
  readonly listenHttp?: readonly string[];
  readonly listenUnix?: readonly string[];
  readonly listenDns?: readonly string[];
  /** `PATTERN=TRANSPORT`, the transport by its name or in place: `any=proxy:http://127.0.0.1:3128`. */
  readonly routes?: readonly string[];
  readonly allowOpen?: boolean;
  /** A mapping of kharon, suffix to jump host, in the place of the catalogues. */
  readonly mappingFile?: string | undefined;
  /** A cluster by the name of its context, the current one where that is empty: its names and addresses go there. */
  readonly kubernetes?: string | undefined;
  /** The kubeconfig and the usual namespace of the clusters that the command line names. */
  readonly kubeconfig?: string;
  readonly namespace?: string | undefined;
}

type Raw = Readonly<Record<string, unknown>>;

/** A configuration with the command line's changes in it. */
export interface Overridden {
  readonly value: unknown;
  /** Those that it made. */
  readonly transports: readonly string[];
  /** How many routes are the file's own. */
  readonly fileRoutes: number;
  /** The option that put the value at a path there; undefined for what the file says. */
  optionAt(path: Path): string | undefined;
}

/**
 * Puts the command line's changes into a configuration, before anything is checked. Its routes come after those of
 * the file, so that the file's keep their places for messages.
 */
export function overridden(value: unknown, overrides: Overrides): Overridden {
  if (!isMapping(value)) return { value, transports: [], fileRoutes: Infinity, optionAt: () => undefined };
  const routes = Array.isArray(value.routes) ? value.routes : [];
  const added = routesOf(overrides, isMapping(value.transports) ? value.transports : {});
  const listeners = listenersOf(overrides);
  const listen = listenOf(value.listen, listeners, overrides);
  return {
    transports: Object.keys(added.transports),
    value: {
      ...value,
      ...(listen !== undefined && { listen }),
      ...(added.routes.length > 0 && {
        routes: [...routes, ...added.routes],
        transports: { ...(isMapping(value.transports) ? value.transports : {}), ...added.transports },
      }),
    },
    fileRoutes: routes.length,
    optionAt([part, key]) {
      if (part === "routes" && Number(key) >= routes.length) {
        return added.routes[Number(key) - routes.length]?.to === clusterPatterns ? "--kubernetes" : "--route";
      }
      if (part === "transports" && Object.hasOwn(added.transports, String(key))) {
        return added.ofCluster === key ? "--kubernetes" : "--route";
      }
      return part === "listen" ? listeners.find(({ kind }) => kind === key)?.option : undefined;
    },
  };
}

interface NamedListener {
  readonly kind: ListenerKind | "dns";
  readonly option: string;
  readonly addresses: readonly string[];
}

function listenersOf({ listen, listenSocks, listenHttp, listenUnix, listenDns }: Overrides): NamedListener[] {
  const named: NamedListener[] = [
    { kind: "mixed", option: "--listen", addresses: listen ?? [] },
    { kind: "socks", option: "--listen-socks", addresses: listenSocks ?? [] },
    { kind: "http", option: "--listen-http", addresses: listenHttp ?? [] },
    { kind: "unix", option: "--listen-unix", addresses: listenUnix ?? [] },
    { kind: "dns", option: "--listen-dns", addresses: listenDns ?? [] },
  ];
  // An address that cannot be read is a mistake in the command, not in the configuration.
  for (const { kind, addresses } of named) if (kind !== "unix") addresses.forEach(parseListenAddress);
  return named.filter(({ addresses }) => addresses.length > 0);
}

function listenOf(listen: unknown, listeners: readonly NamedListener[], { allowOpen }: Overrides): unknown {
  const kept = isMapping(listen) ? listen : {};
  if (listeners.length === 0) return allowOpen ? { ...kept, allowOpen } : listen;
  // Doors named on the command line stand for all doors of the file; who may use them and how much stays. DNS is no
  // door: it stands beside them.
  const isListener = listeners.some(({ kind }) => kind !== "dns");
  const others = Object.entries(kept).filter(([key]) =>
    !isListener || !listenerKinds.some((kind) => kind === key)
  );
  const given = listeners.map(({ kind, addresses }) => [kind, addresses]);
  return { ...Object.fromEntries([...others, ...given]), ...(allowOpen && { allowOpen }) };
}

interface Added {
  readonly routes: readonly { readonly to: string | readonly string[]; readonly via: string }[];
  readonly transports: Readonly<Record<string, unknown>>;
  /** The transport of `--kubernetes`. */
  readonly ofCluster?: string;
}

/** What a cluster is asked for, as `--kubernetes` routes it. */
const clusterPatterns = [".svc", ".cluster.local", "<services>", "<clusterips>"];

function routesOf({ routes: written = [], kubernetes, ...clusters }: Overrides, known: Raw): Added {
  const transports: Record<string, unknown> = {};
  const routes = written.map((text) => {
    // Patterns have no "=" but in front.
    const at = text.indexOf("=", 1);
    if (at < 1 || at === text.length - 1) {
      throw new PosternError("usage", `Cannot read "${maskedUrl(text).slice(0, 200)}" as PATTERN=TRANSPORT`, {
        hint: "write for example --route .corp.example=proxy:http://127.0.0.1:3128",
      });
    }
    const to = text.slice(0, at);
    const parsed = parsePattern(to);
    if ("problem" in parsed) {
      throw new PosternError(
        "usage",
        `Cannot use "${maskedUrl(to).slice(0, 200)}" for --route: it ${parsed.problem}`,
      );
    }
    const way = text.slice(at + 1);
    return { to, via: inPlace(way, { ...known, ...transports }, { made: transports, clusters }) ?? way };
  });
  if (kubernetes === undefined) {
    demandCluster(clusters, transports);
    return { routes, transports };
  }
  const parts = { made: transports, clusters };
  const ofCluster = inPlace(`kubernetes:${kubernetes}`, { ...known, ...transports }, parts);
  if (ofCluster === undefined) throw new PosternError("internal", "There is no transport for clusters");
  return { routes: [...routes, { to: clusterPatterns, via: ofCluster }], transports, ofCluster };
}

/** A kubeconfig for no cluster is a mistake. */
function demandCluster({ kubeconfig, namespace }: Overrides, made: Raw): void {
  if (Object.values(made).some((one) => isMapping(one) && "kubernetes" in one)) return;
  if (kubeconfig === undefined && namespace === undefined) return;
  const option = kubeconfig === undefined ? "--namespace" : "--kubeconfig";
  throw new PosternError("usage", `Cannot use ${option} without a cluster`, {
    hint: "add --kubernetes, or a route such as --route .svc=kubernetes:CONTEXT",
  });
}

/** The name of a transport made for `KIND:VALUE`; undefined for a plain name. */
function inPlace(
  way: string,
  taken: Raw,
  { made, clusters }: { readonly made: Record<string, unknown>; readonly clusters: Overrides },
): string | undefined {
  const colon = way.indexOf(":");
  const kind = transportKinds.find(({ type }) => type === way.slice(0, colon))?.type;
  if (colon < 0 || kind === undefined) return undefined;
  const settings = settingsOf(kind, way.slice(colon + 1), clusters);
  // Two routes to one cluster are one transport: its watches and sessions are worth sharing.
  const same = Object.entries(made).find(([, one]) =>
    JSON.stringify(one) === JSON.stringify({ [kind]: settings })
  );
  if (same && kind === "kubernetes") return same[0];
  let count = 1;
  while (Object.hasOwn(taken, `${kind}${count}`)) count++;
  made[`${kind}${count}`] = { [kind]: settings };
  return `${kind}${count}`;
}

function settingsOf(kind: string, value: string, { kubeconfig, namespace }: Overrides): unknown {
  if (kind === "proxy") return { url: value };
  if (kind !== "kubernetes") return value;
  return {
    ...(value !== "" && { context: value }),
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(namespace !== undefined && { namespace }),
  };
}
