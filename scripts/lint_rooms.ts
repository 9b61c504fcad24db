/**
 * The rooms of `src/`, lowest first, with their allowed imports; ARCHITECTURE.md describes the rooms. Rooms
 * below `plan` are separate features; those from `plan` on combine features.
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
  konnectivity: ["words", "core", "world", "wire", "config", "http", "mux", "kube", "listeners", "dns"],
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
const cli = [...programs, "roles", "service", "doctor", "setup", "programs"];

/** Every room with the rooms that it may import. */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  ...features,
  runtime: ["words", "core", "world"],
  // Types only: main.ts loads this room before it drops permissions.
  permissions: ["world", "runtime"],
  plan,
  instances,
  resolver,
  instance,
  fleet: parts,
  roles: parts,
  service: parts,
  doctor: parts,
  setup: [...parts, "service"],
  programs,
  demo: [...cli, "runtime"],
  cli: [...cli, "demo", "permissions"],
  start: ["permissions", "core", "world", "runtime", "cli"],
};

/** The maximum number of exported names; more names mean that the room combines two ideas. */
export const mostExports: Readonly<Record<string, number>> = { core: 80, world: 80, wire: 80, config: 50 };
export const usualExports = 40;

/** The rooms that `main.ts` may import. */
const mainImports = ["start"];

/** The other files that `main.ts` may import. */
const mainFiles = ["deno.json"];

/** Node modules that access the system: like `Deno.*`, only for `runtime`. */
const systemModules = ["fs", "fs/promises", "process", "os", "child_process", "dns", "dns/promises", "dgram"];

/** Node's HTTP and sockets: no half-close, ambient proxies, or crashes (docs/decisions). */
const foreignSockets = ["http", "https", "http2", "net"];

const root = normal(new URL("../", import.meta.url).pathname).replace(/\/$/, "");

/** Checks the imports between rooms and the access to the system. */
const plugin: Deno.lint.Plugin = {
  name: "rooms",
  rules: {
    "imports": { create: checkImports },
    "exports": { create: checkExports },
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
    return isAllowed ? undefined : `Cannot import "${path}": src/ and main.ts may import only each other`;
  }
  const [, room, file] = to;
  if (room === from.room) {
    return file === "mod.ts"
      ? "Cannot import the mod.ts of the same room: import the file itself"
      : undefined;
  }
  const allowed = from.room === "main" ? mainImports : rooms[from.room] ?? [];
  if (!allowed.includes(room)) {
    return `Cannot import room "${room}" from "${from.room}": allowed are ${allowed.join(", ") || "none"}`;
  }
  return file === "mod.ts" ? undefined : `Cannot import "${path}": import another room through its mod.ts`;
}

function nodeProblem(from: Place, module: string): string | undefined {
  if (foreignSockets.includes(module)) {
    return `Cannot use "node:${module}": connections are Conn, HTTP is in wire`;
  }
  if (!mayTouchSystem(from) && systemModules.includes(module)) {
    return `Cannot use "node:${module}" in "${from.room}": only runtime may access the system`;
  }
  return undefined;
}

/** Requires a list of re-exported names: a namespace would hide names from the count of a room. */
function checkExports(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const from = placeOf(context.filename);
  if (!from) return {};
  return {
    ExportAllDeclaration(node) {
      if (!node.source.value.startsWith(".")) return;
      context.report({ node, message: "Cannot export everything: list the names" });
    },
  };
}

function checkSystem(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const from = placeOf(context.filename);
  if (!from || mayTouchSystem(from)) return {};
  return {
    Identifier(node) {
      if (node.name !== "Deno") return;
      context.report({ node, message: `Cannot use Deno.* in "${from.room}": only runtime may` });
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

/** In two pieces, because no file may contain the flag. */
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

/** Returns the room of a file; undefined for tests and scripts, which may import any file. */
function placeOf(filename: string): Place | undefined {
  const absolute = normal(filename);
  if (!absolute.startsWith(`${root}/`)) return undefined;
  const path = absolute.slice(root.length + 1);
  if (path === "main.ts") return { path, room: "main" };
  // Code for browsers is text for postern, and uses the browser's network.
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

/** Uses forward slashes, and no slash before a drive letter. */
function normal(path: string): string {
  return decodeURIComponent(path).replaceAll("\\", "/").replace(/^\/(?=[A-Za-z]:)/, "");
}
