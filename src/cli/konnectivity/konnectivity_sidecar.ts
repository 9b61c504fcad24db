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
import { durationValue, pathValue, words } from "../line/options.ts";

const common = {
  // HyperShift's Deployments call the program so; it means nothing.
  word: optional(
    argument(choice(["run"], { metavar: "run" }), { description: words("Taken, and without effect.") }),
  ),
  server: withDefault(
    option("--konnectivity-hostname", string({ metavar: "HOST" }), {
      description: words("The Konnectivity server (default: konnectivity-server-local)."),
    }),
    "konnectivity-server-local",
  ),
  serverPort: listenPort("--konnectivity-port", 8090, "The port of its frontend."),
  mode: withDefault(
    option("--mode", choice(["http-connect", "grpc"], { metavar: "MODE" }), {
      description: words("What the frontend speaks (default: http-connect)."),
    }),
    "http-connect" as const,
  ),
  port: listenPort("--serving-port", 8090, "Where clients are served."),
  address: optional(option("--bind-address", string({ metavar: "ADDR" }), {
    description: words("On which address (default: loopback; every address with --allow-open)."),
  })),
  isOpen: option("--allow-open", {
    description: words(
      "Serves everybody who can reach it, on every address unless --bind-address names one.",
    ),
  }),
  user: optional(option("--auth-user", string({ metavar: "NAME" }), {
    description: words("Who may use it, with a password; beside --auth-password-file."),
  })),
  passwordFile: fileOption("--auth-password-file", "The file with that password."),
  healthPort: listenPort("--health-port", 0, "The port of /healthz, /readyz and /metrics; 0 for none."),
  healthAddress: withDefault(
    option("--health-bind-address", string({ metavar: "ADDR" }), {
      description: words("Where that listens (default: every address)."),
    }),
    "0.0.0.0",
  ),
  ca: file("--ca-cert-path", "/etc/konnectivity/proxy-ca/ca.crt", "The CA of the frontend's certificate."),
  cert: file("--tls-cert-path", "/etc/konnectivity/proxy-client/tls.crt", "The client certificate."),
  key: file("--tls-key-path", "/etc/konnectivity/proxy-client/tls.key", "Its key."),
  kubeconfig: fileOption("--kubeconfig", "The kubeconfig of the guest cluster (default: $KUBECONFIG)."),
  cloudDirect: flag(
    "--connect-directly-to-cloud-apis",
    false,
    "Reaches the APIs of AWS, Azure and IBM Cloud from here, by $HTTPS_PROXY where that is set.",
  ),
  managementDNS: flag(
    "--resolve-from-management-cluster-dns",
    false,
    "Resolves and dials from here what the cluster's DNS has no answer for.",
  ),
  isDisabled: flag("--disable-resolver", false, "Leaves names to the agent."),
  preferIPv4: flag("--prefer-ipv4", false, "Uses IPv6 only where a name has no IPv4 address."),
  drain: withDefault(
    option("--graceful-shutdown-timeout", durationValue(), {
      description: words("How long connections may go on after the first signal (default: 25s)."),
    }),
    25_000,
  ),
};

/** The flags of HyperShift's konnectivity-socks5-proxy, and some of our own. */
export const socks5Options = object({
  action: constant("socks5"),
  ...common,
  guestDNS: flag(
    "--resolve-from-guest-cluster-dns",
    false,
    "Asks the guest cluster's DNS for names that are no Services.",
  ),
});

/** The flags of HyperShift's konnectivity-https-proxy, and some of our own. */
export const httpsOptions = object({
  action: constant("https"),
  ...common,
  guestDNS: flag(
    "--resolve-from-guest-cluster-dns",
    true,
    "Asks the guest cluster's DNS for names that are no Services.",
  ),
  httpProxy: proxyOption(
    "--http-proxy",
    "The guest cluster's proxy for port 80, which is reached through the server.",
  ),
  httpsProxy: proxyOption("--https-proxy", "The guest cluster's proxy for all else."),
  noProxy: optional(option("--no-proxy", string({ metavar: "LIST" }), {
    description: words("What is reached without these proxies, as in NO_PROXY."),
  })),
});

/** `postern konnectivity socks5` and `https`. */
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
      `Cannot serve ${hosts.join(" and ")} without a password: others reach it too`,
      {
        hint: "give --auth-user and --auth-password-file, or --allow-open",
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
    ...(user && { user }),
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
    "Cannot ask for a password: a user and the password's file belong together",
    {
      hint: "give --auth-user and --auth-password-file",
    },
  );
}

function hostsOf(
  { address, isOpen }: { readonly address?: string | undefined; readonly isOpen: boolean },
): { hosts: readonly string[]; isLoopback: boolean } {
  if (address === undefined) return { hosts: [isOpen ? "0.0.0.0" : "localhost"], isLoopback: !isOpen };
  const host = address.replace(/^\[(.*)\]$/, "$1");
  if (host !== "localhost" && !parseIp(host)) {
    throw new PosternError("usage", `Cannot listen on "${address.slice(0, 100)}": it is not an address`, {
      hint: "write for example --bind-address 127.0.0.1",
    });
  }
  return { hosts: [host], isLoopback: isLoopbackHost(host) };
}

function demandKubeconfigs(paths: readonly string[]): readonly string[] {
  if (paths.length > 0) return paths;
  throw new PosternError(
    "config",
    "Cannot resolve the guest cluster's names: KUBECONFIG names no kubeconfig",
    { hint: "name that of the guest cluster, or leave names to the agent with --disable-resolver" },
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
