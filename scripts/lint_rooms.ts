/**
 * The rooms of `src/`, lowest first, and which others each may import: ARCHITECTURE.md says what they hold. Rooms below
 * `plan` are features of their own; those from `plan` on put them together.
 */
const features: Readonly<Record<string, readonly string[]>> = {
  words: [],
  core: ["words"],
  world: ["words", "core"],
  wire: ["words", "core"],
  config: ["words", "core"],
  routing: ["words", "core", "config"],
  http: ["words", "core", "world", "wire"],
  mux: ["words", "core", "wire"],
  control: ["words", "core", "world", "wire", "config", "http"],
  clusters: ["words", "core", "config"],
  signin: ["words", "core", "world", "wire", "config", "http", "clusters"],
  kube: ["words", "core", "world", "wire", "config", "http", "mux", "clusters"],
  ssh: ["words", "core", "world", "wire", "config", "http", "mux"],
  catalogue: ["words", "core", "world", "config", "routing", "http", "clusters", "signin", "kube"],
  emergency: ["words", "core", "world", "config", "http", "clusters", "kube"],
  egress: ["words", "core", "world", "config", "http", "clusters", "kube"],
  listeners: ["words", "core", "world", "wire", "config", "http", "mux", "control"],
  dns: ["words", "core", "world", "wire", "config", "listeners"],
  konnectivity: ["words", "core", "world", "wire", "config", "http", "mux", "kube", "listeners"],
  transports: [
    "words",
    "core",
    "world",
    "wire",
    "config",
    "http",
    "mux",
    "ssh",
    "kube",
    "konnectivity",
    "egress",
  ],
};

const plan = Object.keys(features);
const instances = [...plan, "plan"];
const resolver = [...instances, "instances"];
const instance = [...resolver, "resolver"];
const parts = [...instance, "instance"];
const programs = [...parts, "fleet"];
const cli = [...programs, "roles", "service", "doctor", "programs"];

/** Every room with those that it may import. */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  ...features,
  runtime: ["words", "core", "world"],
  // Types only: main.ts loads this room before it gives anything up.
  permissions: ["world", "runtime"],
  plan,
  instances,
  resolver,
  instance,
  fleet: parts,
  roles: parts,
  service: parts,
  doctor: parts,
  programs,
  demo: [...cli, "runtime"],
  cli: [...cli, "demo", "permissions"],
  start: ["permissions", "core", "world", "runtime", "cli"],
};

/** How many names a room may export; more means that it has two ideas. */
export const mostExports: Readonly<Record<string, number>> = { core: 80, world: 80, wire: 80, config: 50 };
export const usualExports = 40;

/** What `main.ts` may join. */
const mainImports = ["start"];

/** What `main.ts` needs beside the rooms. */
const mainFiles = ["deno.json"];

/** The system by another name: for `runtime` only, as `Deno.*` is. */
const systemModules = ["fs", "fs/promises", "process", "os", "child_process", "dns", "dns/promises", "dgram"];

/** HTTP and sockets that are not ours: no half-close, ambient proxies, or crashes (docs/decisions). */
const foreignSockets = ["http", "https", "http2", "net"];

const root = normal(new URL("../", import.meta.url).pathname).replace(/\/$/, "");

/** Checks the direction of imports between rooms, and who may touch the system. */
const plugin: Deno.lint.Plugin = {
  name: "rooms",
  rules: {
    "imports": { create: checkImports },
    "doors": { create: checkEntrances },
    "system": { create: checkSystem },
    "ambient-network": { create: checkAmbientNetwork },
    "narrow-permissions": { create: checkPermissionFlags },
  },
};
export default plugin;

function checkImports(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const from = placeOf(context.filename);
  if (!from) return {};
  const check = (node: Deno.lint.Node, specifier: unknown) => {
    const message = typeof specifier === "string" ? importProblem(from, specifier) : undefined;
    if (message) context.report({ node, message });
  };
  return {
    ImportDeclaration: (node) => check(node, node.source.value),
    ExportAllDeclaration: (node) => check(node, node.source.value),
    ExportNamedDeclaration: (node) => check(node, node.source?.value),
    ImportExpression: (node) => check(node, node.source.type === "Literal" ? node.source.value : undefined),
    "TSImportType Literal": (node: Deno.lint.Literal) => check(node, node.value),
  };
}

