import { formatTarget, PosternError } from "../../words/mod.ts";
import type { ListenerKind } from "../../listeners/mod.ts";
import type { ProxyEnvironment } from "../../control/mod.ts";
import { type Client, noProxyFor } from "../../routing/mod.ts";
import type { Plan } from "../../plan/mod.ts";

/** The listener in a program's proxy settings. */
export interface EnvironmentListener {
  /** `127.0.0.1:12000` */
  readonly address: string;
  /** Its protocol; SOCKS and HTTP if undefined. */
  readonly kind?: ListenerKind;
  /** The user for it; no password is needed if undefined. */
  readonly user?: { readonly name: string; readonly password: string } | undefined;
}

/** The address under which programs on this machine reach a listener, also one on a wildcard address. */
export function reachableAt({ host, port }: { readonly host: string; readonly port: number }): string {
  const near = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return formatTarget({ host: near, port });
}

export interface ProxyEnvironmentOptions {
  /** Whether to include the user and the password. */
  readonly credentials: boolean;
  /** The client for which to write exceptions; if undefined, the form that all clients understand. */
  readonly client?: string;
}

const clients: readonly Client[] = ["go", "curl", "java", "python"];

export function proxyEnvironment(
  { router, config }: Plan,
  { address, kind, user }: EnvironmentListener,
  { credentials, client }: ProxyEnvironmentOptions,
): ProxyEnvironment {
  const { items, notes } = noProxyFor(
    config.settings.direct.map(({ text }) => text),
    router,
    clientNamed(client),
  );
  const login = user && credentials
    ? `${encodeURIComponent(user.name)}:${encodeURIComponent(user.password)}@`
    : "";
  return {
    http: `${kind === "socks" ? "socks5h" : "http"}://${login}${address}`,
    socks: `${kind === "http" ? "http" : "socks5h"}://${login}${address}`,
    // Go lets the proxy resolve names for "socks5" and for "socks5h".
    proxyUrl: `${kind === "http" ? "http" : "socks5"}://${login}${address}`,
    noProxy: items,
    notes,
    needsAuth: user !== undefined,
  };
}

/** Looks up a kind of client; undefined without a name. */
export function clientNamed(name: string | undefined): Client | undefined {
  const known = clients.find((client) => client === name);
  if (known === undefined && name !== undefined) {
    throw new PosternError("usage", `Cannot write settings for "${name.slice(0, 40)}": unknown client`, {
      hint: `use one of: ${clients.join(", ")}`,
    });
  }
  return known;
}
