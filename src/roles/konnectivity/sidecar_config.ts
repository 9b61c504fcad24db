import { formatTarget, parseIp, PosternError, type Target } from "../../words/mod.ts";
import { formatPattern, parsePattern, type Pattern } from "../../routing/mod.ts";
import { cloudDomains, type KonnectivityMode } from "../../konnectivity/mod.ts";
import type { TlsFiles } from "./tls_files.ts";

/** The settings of one of HyperShift's proxies. */
export interface SidecarSettings {
  readonly kind: "socks5" | "https";
  /** The Konnectivity server's frontend. */
  readonly server: Target;
  readonly mode: KonnectivityMode;
  readonly tls: Required<TlsFiles>;
  /** Listen addresses with ports. */
  readonly listen: readonly string[];
  readonly health?: string;
  /** Whether every client that can reach a listener may use it. */
  readonly isOpen: boolean;
  readonly user?: { readonly name: string; readonly passwordFile: string } | undefined;
  /** Kubeconfigs of the guest cluster, merged like kubectl; without them the agent resolves names. */
  readonly kubeconfigs?: readonly string[];
  readonly names: {
    readonly guestDNS: boolean;
    readonly managementDNS: boolean;
    readonly preferIPv4: boolean;
  };
  readonly cloudDirect: boolean;
  /** The guest cluster's proxies, reached through the tunnel. */
  readonly guestProxies: ProxyChoice;
  /** The proxies from this process's environment, for cloud APIs. */
  readonly ownProxies: ProxyChoice;
  /** In ms: how long open connections may last after the first signal. */
  readonly drain: number;
}

/** Proxies as given in environment variables. */
export interface ProxyChoice {
  readonly http?: string | undefined;
  readonly https?: string | undefined;
  /** A comma-separated list, read by Go's rules. */
  readonly noProxy?: string | undefined;
}

type Rules = Map<string, string>;

/**
 * The configuration of an instance that works like one of HyperShift's proxies: all targets go through the
 * server, except cloud APIs, which this process dials directly, and targets for which the guest cluster has a
 * proxy.
 */
export function sidecarConfig(settings: SidecarSettings): Record<string, unknown> {
  const { kind, listen, health, isOpen, user, drain } = settings;
  const routing = routingOf(settings);
  return {
    listen: {
      [kind === "socks5" ? "socks" : "http"]: listen,
      ...(health !== undefined && { admin: health }),
      allowOpen: isOpen,
      ...(user && { auth: { users: [user] } }),
      limits: { connections: 10_000, dial: `${dialLimit}ms`, drain: `${drain}ms` },
    },
    transports: routing.transports,
    routes: [...routing.rules].map(([to, via]) => ({ to, via })),
    default: routing.usual,
  };
}

function routingOf(
  settings: SidecarSettings,
): { transports: Record<string, unknown>; rules: Rules; usual: string } {
  const transports: Record<string, unknown> = { konnectivity: { konnectivity: tunnelOf(settings) } };
  if (settings.kubeconfigs !== undefined) {
    transports["guest"] = { kubernetes: { kubeconfig: settings.kubeconfigs } };
  }
  const add = (name: string, url: string | undefined, via?: string) => {
    if (url !== undefined) transports[name] = { proxy: { url }, ...(via !== undefined && { via }) };
    return url === undefined ? undefined : name;
  };
  const guest = choiceOf(settings.guestProxies, { http: "--http-proxy", https: "--https-proxy" });
  const usual = add("guest-https", guest.https?.href, tunnel) ?? tunnel;
  const plain = add("guest-http", guest.http?.href, tunnel) ?? tunnel;
  const rules: Rules = new Map();
  // Only this proxy dials clouds directly; the other uses the tunnel for all targets.
  if (settings.cloudDirect) {
    const own = choiceOf(settings.ownProxies, { http: "HTTP_PROXY", https: "HTTPS_PROXY" });
    const cloud = add("cloud", own.https?.href) ?? "direct";
    const cloudPlain = own.https ? cloud : add("cloud-http", own.http?.href) ?? cloud;
    addCloudRules(rules, { cloud, cloudPlain, noProxy: own.noProxy });
    // The guest's proxies may have a name in a cloud API's domain.
    for (const url of [guest.http, guest.https]) {
      if (url && isCloud(url.hostname)) rules.set(`=${url.hostname}`, usual);
    }
  }
  if (usual !== tunnel || plain !== tunnel) addGuestRules(rules, guest.noProxy, settings.cloudDirect);
  if (plain !== usual) rules.set("any:80", plain);
  return { transports, rules, usual };
}