function importProblem(from: Place, specifier: string): string | undefined {
  if (specifier.startsWith("node:")) return nodeProblem(from, specifier.slice("node:".length));
  if (!specifier.startsWith(".") && !specifier.startsWith("/")) return undefined;
  const path = resolve(from.path, specifier);
  const to = /^src\/([^/]+)\/(.+)$/.exec(path);
  if (!to?.[1]) {
    const isAllowed = from.room === "main" && mainFiles.includes(path);
    return isAllowed ? undefined : `Cannot import "${path}": src/ and main.ts stand alone`;
  }
  const [, room, file] = to;
  if (room === from.room) {
    return file === "mod.ts" ? "Cannot enter the own room by its door: import the file itself" : undefined;
  }
  const allowed = from.room === "main" ? mainImports : rooms[from.room] ?? [];
  if (!allowed.includes(room)) {
    return `Cannot import room "${room}" from "${from.room}": allowed are ${allowed.join(", ") || "none"}`;
  }
  return file === "mod.ts" ? undefined : `Cannot import "${path}": enter another room through its mod.ts`;
}

function nodeProblem(from: Place, module: string): string | undefined {
  if (foreignSockets.includes(module)) {
    return `Cannot use "node:${module}": connections are Conn, HTTP is in wire`;
  }
  if (!mayTouchSystem(from) && systemModules.includes(module)) {
    return `Cannot use "node:${module}" in "${from.room}": only runtime touches the system`;
  }
  return undefined;
}

/** A door lists what it lets through: every name, and none under another roof. */
function checkEntrances(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const from = placeOf(context.filename);
  if (!from || !/^src\/[^/]+\/mod\.ts$/.test(from.path)) return {};
  return {
    ExportAllDeclaration(node) {
      if (node.exported !== null && from.room === "wire") return;
      context.report({ node, message: "Cannot export everything: a room lists the names that it exports" });
    },
  };
}

function checkSystem(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const from = placeOf(context.filename);
  if (!from || mayTouchSystem(from)) return {};
  return {
    Identifier(node) {
      if (node.name !== "Deno") return;
      context.report({ node, message: `Cannot touch Deno.* in "${from.room}": only runtime does` });
    },
  };
}

function checkAmbientNetwork(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const from = placeOf(context.filename);
  if (!from) return {};
  const message = "Cannot use the ambient network: it obeys HTTP_PROXY and bypasses the routes";
  return {
    CallExpression(node) {
      const name = calledName(node.callee);
      if (name === "fetch" || name === "Deno.serve") context.report({ node, message });
    },
    NewExpression(node) {
      const name = calledName(node.callee);
      if (name === "WebSocket" || name === "EventSource") context.report({ node, message });
    },
  };
}

/** `fetch`, `globalThis.fetch` and `self.fetch` are all "fetch"; a method of another object is not. */
function calledName(callee: Deno.lint.Node): string | undefined {
  if (callee.type === "Identifier") return callee.name;
  if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return undefined;
  if (callee.property.type !== "Identifier") return undefined;
  const isGlobal = ["globalThis", "self", "window"].includes(callee.object.name);
  return isGlobal ? callee.property.name : `${callee.object.name}.${callee.property.name}`;
}

/** In pieces, because the words must appear nowhere. */
const allowAll = "--allow" + "-all";
const allowAllShort = "-" + "A";

function checkPermissionFlags(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const check = (node: Deno.lint.Node, text: unknown) => {
    if (typeof text !== "string" || !(text === allowAllShort || text.includes(allowAll))) return;
    context.report({ node, message: "Cannot allow everything: name the permissions" });
  };
  return {
    Literal: (node) => check(node, node.value),
    TemplateElement: (node) => check(node, node.raw),
  };
}

interface Place {
  /** Relative to the project, with forward slashes. */
  readonly path: string;
  /** A room of `src/`, or "main". */
  readonly room: string;
}

/** Where a file stands; undefined for tests and scripts, which may import anything. */
function placeOf(filename: string): Place | undefined {
  const absolute = normal(filename);
  if (!absolute.startsWith(`${root}/`)) return undefined;
  const path = absolute.slice(root.length + 1);
  if (path === "main.ts") return { path, room: "main" };
  // What a browser runs is text to everything here, and has the browser's own network.
  if (path.startsWith("src/listeners/pages/live_page/")) return undefined;
  const room = /^src\/([^/]+)\//.exec(path)?.[1];
  return room === undefined ? undefined : { path, room };
}

function mayTouchSystem(from: Place): boolean {
  return ["runtime", "start", "main"].includes(from.room);
}

function resolve(from: string, specifier: string): string {
  return decodeURIComponent(new URL(specifier, `file:///${from}`).pathname.slice(1));
}

/** Forward slashes, and no slash before a drive letter. */
function normal(path: string): string {
  return decodeURIComponent(path).replaceAll("\\", "/").replace(/^\/(?=[A-Za-z]:)/, "");
}
