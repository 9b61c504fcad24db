import { rooms } from "./lint_rooms.ts";
import { table } from "./reference_page.ts";

/** The purpose of each room. */
const holds: Readonly<Record<string, string>> = {
  words: "addresses, targets and errors, which every room uses",
  core: "connections, time, tasks, the relay, the log; contracts of several rooms",
  world: "interfaces to the machine: network, files, process, terminal, places, stores",
  wire: "bytes to messages and back, one file for each protocol; does no I/O",
  config: "the schema kit: an unknown value becomes settings or a list of problems",
  routing: "patterns, rules, the router, the PAC file, the environment; pure",
  runtime: "the only room that touches `Deno.*`: adapters without decisions",
  http: "HTTP/1.1 as a client: connections, bodies, CONNECT, dialing by name",
  mux: "many streams on one connection: shared parts, HTTP/2, gRPC, keepalive probes",
  control: "the control protocol: state, events, answers, client",
  clusters: "clusters: facts, endpoints, selection",
  signin: "OpenID Connect, OpenShift, tokens, the browser",
  kube: "kubeconfig, credentials, API client, watches, Service names, port-forwards",
  ssh: "the user's ssh configuration, keys, host keys, sessions, engines",
  catalogue: "Lieutenant, stored catalogues, facts to rules",
  emergency: "buckets, OpenPGP, Passbolt",
  egress: "a cluster's own outbound proxy",
  listeners: "servers for clients, one file for each protocol; pages",
  dns: "answers to DNS questions",
  konnectivity: "packets, client, server, agent, sidecar names, certificates",
  transports: "the kinds of transport, one thin file for each",
  plan: "configuration to rules and transports, without an instance",
  instances: "finds running instances, starts and stops them",
  resolver: "points the system's resolver and proxy settings at an instance",
  instance: "one running postern: listeners, reload, drain, status, DNS names",
  fleet: "update and refresh of catalogues, tests of clusters",
  roles: "the servers other than an instance: Konnectivity's parts, the egress controller",
  service: "systemd and launchd",
  doctor: "checks of the configuration and its environment",
  setup: "looks at this machine, proposes a configuration, and tries every line",
  programs: "commands in clusters, kubeconfigs, emergency credentials",
  permissions: "the permissions of each command; reads the command line before the parser loads",
  cli: "one file for each command; all output, all exit codes",
  start: "revokes permissions, then runs `cli`",
  demo: "the self-contained simulation of `postern demo`",
};

/** A diagram and a table of the imports between rooms. */
export async function roomsPart(source: URL): Promise<string> {
  const imports = await importsBetween(source);
  const names = [...imports.keys()].filter((name) => name !== "main");
  const rows = names.map((name) => [
    `\`${name}\``,
    holds[name] ?? "",
    listed([...imports.get(name) ?? []]),
    mayImport(name, names),
  ]);
  return [
    "```mermaid\nflowchart TD\n" + [...arrows(imports)].map((arrow) => `  ${arrow}\n`).join("") + "```",
    "An arrow is an import. The diagram omits arrows that other arrows imply; the table lists all imports.",
    table(["room", "holds", "imports", "may import"], rows),
  ].join("\n\n");
}

/** A room that assembles features may import all rooms before it in the table. */
function mayImport(name: string, names: readonly string[]): string {
  const allowed = (rooms[name] ?? []).filter((room) => names.includes(room));
  return allowed.length > mostListed ? "the features and the rooms above" : listed(allowed);
}

const mostListed = 12;

/** The rooms that each room imports, in the order of the lint rule's table; `main` is `main.ts`. */
async function importsBetween(source: URL): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>();
  const present: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(source)) if (isDirectory) present.push(name);
  const inOrder = Object.keys(rooms).filter((room) => present.includes(room));
  for (const room of inOrder) {
    const imported = new Set<string>();
    for await (const text of textsBelow(new URL(`${room}/`, source))) {
      for (const [, other = ""] of text.matchAll(/"(?:\.\.\/)+([a-z]+)\/mod\.ts"/g)) imported.add(other);
    }
    found.set(room, new Set(inOrder.filter((other) => imported.has(other))));
  }
  const main = await Deno.readTextFile(new URL("../main.ts", source));
  found.set("main", new Set(inOrder.filter((room) => main.includes(`"./src/${room}/mod.ts"`))));
  return found;
}

async function* textsBelow(directory: URL): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    if (isDirectory) yield* textsBelow(new URL(`${name}/`, directory));
    else yield await Deno.readTextFile(new URL(name, directory));
  }
}

function* arrows(imports: ReadonlyMap<string, ReadonlySet<string>>): Generator<string> {
  for (const [from, targets] of imports) {
    for (const to of targets) {
      const isShort = [...targets].some((other) => other !== to && reaches(other, to, imports));
      if (!isShort) yield `${from === "main" ? "main[main.ts]" : from} --> ${to}`;
    }
  }
}

function reaches(from: string, to: string, imports: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  return [...imports.get(from) ?? []].some((next) => next === to || reaches(next, to, imports));
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "–" : names.join(" ");
}