function tunnelOf({ server, mode, tls, kubeconfigs, names }: SidecarSettings): Record<string, unknown> {
  return {
    server: formatTarget(server),
    mode,
    ...tls,
    ...(kubeconfigs !== undefined && {
      names: {
        services: "guest",
        guestDNS: names.guestDNS,
        managementDNS: names.guestDNS && names.managementDNS,
        otherwise: "local",
        preferIPv4: names.preferIPv4,
      },
    }),
  };
}

/** Routes cloud APIs to `cloud`, except targets in NO_PROXY, which go direct. */
function addCloudRules(
  rules: Rules,
  { cloud, cloudPlain, noProxy }: { cloud: string; cloudPlain: string; noProxy: readonly Pattern[] },
): void {
  for (const domain of cloudDomains) {
    rules.set(`.${domain}`, cloud);
    if (cloudPlain !== cloud) rules.set(`.${domain}:80`, cloudPlain);
    if (cloud === "direct" && cloudPlain === "direct") continue;
    for (const pattern of noProxy) {
      const text = within(domain, pattern);
      if (text !== undefined) rules.set(text, "direct");
    }
  }
}

/** The part of a NO_PROXY pattern in a cloud's domain; undefined when there is none. */
function within(domain: string, pattern: Pattern): string | undefined {
  const isAll = pattern.kind === "any" ||
    (pattern.kind === "name" && (domain === pattern.name || domain.endsWith(`.${pattern.name}`)) &&
      pattern.scope !== "exact");
  if (isAll) return formatPattern({ ...pattern, kind: "name", name: domain, scope: "below" });
  const isPart = pattern.kind === "name" && pattern.name.endsWith(`.${domain}`);
  return isPart ? formatPattern(pattern) : undefined;
}

/** Routes targets without a guest proxy through the tunnel; as in Go, loopback never uses a proxy. */
function addGuestRules(rules: Rules, noProxy: readonly Pattern[], isCloudDirect: boolean): void {
  const local = ["localhost", "127.0.0.0/8", "::1"];
  for (const text of [...local, ...noProxy.map(formatPattern)]) {
    const isOfCloud = isCloudDirect && isCloud(text.replace(/^[.=]|:[0-9]+$/g, ""));
    if (!isOfCloud && !rules.has(text)) rules.set(text, tunnel);
  }
}

interface ReadChoice {
  readonly http: URL | undefined;
  readonly https: URL | undefined;
  readonly noProxy: readonly Pattern[];
}

function choiceOf(
  { http, https, noProxy = "" }: ProxyChoice,
  names: { readonly http: string; readonly https: string },
): ReadChoice {
  // Like Go, ignore invalid items.
  const patterns = noProxy.split(",").flatMap((item) => {
    const parsed = parsePattern(item.trim().toLowerCase());
    return "pattern" in parsed ? parsed.pattern : [];
  });
  return { http: proxyUrl(http, names.http), https: proxyUrl(https, names.https), noProxy: patterns };
}

/** Parses a proxy URL with an optional scheme; undefined when empty. */
function proxyUrl(text: string | undefined, name: string): URL | undefined {
  if (text === undefined || text.trim() === "") return undefined;
  const url = URL.parse(text.includes("://") ? text.trim() : `http://${text.trim()}`);
  if (url && ["http:", "https:", "socks5:", "socks5h:"].includes(url.protocol) && url.hostname !== "") {
    return url;
  }
  throw new PosternError("usage", `Cannot use ${name}: it is not a proxy URL`, {
    hint: "write http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT",
  });
}

function isCloud(host: string): boolean {
  return !parseIp(host) && cloudDomains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}

const tunnel = "konnectivity";
/** Timeout of one dial, in ms. */
const dialLimit = 60_000;
