import { isMapping, maskedUrl, parseListenAddress, type Path } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type ListenerKind, listenerKinds, type WrittenForward } from "../listeners/mod.ts";
import { parsePattern } from "../routing/mod.ts";
import { transportKinds } from "../transports/mod.ts";

/** The changes to the configuration from the command line. */
export interface Overrides {
  readonly listen?: readonly string[];
  readonly listenSocks?: readonly string[];
  readonly listenHttp?: readonly string[];
  readonly listenUnix?: readonly string[];
  readonly listenDns?: readonly string[];
  /** Forwards in addition to those of the file. */
  readonly forwards?: readonly WrittenForward[];
  /** `PATTERN=TRANSPORT`, with a transport's name or definition: `any=proxy:http://127.0.0.1:3128`. */
  readonly routes?: readonly string[];
  readonly allowOpen?: boolean;
  /** A mapping of kharon, from suffix to jump host, instead of the catalogues. */
  readonly mappingFile?: string | undefined;
  /** Routes a cluster's names and addresses to the context of this name; empty for the current context. */
  readonly kubernetes?: string | undefined;
  /** The kubeconfig and the default namespace of the command line's clusters. */
  readonly kubeconfig?: string;
  readonly namespace?: string | undefined;
}

type Raw = Readonly<Record<string, unknown>>;

/** A configuration after the command line's changes. */
export interface Overridden {
  readonly value: unknown;
  /** The transports that the command line created. */
  readonly transports: readonly string[];
  readonly fileRoutes: number;
  /** Returns the option that set the value at a path; undefined for values from the file. */
  optionAt(path: Path): string | undefined;
}

/**
 * Applies the command line's changes to a configuration before any check. Its routes are appended, so that
 * the file's routes keep their paths in messages.
 */
export function overridden(value: unknown, overrides: Overrides): Overridden {
  if (!isMapping(value)) return { value, transports: [], fileRoutes: Infinity, optionAt: () => undefined };
  const routes = Array.isArray(value.routes) ? value.routes : [];
  const added = routesOf(overrides, isMapping(value.transports) ? value.transports : {});
  const listeners = listenersOf(overrides);
  const ofFile = forwardsOf(isMapping(value.listen) ? value.listen.forward : undefined);
  const listen = withForwards(listenOf(value.listen, listeners, overrides), ofFile, overrides);
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
    optionAt([part, key, index]) {
      if (part === "routes" && Number(key) >= routes.length) {
        return added.routes[Number(key) - routes.length]?.to === clusterPatterns ? "--kubernetes" : "--route";
      }
      if (part === "transports" && Object.hasOwn(added.transports, String(key))) {
        return added.ofCluster === key ? "--kubernetes" : "--route";
      }
      if (part === "listen" && key === "forward") {
        return overrides.forwards?.length && Number(index) >= (ofFile?.length ?? 0) ? "--forward" : undefined;
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
  // An invalid address is an error in the command, not in the configuration.
  for (const { kind, addresses } of named) if (kind !== "unix") addresses.forEach(parseListenAddress);
  return named.filter(({ addresses }) => addresses.length > 0);
}

function listenOf(listen: unknown, listeners: readonly NamedListener[], { allowOpen }: Overrides): unknown {
  const kept = isMapping(listen) ? listen : {};
  if (listeners.length === 0) return allowOpen ? { ...kept, allowOpen } : listen;
  // Listeners from the command line replace all listeners of the file, but users and limits stay. A DNS
  // listener does not count: with it alone, the file's listeners stay.
  const isListener = listeners.some(({ kind }) => kind !== "dns");
  const others = Object.entries(kept).filter(([key]) =>
    !isListener || !listenerKinds.some((kind) => kind === key)
  );
  const given = listeners.map(({ kind, addresses }) => [kind, addresses]);
  return { ...Object.fromEntries([...others, ...given]), ...(allowOpen && { allowOpen }) };
}

/** The forwards of a file as a list; undefined for a value that is none, which the schema reports. */
function forwardsOf(written: unknown): readonly unknown[] | undefined {
  if (written === undefined || written === null) return [];
  if (Array.isArray(written)) return written;
  return isMapping(written)
    ? Object.entries(written).map(([listen, target]) => ({ listen, target }))
    : undefined;
}

/** Appends the forwards of the command line, so that those of a list keep their paths in messages. */
function withForwards(
  listen: unknown,
  ofFile: readonly unknown[] | undefined,
  { forwards = [] }: Overrides,
): unknown {
  if (forwards.length === 0 || !ofFile) return listen;
  return { ...(isMapping(listen) ? listen : {}), forward: [...ofFile, ...forwards] };
}

interface Added {
  readonly routes: readonly { readonly to: string | readonly string[]; readonly via: string }[];
  readonly transports: Readonly<Record<string, unknown>>;
  /** The transport of `--kubernetes`. */
  readonly ofCluster?: string;
}

/** The patterns that `--kubernetes` routes to a cluster. */
const clusterPatterns = [".svc", ".cluster.local", "<services>", "<clusterips>"];

function routesOf({ routes: written = [], kubernetes, ...clusters }: Overrides, known: Raw): Added {
  const transports: Record<string, unknown> = {};
  const routes = written.map((text) => {
    // Patterns contain "=" only at the start.
    const at = text.indexOf("=", 1);
    if (at < 1 || at === text.length - 1) {
      const reason = at < 1 ? "missing = after the pattern" : "missing transport after =";
      throw new PosternError(
        "usage",
        `Cannot read "${maskedUrl(text).slice(0, 200)}" as PATTERN=TRANSPORT: ${reason}`,
        { hint: "write, for example, --route .corp.example=proxy:http://127.0.0.1:3128" },
      );
    }
    const to = text.slice(0, at);
    const parsed = parsePattern(to);
    if ("problem" in parsed) {
      throw new PosternError(
        "usage",
        `Cannot use "${maskedUrl(to).slice(0, 200)}" for --route: it ${parsed.problem}`,
      );
    }
    const spec = text.slice(at + 1);
    return { to, via: inPlace(spec, { ...known, ...transports }, { made: transports, clusters }) ?? spec };
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

/** Rejects a kubeconfig or namespace without a cluster. */
function demandCluster({ kubeconfig, namespace, forwards = [] }: Overrides, made: Raw): void {
  if (Object.values(made).some((one) => isMapping(one) && "kubernetes" in one)) return;
  // The namespace may be that of a forward: -L "svc/db 5432" -n shop.
  if (kubeconfig === undefined && (namespace === undefined || forwards.length > 0)) return;
  const option = kubeconfig === undefined ? "--namespace" : "--kubeconfig";
  throw new PosternError("usage", `Cannot use ${option} without a cluster`, {
    hint: "add --kubernetes, or a route such as --route .svc=kubernetes:CONTEXT",
  });
}

/** Returns the name of a transport created for `KIND:VALUE`; undefined for a plain name. */
function inPlace(
  spec: string,
  taken: Raw,
  { made, clusters }: { readonly made: Record<string, unknown>; readonly clusters: Overrides },
): string | undefined {
  const colon = spec.indexOf(":");
  const kind = transportKinds.find(({ type }) => type === spec.slice(0, colon))?.type;
  if (colon < 0 || kind === undefined) return undefined;
  const settings = settingsOf(kind, spec.slice(colon + 1), clusters);
  // Two routes to one cluster use one transport, to share its watches and sessions.
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
