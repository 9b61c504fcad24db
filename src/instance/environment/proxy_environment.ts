import { formatTarget, PosternError } from "../../words/mod.ts";
import type { ListenerKind } from "../../listeners/mod.ts";
import type { ProxyEnvironment } from "../../control/mod.ts";
import { type Client, noProxyFor } from "../../routing/mod.ts";
import type { Plan } from "../../plan/mod.ts";

/** The door that programs are told of. */
export interface EnvironmentListener {
  /** `127.0.0.1:12000` */
  readonly address: string;
  /** What it speaks; SOCKS and HTTP both when absent. */
  readonly kind?: ListenerKind;
  /** Who may use it; nobody is asked when absent. */
  readonly user?: { readonly name: string; readonly password: string } | undefined;
}

/** Where programs of this machine reach a door that is bound to an address or to all of them. */
export function reachableAt({ host, port }: { readonly host: string; readonly port: number }): string {
  const near = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return formatTarget({ host: near, port });
}

export interface ProxyEnvironmentOptions {
  /** Whether the user and the password may be told. */
  readonly credentials: boolean;
  /** Whose list of exceptions; the one that all understand when absent. */
  readonly client?: string;
}

const clients: readonly Client[] = ["go", "curl", "java", "python"];

/** What programs need to be told to use a door. */
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
    // Go sends names to be resolved by the proxy with either spelling.
    proxyUrl: `${kind === "http" ? "http" : "socks5"}://${login}${address}`,
    noProxy: items,
    notes,
    needsAuth: user !== undefined,
  };
}

/** A kind of program by its name; none when there is no name. */
export function clientNamed(name: string | undefined): Client | undefined {
  const known = clients.find((client) => client === name);
  if (known === undefined && name !== undefined) {
    throw new PosternError("usage", `Cannot write for "${name.slice(0, 40)}"`, {
      hint: `known are ${clients.join(", ")}`,
    });
  }
  return known;
}
