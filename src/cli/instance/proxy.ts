import { object } from "@optique/core/constructs";
import { multiple, optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { message, text } from "@optique/core/message";
import { string, type ValueParser } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { OnDemand } from "../../instance/mod.ts";
import { defineCommand, type RunContext } from "../line/command.ts";
import { logToFile } from "../output/log_to_file.ts";
import { durationOrNever, instanceOption, pathValue, words } from "../line/options.ts";
import { printable } from "../output/printable.ts";
import { SignalGuard } from "../line/wrapping.ts";

const address = string({ metavar: "ADDR:PORT" });

const options = object({
  listen: multiple(option("--listen", "--addr", address, {
    description: words(
      "Listen address for all protocols on one port; port 0 picks a free one (default: localhost:12000).",
    ),
  })),
  listenSocks: multiple(
    option("--listen-socks", address, { description: words("Listen address for SOCKS4, 4a and 5 only.") }),
  ),
  listenHttp: multiple(
    option("--listen-http", address, { description: words("Listen address for HTTP proxy requests only.") }),
  ),
  listenUnix: multiple(option("--listen-unix", pathValue("PATH"), {
    description: words("Path of a unix socket to listen on."),
  })),
  listenDns: multiple(option("--listen-dns", address, {
    description: words(
      "Listen address for DNS, for the names of clusters and of dns.domains; loopback only.",
    ),
  })),
  forwards: multiple(option("--forward", "-L", string({ metavar: "[ADDR:]PORT:HOST:PORT" }), {
    description: words(
      "Listen on PORT of ADDR (default: localhost) and connect each client to HOST:PORT through the rules; on either side, a path means a unix socket. Any local user can connect to a TCP port; only you can connect to a unix socket.",
    ),
  })),
  routes: multiple(option("--route", string({ metavar: "PATTERN=TRANSPORT" }), {
    description: words(
      "Send targets that match PATTERN through a transport, by name or inline (x.example=ssh:jump1, *=proxy:http://127.0.0.1:3128).",
    ),
  })),
  mappingFile: optional(option("--mapping-file", pathValue("FILE"), {
    description: words(
      "kharon's JSON file that maps suffixes to jump hosts; replaces the catalogues.",
    ),
  })),
  kubernetes: optional(option("--kubernetes", string({ metavar: "[CONTEXT]" }), {
    description: words(
      "Route the names and addresses of CONTEXT's cluster into it: svc, svc.ns, .svc, .cluster.local, ClusterIPs (default: the current context).",
    ),
  })),
  kubeconfig: optional(option("--kubeconfig", pathValue("FILE"), {
    description: words(
      "Kubeconfig for --kubernetes (default: $KUBECONFIG, else ~/.kube/config); - reads it from stdin and stores it, readable only by you, until the instance stops.",
    ),
  })),
  namespace: optional(option("--namespace", "-n", string({ metavar: "NAMESPACE" }), {
    description: words("Namespace for names without one (default: the context's namespace)."),
  })),
  allowOpen: option("--allow-open", {
    description: words("Allow listeners without authentication on addresses that other machines can reach."),
  }),
  background: option("--background", {
    description: words("Start the instance in the background and return when it is ready."),
  }),
  id: instanceOption("ID for this instance (default: default)."),
  readyFile: optional(option("--ready-file", pathValue("PATH"), {
    description: words("File for the listen addresses, one per line, written when the instance is ready."),
  })),
  onDemand: optional(option("--on-demand", onDemandValue(), {
    description: words(
      "Listen on the socket of this name that systemd or launchd opened, and stop when idle.",
    ),
  })),
  idleExit: optional(option("--idle-exit", "--on-demand-shutdown-timeout", durationOrNever(), {
    description: words(
      "Stop after this duration without a connection; 0 means never (default: 3m with --on-demand, else 0).",
    ),
  })),
  logFile: optional(option("--log-file", pathValue("FILE"), {
    description: words("File to append the log to (default: stderr)."),
  })),
});

type ProxyOptions = InferValue<typeof options>;

export default defineCommand({
  name: "proxy",
  summary: "Run an instance, the local proxy",
  description:
    "Listens on one local port for SOCKS4, SOCKS4a, SOCKS5 and HTTP, and routes each connection as configured. A " +
    "listener for one protocol replaces the default listener for all protocols, unless you also give --listen. The " +
    'first line on stdout is "ready ADDR..."; the log goes to stderr. SIGHUP reloads the configuration; SIGTERM and ' +
    "SIGINT drain live connections before postern exits.",
  examples: [
    ["postern proxy", "Listen on localhost:12000 and route as configured"],
    [
      "postern proxy --route .corp.example=proxy:socks5h://127.0.0.1:1080",
      "Route one domain through a proxy, without a configuration",
    ],
    ["postern proxy --kubernetes lab", "Reach a cluster's Services by name, without a configuration"],
    [
      "postern proxy --kubernetes --kubeconfig - < lab.yaml",
      "Read a kubeconfig from stdin; postern deletes its copy when the instance stops",
    ],
    [
      "postern proxy --listen 127.0.0.1:0 --ready-file ready.txt",
      "Pick a free port and write it to the file",
    ],
    ["postern proxy --background --id work", "Run in the background until postern stop work"],
  ],
  parser: options,
  handlesSignals: true,
  logLevel: "info",
  async run(options, world, context) {
    const run = options.background ? startInBackground : runInForeground;
    if (options.kubeconfig !== "-") return await run(options, world, context);
    const { keepKubeconfig } = await import("../../instance/mod.ts");
    const kubeconfig = await keepKubeconfig(world, options.id ?? "default");
    try {
      await run({ ...options, kubeconfig }, world, context);
    } catch (error) {
      // An instance that failed to start does not remove its copy.
      await world.files.remove(kubeconfig);
      throw error;
    }
  },
});

async function runInForeground(options: ProxyOptions, world: World, context: RunContext): Promise<void> {
  const { CatalogueRefresh } = await import("../../fleet/mod.ts");
  const { runInstance } = await import("../../instance/mod.ts");
  const { id = "default", logFile, readyFile, onDemand } = options;
  const idleExit = options.idleExit ?? (onDemand ? idleOnDemand : undefined);
  const { listen, listenSocks, listenHttp, listenUnix, listenDns, routes, allowOpen, mappingFile } = options;
  const { kubernetes, kubeconfig, namespace } = options;
  const forwards = await forwardsOf(options, world);
  const { globals, version, signal } = context;
  await using file = logFile === undefined ? undefined : await logToFile(world, logFile);
  const log = file ? globals.createLog(world, { level: "info", write: file.write }) : context.log;
  await runInstance(world, {
    version,
    id,
    log,
    overrides: {
      listen,
      listenSocks,
      listenHttp,
      listenUnix: listenUnix.map((path) => absolutePath(world, path)),
      listenDns,
      forwards,
      routes,
      allowOpen,
      mappingFile,
      kubernetes,
      ...(kubeconfig !== undefined && { kubeconfig: absolutePath(world, kubeconfig) }),
      namespace,
    },
    ...(globals.config === undefined ? {} : { config: globals.config }),
    ...(readyFile === undefined ? {} : { readyFile }),
    ...(onDemand === undefined ? {} : { onDemand }),
    ...(idleExit === undefined ? {} : { idleExit }),
    refresh: (world, options) => new CatalogueRefresh(world, options),
    onReady: (addresses) => world.terminal.out(`ready ${addresses.join(" ")}\n`),
  }, { signal });
}

async function startInBackground(options: ProxyOptions, world: World, context: RunContext): Promise<void> {
  if (options.logFile !== undefined) {
    throw new PosternError(
      "usage",
      "Cannot use --log-file with --background: a background instance has its own log file",
      {
        hint: "print its log with: postern logs",
      },
    );
  }
  if (options.onDemand !== undefined) {
    throw new PosternError(
      "usage",
      "Cannot use --on-demand with --background: only a service has the socket",
      {
        hint: "install the service: postern service install",
      },
    );
  }
  const { startInBackground } = await import("../../instances/mod.ts");
  const { id = "default" } = options;
  // The instance has its own process session: an interrupted command has to stop it.
  using guard = new SignalGuard(world);
  const started = await startInBackground(
    world,
    { id, arguments: foregroundArguments(options, context) },
    guard,
  );
  await world.terminal.out(`ready ${started.addresses.join(" ")}\n`);
  const clusters = started.clusters.map((cluster) => `, ${printable(cluster)}`).join("");
  await world.terminal.err(
    `postern: started "${started.id}" (pid ${started.pid})${clusters}, log: ${started.log}\n` +
      `postern: stop it with: postern stop${id === "default" ? "" : ` ${id}`}\n`,
  );
}

async function forwardsOf({ forwards, namespace }: ProxyOptions, world: World) {
  if (forwards.length === 0) return [];
  const { parseForwards } = await import("../../listeners/mod.ts");
  const options = { namespace, absolute: (path: string) => absolutePath(world, path) };
  return forwards.flatMap((text) => parseForwards(text.trim().split(/\s+/), options));
}

/** Resolves a typed path against the working directory; settings would resolve it against the configuration file. */
function absolutePath({ process }: World, path: string): string {
  return /^(?:[~/\\]|\$\{|[A-Za-z]:[/\\])/.test(path) ? path : `${process.directory}/${path}`;
}

/** How long an on-demand instance runs without a connection, in ms. */
const idleOnDemand = 180_000;

/** `systemd=NAME` or `launchd=NAME`. */
function onDemandValue(): ValueParser<"sync", OnDemand> {
  return {
    mode: "sync",
    metavar: "systemd=NAME|launchd=NAME",
    placeholder: { by: "systemd", name: "postern.socket" },
    parse(input) {
      const [, by, name] = /^(systemd|launchd)=([^:\s]{1,255})$/.exec(input) ?? [];
      if (by !== undefined && name !== undefined) {
        return { success: true, value: { by: by === "systemd" ? by : "launchd", name } };
      }
      return { success: false, error: message`${text("expected systemd=NAME or launchd=NAME")}` };
    },
    format: ({ by, name }) => `${by}=${name}`,
  };
}

/** The command line of the same instance in the foreground. */
function foregroundArguments(
  {
    listen,
    listenSocks,
    listenHttp,
    listenUnix,
    listenDns,
    forwards,
    routes,
    mappingFile,
    allowOpen,
    id,
    readyFile,
    idleExit,
    kubernetes,
    kubeconfig,
    namespace,
  }: ProxyOptions,
  { globals }: Pick<RunContext, "globals">,
): string[] {
  const each = (name: string, values: readonly (string | undefined)[]) =>
    values.flatMap((value) => value === undefined ? [] : [`${name}=${value}`]);
  return [
    "proxy",
    ...each("--config", [globals.config]),
    ...each("--log-level", [globals.logLevel]),
    ...each("--log-format", [globals.logFormat]),
    ...new Array<string>(globals.verbosity).fill("-v"),
    ...each("--listen", listen),
    ...each("--listen-socks", listenSocks),
    ...each("--listen-http", listenHttp),
    ...each("--listen-unix", listenUnix),
    ...each("--listen-dns", listenDns),
    ...each("--forward", forwards),
    ...each("--route", routes),
    ...each("--kubernetes", [kubernetes]),
    ...each("--kubeconfig", [kubeconfig]),
    ...each("--namespace", [namespace]),
    ...each("--mapping-file", [mappingFile]),
    ...(allowOpen ? ["--allow-open"] : []),
    ...each("--id", [id]),
    ...each("--ready-file", [readyFile]),
    ...each("--idle-exit", [idleExit === undefined ? undefined : idleExit === 0 ? "0" : `${idleExit}ms`]),
  ];
}
