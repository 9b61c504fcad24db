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
      "Where every protocol is spoken on one port (default: localhost:12000; port 0: any free one).",
    ),
  })),
  listenSocks: multiple(
    option("--listen-socks", address, { description: words("A door for SOCKS4, 4a and 5 only.") }),
  ),
  listenHttp: multiple(
    option("--listen-http", address, { description: words("A door for HTTP proxy requests only.") }),
  ),
  listenUnix: multiple(option("--listen-unix", pathValue("PATH"), {
    description: words("A door on a unix socket."),
  })),
  listenDns: multiple(option("--listen-dns", address, {
    description: words(
      "A DNS server, beside the doors, for the names of clusters and of dns.domains; loopback only.",
    ),
  })),
  routes: multiple(option("--route", string({ metavar: "PATTERN=TRANSPORT" }), {
    description: words(
      "Sends what the pattern matches through a transport: its name, or one in place (x.example=ssh:jump1, *=proxy:http://127.0.0.1:3128).",
    ),
  })),
  mappingFile: optional(option("--mapping-file", pathValue("FILE"), {
    description: words(
      "A JSON file of suffix to jump host, as kharon has it, in the place of the catalogues.",
    ),
  })),
  kubernetes: optional(option("--kubernetes", string({ metavar: "[CONTEXT]" }), {
    description: words(
      "Sends a cluster's names and addresses (svc, svc.ns, .svc, .cluster.local, ClusterIPs) into it; the current context where none is named.",
    ),
  })),
  kubeconfig: optional(option("--kubeconfig", pathValue("FILE"), {
    description: words(
      "The kubeconfig of the clusters that are named here (default: the files of KUBECONFIG, else ~/.kube/config); - reads it from the standard input and keeps it, for you only, until the door ends.",
    ),
  })),
  namespace: optional(option("--namespace", "-n", string({ metavar: "NAMESPACE" }), {
    description: words("The namespace of names without one (default: the context's)."),
  })),
  allowOpen: option("--allow-open", {
    description: words("Lets a door without authentication listen on an address other machines can reach."),
  }),
  background: option("--background", {
    description: words("Starts the door, waits until it is ready, and leaves it running."),
  }),
  id: instanceOption("The name of this instance (default: default)."),
  readyFile: optional(option("--ready-file", pathValue("PATH"), {
    description: words("A file to write once the door is ready: its addresses, a line each."),
  })),
  onDemand: optional(option("--on-demand", onDemandValue(), {
    description: words(
      "Serves on the socket that systemd (the one of this name) or launchd has opened, and ends when idle.",
    ),
  })),
  idleExit: optional(option("--idle-exit", "--on-demand-shutdown-timeout", durationOrNever(), {
    description: words(
      "Ends the door after it has had no connection for so long; 0: never (default: 3m with --on-demand, else 0).",
    ),
  })),
  logFile: optional(option("--log-file", pathValue("FILE"), {
    description: words("Where to append the log instead of writing it to stderr."),
  })),
});

type ProxyOptions = InferValue<typeof options>;

/** `postern proxy`. */
export default defineCommand({
  name: "proxy",
  summary: "runs the door",
  description:
    "One local port speaks SOCKS4, SOCKS4a, SOCKS5 and HTTP, and sends each connection where the " +
    "configuration says. Naming a door for one protocol replaces the one for all, unless --listen stands beside it. " +
    'The first line on stdout is "ready ADDR..."; the log goes to stderr. SIGHUP reads the configuration again, ' +
    "SIGTERM and SIGINT let live connections end first.",
  examples: [
    ["postern proxy", "a door on localhost:12000, as the configuration says"],
    [
      "postern proxy --route .corp.example=proxy:socks5h://127.0.0.1:1080",
      "no configuration: one domain through a proxy",
    ],
    ["postern proxy --kubernetes lab", "no configuration: the Services of a cluster by their own names"],
    [
      "postern proxy --kubernetes --kubeconfig - < lab.yaml",
      "a kubeconfig from the standard input; what is kept of it is gone when the door ends",
    ],
    ["postern proxy --listen 127.0.0.1:0 --ready-file door.txt", "any free port; the file says which"],
    ["postern proxy --background --id work", "in the background; postern stop work ends it"],
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
      // A door that never was removes nothing.
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
      routes,
      allowOpen,
      ...(mappingFile !== undefined && { mappingFile }),
      ...(kubernetes !== undefined && { kubernetes }),
      ...(kubeconfig !== undefined && { kubeconfig: absolutePath(world, kubeconfig) }),
      ...(namespace !== undefined && { namespace }),
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
    throw new PosternError("usage", "Cannot use --log-file with --background: such a door has its own log", {
      hint: "print it with: postern logs",
    });
  }
  if (options.onDemand !== undefined) {
    throw new PosternError("usage", "Cannot use --on-demand with --background: the service has the socket", {
      hint: "write the service with: postern service-install",
    });
  }
  const { startInBackground } = await import("../../instances/mod.ts");
  const { id = "default" } = options;
  // The door is in a session of its own: who gives up waiting for it has to end it.
  using guard = new SignalGuard(world);
  const started = await startInBackground(
    world,
    { id, arguments: foregroundArguments(options, context) },
    guard,
  );
  await world.terminal.out(`ready ${started.addresses.join(" ")}\n`);
  const clusters = started.clusters.map((cluster) => `, ${printable(cluster)}`).join("");
  await world.terminal.err(
    `postern: started "${started.id}" (pid ${started.pid})${clusters}, its log is ${started.log}\n` +
      `postern: stop it with: postern stop${id === "default" ? "" : ` ${id}`}\n`,
  );
}

/** A path as whoever typed it meant it: paths of a configuration are relative to its file, and may begin with a variable. */
function absolutePath({ process }: World, path: string): string {
  return /^(?:[~/\\]|\$\{|[A-Za-z]:[/\\])/.test(path) ? path : `${process.directory}/${path}`;
}

/** How long a door that comes when it is asked for stays without being asked, in ms. */
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
      return { success: false, error: message`${text("write systemd=NAME or launchd=NAME")}` };
    },
    format: ({ by, name }) => `${by}=${name}`,
  };
}

/** The command line of the same door in the foreground. */
function foregroundArguments(
  {
    listen,
    listenSocks,
    listenHttp,
    listenUnix,
    listenDns,
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
