import { object } from "@optique/core/constructs";
import { multiple, withDefault } from "@optique/core/modifiers";
import { constant, option } from "@optique/core/primitives";
import { choice, string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import {
  expectPlainPorts,
  fileOption,
  ignoredOptions,
  listenOption,
  listenPort,
  never,
  switchOption,
  textOption,
  tlsFiles,
  untilSignals,
} from "./konnectivity_options.ts";
import { durationOrNever, durationValue, words } from "../line/options.ts";

/** The flags of upstream's agent; those that only tune it are taken and do nothing. */
export const agentOptions = object({
  action: constant("agent"),
  host: withDefault(
    option("--proxy-server-host", string({ metavar: "HOST" }), {
      description: words("The server, or the balancer in front of several (default: 127.0.0.1)."),
    }),
    "127.0.0.1",
  ),
  port: listenPort("--proxy-server-port", 8091, "Its port for agents."),
  ca: fileOption("--ca-cert", "The CA of the servers."),
  cert: fileOption("--agent-cert", "This agent's certificate."),
  key: fileOption("--agent-key", "Its key."),
  token: fileOption(
    "--service-account-token-path",
    "A token in place of a certificate; read anew for each connection.",
  ),
  id: textOption("--agent-id", "ID", "The name of this agent (default: $PROXY_AGENT_ID, else a random one)."),
  identifiers: withDefault(
    option("--agent-identifiers", string({ metavar: "LIST" }), {
      description: words("What it is the way to: host=a&ipv4=10.0.0.1&default-route=true."),
    }),
    "",
  ),
  healthPort: listenPort("--health-server-port", 8093, "The port of /healthz, /readyz and /metrics."),
  healthAddress: listenOption("--health-server-host", "Where that listens", ""),
  adminPort: listenPort("--admin-server-port", 8094, "A port that leads to /metrics of the other."),
  adminAddress: listenOption("--admin-bind-address", "Where that listens", "127.0.0.1"),
  alpn: textOption(
    "--alpn-proto",
    "LIST",
    "What is said in TLS besides h2, for who shares the server's address.",
  ),
  pulse: withDefault(
    option("--keepalive-time", durationOrNever(), {
      description: words(
        "How long a server may be silent until it is asked; 3s at most, and one of Kubernetes 35s (default: 3s).",
      ),
    }),
    3000,
  ),
  leases: object({
    counts: switchOption("--count-server-leases", "Counts servers by the Leases that they keep."),
    namespace: withDefault(
      option("--lease-namespace", string({ metavar: "NAME" }), {
        description: words("Where these are (default: kube-system)."),
      }),
      "kube-system",
    ),
    label: withDefault(
      option("--lease-label", "--lease-label-selector", string({ metavar: "LABELS" }), {
        description: words("Their labels (default: k8s-app=konnectivity-server)."),
      }),
      "k8s-app=konnectivity-server",
    ),
    source: withDefault(
      option("--server-count-source", choice(["default", "max"], { metavar: "SOURCE" }), {
        description: words("With max, the larger of what Leases and servers say (default: default)."),
      }),
      "default" as const,
    ),
    kubeconfig: fileOption(
      "--kubeconfig",
      "The cluster of the Leases and of the proxy (default: the one it runs in).",
    ),
  }),
  clusterProxy: switchOption(
    "--cluster-proxy",
    "Reaches servers as the cluster's accepted Proxy says (config.openshift.io), not straight.",
  ),
  looksForever: switchOption("--sync-forever", "Looks for more servers for ever, whatever their number is."),
  first: withDefault(
    option("--sync-interval", durationValue(), {
      description: words("The pause before a second try to reach a server (default: 1s)."),
    }),
    1000,
  ),
  most: withDefault(
    option("--sync-interval-cap", durationValue(), {
      description: words("The longest such pause (default: 10s)."),
    }),
    10_000,
  ),
  allowed: multiple(option("--allow-target", string({ metavar: "PATTERN" }), {
    description: words(
      "What it may be asked to connect to, as in routes; may be repeated (default: everything).",
    ),
  })),
  ignored: multiple(ignoredOptions([
    "--probe-interval",
    "--xfr-channel-size",
    "--kube-api-content-type",
    "--enable-profiling",
    "--enable-contention-profiling",
    "--warn-on-channel-limit",
  ])),
});

/** `postern konnectivity agent`. */
export async function runAgent(
  values: InferValue<typeof agentOptions>,
  world: World,
  { log, signal }: RunContext,
): Promise<void> {
  expectIdentifiers(values.identifiers);
  expectPlainPorts({ "--health-server-port": values.healthPort, "--admin-server-port": values.adminPort });
  const { parseLabels, runKonnectivityAgent, selectorOf } = await import("../../roles/mod.ts");
  const { counts, namespace, label, source, kubeconfig } = values.leases;
  const { terminal, process } = world;
  const { token } = values;
  await using signals = untilSignals(world, signal);
  await runKonnectivityAgent(
    {
      server: { host: values.host, port: values.port },
      tls: tlsFiles(values),
      tokenFile: token,
      id: values.id ?? (process.env("PROXY_AGENT_ID") || crypto.randomUUID()),
      identifiers: values.identifiers,
      health: { host: values.healthAddress, port: values.healthPort },
      admin: { host: values.adminAddress, port: values.adminPort },
      alpn: (values.alpn ?? "").split(",").filter((name) => name !== ""),
      pulse: values.pulse || never,
      ...counts && {
        leases: {
          namespace,
          selector: selectorOf(parseLabels(label)),
          source: source === "max" ? "max" : "default",
          kubeconfig,
        },
      },
      ...values.clusterProxy && { clusterProxy: kubeconfig === undefined ? {} : { kubeconfig } },
      looksForever: values.looksForever,
      retry: { first: values.first, most: Math.max(values.first, values.most) },
      allowed: values.allowed,
    },
    world,
    {
      log,
      // The first signal drains, the second one ends.
      draining: signals.first,
      signal: signals.second,
      onReady: ({ health }) => terminal.out(`ready ${health}\n`),
    },
  );
}

/** As upstream's agent, which takes no kind that it does not know. */
function expectIdentifiers(text: string): void {
  const known = ["ipv4", "ipv6", "cidr", "host", "default-route"];
  const wrong = [...new URLSearchParams(text).keys()].find((kind) => !known.includes(kind));
  if (wrong === undefined) return;
  throw new PosternError("usage", `Cannot use ${JSON.stringify(wrong)} in --agent-identifiers`, {
    hint: `write them as host=a&ipv4=10.0.0.1; the kinds are ${known.join(", ")}`,
  });
}
