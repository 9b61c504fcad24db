import { object } from "@optique/core/constructs";
import { optional, withDefault } from "@optique/core/modifiers";
import { argument, constant, option } from "@optique/core/primitives";
import { choice, string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { formatTarget, isLoopbackHost, parseIp, PosternError } from "../../words/mod.ts";
import type { switches } from "../../permissions/mod.ts";
import type { World } from "../../world/mod.ts";
import type { SidecarSettings } from "../../roles/mod.ts";
import type { ArgumentParser, RunContext } from "../line/command.ts";
import { fileOption, listenPort, switchValue, untilSignals } from "./konnectivity_options.ts";
import { durationValue, oneOf, pathValue, words } from "../line/options.ts";

const common = {
  // HyperShift's Deployments pass this word; it has no effect.
  word: optional(
    argument(choice(["run"], { metavar: "run" }), { description: words("Accepted without effect.") }),
  ),
  server: withDefault(
    option("--konnectivity-hostname", string({ metavar: "HOST" }), {
      description: words("Host of the Konnectivity server (default: konnectivity-server-local)."),
    }),
    "konnectivity-server-local",
  ),
  serverPort: listenPort("--konnectivity-port", 8090, "Port of the server's frontend"),
  mode: withDefault(
    option("--mode", oneOf(["http-connect", "grpc"], "MODE"), {
      description: words("Protocol of the frontend: http-connect or grpc (default: http-connect)."),
    }),
    "http-connect" as const,
  ),
  port: listenPort("--serving-port", 8090, "Port for clients"),
  address: optional(option("--bind-address", string({ metavar: "ADDR" }), {
    description: words("Listen address for clients (default: loopback; all addresses with --allow-open)."),
  })),
  isOpen: option("--allow-open", {
    description: words(
      "Accept clients from other machines without authentication.",
    ),
  }),
  user: optional(option("--auth-user", string({ metavar: "NAME" }), {
    description: words("User name that clients must send; requires --auth-password-file."),
  })),
  passwordFile: fileOption("--auth-password-file", "File with the password for --auth-user."),
  healthPort: listenPort("--health-port", 0, "Port of /healthz, /readyz and /metrics; 0 disables it"),
  healthAddress: withDefault(
    option("--health-bind-address", string({ metavar: "ADDR" }), {
      description: words("Listen address of the health port (default: all addresses)."),
    }),
    "0.0.0.0",
  ),
  ca: file("--ca-cert-path", "/etc/konnectivity/proxy-ca/ca.crt", "CA certificates of the frontend."),
  cert: file(
    "--tls-cert-path",
    "/etc/konnectivity/proxy-client/tls.crt",
    "Client certificate for the frontend.",
  ),
  key: file("--tls-key-path", "/etc/konnectivity/proxy-client/tls.key", "Key of the client certificate."),
  kubeconfig: fileOption("--kubeconfig", "Kubeconfig of the guest cluster (default: $KUBECONFIG)."),
  cloudDirect: flag(
    "--connect-directly-to-cloud-apis",
    false,
    "Reach the APIs of AWS, Azure and IBM Cloud from this pod, through $HTTPS_PROXY if set.",
  ),
  managementDNS: flag(
    "--resolve-from-management-cluster-dns",
    false,
    "Resolve names that the guest cluster's DNS does not know, and connect to them, from this pod.",
  ),
  isDisabled: flag("--disable-resolver", false, "Let the agent resolve names."),
  preferIPv4: flag("--prefer-ipv4", false, "Use IPv6 only for names without an IPv4 address."),
  drain: withDefault(
    option("--graceful-shutdown-timeout", durationValue(), {
      description: words("Drain limit for connections after the first signal (default: 25s)."),
    }),
    25_000,
  ),
};

/** The flags of HyperShift's konnectivity-socks5-proxy, and postern's additions. */
export const socks5Options = object({
  action: constant("socks5"),
  ...common,
  guestDNS: flag(
    "--resolve-from-guest-cluster-dns",
    false,
    "Use the guest cluster's DNS for names that are not Services.",
  ),
});

/** The flags of HyperShift's konnectivity-https-proxy, and postern's additions. */
export const httpsOptions = object({
  action: constant("https"),
  ...common,
  guestDNS: flag(
    "--resolve-from-guest-cluster-dns",
    true,
    "Use the guest cluster's DNS for names that are not Services.",
  ),
  httpProxy: proxyOption(
    "--http-proxy",
    "Proxy of the guest cluster for port 80, reached through the server.",
  ),
  httpsProxy: proxyOption("--https-proxy", "Proxy of the guest cluster for all other ports."),
  noProxy: optional(option("--no-proxy", string({ metavar: "LIST" }), {
    description: words("Targets that bypass these proxies, in the syntax of NO_PROXY."),
  })),
});

export async function runSidecar(
  values: InferValue<typeof socks5Options> | InferValue<typeof httpsOptions>,
  world: World,
  { log, version, signal }: RunContext,
): Promise<void> {
  const { namedKubeconfigs } = await import("../../plan/mod.ts");
  const { runKonnectivitySidecar } = await import("../../roles/mod.ts");
  await using signals = untilSignals(world, signal);
  await runKonnectivitySidecar(settingsOf(values, world, namedKubeconfigs(world)), world, {
    version,
    log,
    draining: signals.first,
    signal: signals.second,
    onReady: (addresses) => world.terminal.out(`ready ${addresses.join(" ")}\n`),
  });
}

function settingsOf(
  values: InferValue<typeof socks5Options> | InferValue<typeof httpsOptions>,
  world: World,
  kubeconfigs: readonly string[],
): SidecarSettings {
  const { cloudDirect, guestDNS, managementDNS, preferIPv4, isOpen, mode, drain, healthPort, healthAddress } =
    values;
  const absolute = (path: string) => absolutePath(world, path);
  const user = userOf(values, world);
  const { hosts, isLoopback } = hostsOf(values);
  if (!isLoopback && !isOpen && !user) {
    throw new PosternError(
      "usage",
      `Cannot listen on ${hosts.join(" and ")} without a password: other machines can reach it`,
      {
        hint: "add --auth-user and --auth-password-file, or --allow-open",
      },
    );
  }
  const env = (name: string) => world.process.env(name) || world.process.env(name.toLowerCase());
  return {
    kind: values.action,
    server: { host: values.server, port: values.serverPort },
    mode,
    tls: { ca: absolute(values.ca), cert: absolute(values.cert), key: absolute(values.key) },
    listen: hosts.map((host) => formatTarget({ host, port: values.port })),
    ...(healthPort > 0 && { health: formatTarget({ host: healthAddress, port: healthPort }) }),
    isOpen,
    user,
    ...(!values.isDisabled && {
      kubeconfigs: demandKubeconfigs(values.kubeconfig ? [absolute(values.kubeconfig)] : kubeconfigs),
    }),
    names: { guestDNS, managementDNS, preferIPv4 },
    cloudDirect,
    guestProxies: values.action === "https"
      ? { http: values.httpProxy, https: values.httpsProxy, noProxy: values.noProxy }
      : {},
    ownProxies: { http: env("HTTP_PROXY"), https: env("HTTPS_PROXY"), noProxy: env("NO_PROXY") },
    drain,
  };
}

function userOf(
  { user, passwordFile }: { readonly user?: string | undefined; readonly passwordFile?: string | undefined },
  world: World,
): SidecarSettings["user"] {
  if (user === undefined && passwordFile === undefined) return undefined;
  if (user !== undefined && passwordFile !== undefined) {
    return { name: user, passwordFile: absolutePath(world, passwordFile) };
  }
  throw new PosternError(
    "usage",
    "Cannot require a password: --auth-user and --auth-password-file must be given together",
    {
      hint: "add the missing option",
    },
  );
}

function hostsOf(
  { address, isOpen }: { readonly address?: string | undefined; readonly isOpen: boolean },
): { hosts: readonly string[]; isLoopback: boolean } {
  if (address === undefined) return { hosts: [isOpen ? "0.0.0.0" : "localhost"], isLoopback: !isOpen };
  const host = address.replace(/^\[(.*)\]$/, "$1");
  if (host !== "localhost" && !parseIp(host)) {
    throw new PosternError("usage", `Cannot listen on "${address.slice(0, 100)}": not an IP address`, {
      hint: "use, for example, --bind-address 127.0.0.1",
    });
  }
  return { hosts: [host], isLoopback: isLoopbackHost(host) };
}

function demandKubeconfigs(paths: readonly string[]): readonly string[] {
  if (paths.length > 0) return paths;
  throw new PosternError(
    "config",
    "Cannot resolve the guest cluster's names: KUBECONFIG is empty",
    { hint: "set KUBECONFIG to its kubeconfig, or let the agent resolve names with --disable-resolver" },
  );
}

function absolutePath({ process }: World, path: string): string {
  return path.startsWith("/") ? path : `${process.directory}/${path}`;
}

function file(name: `--${string}`, standard: string, about: string): ArgumentParser<string> {
  const description = words(`${about.replace(/\.$/, "")} (default: ${standard}).`);
  return withDefault(option(name, pathValue("FILE"), { description }), standard);
}

function proxyOption(name: `--${string}`, about: string): ArgumentParser<string | undefined> {
  return optional(option(name, string({ metavar: "URL" }), { description: words(about) }));
}

function flag(name: typeof switches[number], standard: boolean, about: string): ArgumentParser<boolean> {
  const description = words(standard ? `${about.replace(/\.$/, "")} (default: true).` : about);
  return withDefault(option(name, switchValue(), { description }), standard);
}
