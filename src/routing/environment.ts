import { percentDecoded } from "../core/mod.ts";
import { formatTarget, isLoopbackHost, parseTarget, targetOf } from "../words/mod.ts";
import type { Client } from "./no_proxy.ts";
import { type EnvironmentChange, posixWord } from "./shell_lines.ts";

/** The programs for which `env` writes variables; `all` combines them. */
export type ProgramKind = Client | "jdbc" | "node" | "ssh" | "git" | "all";

export interface EnvironmentOptions {
  /** The address of the listener for programs: `127.0.0.1:12000`. */
  readonly listener: string;
  /** The listener's only protocol; absent when it accepts both. */
  readonly speaks?: "socks" | "http" | undefined;
  readonly credentials?: { readonly name: string; readonly password: string };
  /** The targets that bypass postern, in the form of `noProxyFor` for the same programs. */
  readonly noProxy: readonly string[];
  /** The same targets in Java's form, for `all`. */
  readonly javaNoProxy?: readonly string[] | undefined;
  readonly programs?: ProgramKind | undefined;
  /** Whether ALL_PROXY names the SOCKS proxy. Several HTTP libraries fail when they read such a value. */
  readonly socks?: boolean | undefined;
  /** The command line that starts postern, for programs that run `postern nc`. */
  readonly self?: readonly string[] | undefined;
  /** The instance for `postern nc`, if not the default one, and its configuration. */
  readonly id?: string | undefined;
  readonly config?: string | undefined;
  /** The environment in which the shell will evaluate the lines. */
  readonly current: (name: string) => string | undefined;
}

/** The changes, and notes for the user. */
export interface EnvironmentPlan {
  readonly changes: readonly EnvironmentChange[];
  readonly notes: readonly string[];
}

/** Lists the variables that `env` has set, so that `--unset` removes only those. */
const marker = "POSTERN_ENV";
const saved = (name: string): string => `POSTERN_SAVED_${name}`;
const proxyVariables = ["http_proxy", "https_proxy", "ws_proxy", "wss_proxy", "all_proxy"];

/**
 * Sets the proxy variables in the form that all tested programs understand, or for one kind of program. Saves
 * former values under another name, once: a second `env` in the same shell must not save postern's own values.
 */
export function environmentFor(options: EnvironmentOptions): EnvironmentPlan {
  const { current, listener } = options;
  const variables = variablesOf(options);
  const before = markedNames(current);
  const copies: EnvironmentChange[] = [];
  const notes: string[] = [];
  const upstreams = new Set<string>();
  for (const name of Object.keys(variables)) {
    const value = current(name);
    if (before.includes(name) || value === undefined || value === "") continue;
    if (!proxyVariables.includes(name.toLowerCase())) {
      copies.push({ copy: name, to: saved(name) });
    } else if (isListener(value, listener)) {
      notes.push(`${name} already points to this instance, so postern does not save it; --unset removes it`);
    } else {
      copies.push({ copy: name, to: saved(name) });
      upstreams.add(value);
    }
  }
  notes.push(...programNotes(options), ...upstreamNotes([...upstreams]));
  const names = [...new Set([...before, ...Object.keys(variables)])];
  const sets = Object.entries({ ...variables, [marker]: names.join(",") });
  return { changes: [...copies, ...sets.map(([set, value]) => ({ set, value }))], notes };
}

/** Undoes the changes of `environmentFor` in this environment. */
export function undoEnvironment(current: (name: string) => string | undefined): EnvironmentPlan {
  const names = markedNames(current);
  if (names.length === 0) return { changes: [], notes: ["postern env has set no variable here"] };
  const kept = names.filter((name) => current(saved(name)) !== undefined);
  // Where names ignore case, two of them share one saved value: copy all before the first removal.
  return {
    changes: [
      ...names.filter((name) => !kept.includes(name)).map((unset) => ({ unset })),
      ...kept.map((name) => ({ copy: saved(name), to: name })),
      ...kept.map((name) => ({ unset: saved(name) })),
      { unset: marker },
    ],
    notes: [],
  };
}

/** Any program can set the marker, so only known variable names are accepted. */
function markedNames(current: (name: string) => string | undefined): string[] {
  const known =
    /^(?:(?:https?|wss?|all|no)_proxy|(?:HTTPS?|ALL|NO)_PROXY|JAVA_TOOL_OPTIONS|NODE_USE_ENV_PROXY|GIT_SSH_COMMAND|RSYNC_RSH)$/;
  return (current(marker) ?? "").split(",").filter((name) => known.test(name));
}

function variablesOf(options: EnvironmentOptions): Record<string, string> {
  const { programs = "portable" } = options;
  const lower = proxyVariablesOf(options);
  const upper = Object.fromEntries(Object.entries(lower).map(([name, value]) => [name.toUpperCase(), value]));
  const { all_proxy, ...withoutAll } = lower;
  const { ALL_PROXY: _, ...upperWithoutAll } = upper;
  // aiohttp reads a variable for each scheme and knows no other for WebSockets.
  const webSockets = { ws_proxy: lower.http_proxy, wss_proxy: lower.https_proxy };
  const node = { NODE_USE_ENV_PROXY: "1" };
  const portable = { ...lower, ...upper, ...webSockets, ...node };
  const ssh = () => sshVariables(options);
  const variables: Record<ProgramKind | "portable", () => Record<string, string>> = {
    portable: () => portable,
    go: () => upperWithoutAll,
    curl: () => ({ ...withoutAll, all_proxy }),
    python: () => ({ ...withoutAll, ...webSockets }),
    java: () => javaVariable(options, options.speaks === "socks" || options.socks ? ["socks"] : ["http"]),
    jdbc: () => javaVariable(options, ["socks"]),
    node: () => ({ ...withoutAll, ...node }),
    ssh,
    git: () => ({ ...withoutAll, GIT_SSH_COMMAND: ssh().GIT_SSH_COMMAND }),
    all: () => ({
      ...portable,
      ...javaVariable(
        { ...options, noProxy: options.javaNoProxy ?? [] },
        options.speaks === undefined ? ["http", "socks"] : [options.speaks],
      ),
      ...ssh(),
    }),
  };
  return variables[programs]();
}

function proxyVariablesOf({ listener, speaks, credentials, socks, noProxy }: EnvironmentOptions) {
  const user = credentials
    ? `${encodeURIComponent(credentials.name)}:${encodeURIComponent(credentials.password)}@`
    : "";
  const at = (scheme: string) => `${scheme}://${user}${authorityOf(listener)}`;
  const http = at(speaks === "socks" ? "socks5h" : "http");
  return {
    http_proxy: http,
    https_proxy: http,
    all_proxy: socks && speaks !== "http" ? at("socks5h") : http,
    no_proxy: noProxy.join(","),
  };
}

/** What the variables cannot do for these programs. */
function programNotes({ speaks, programs, credentials, socks }: EnvironmentOptions): string[] {
  const isJava = programs === "java" || programs === "jdbc" || programs === "all";
  const isNode = programs === "node" || programs === "all";
  return [
    ...(speaks === "socks"
      ? [
        "this listener accepts SOCKS only, which some programs do not support; listen.mixed also accepts HTTP",
      ]
      : []),
    ...(speaks === "http" && (socks || programs === "jdbc")
      ? ["this listener accepts HTTP only; listen.mixed also accepts SOCKS"]
      : []),
    ...(isJava && credentials ? ["Java does not read a proxy password from its properties"] : []),
    ...(isNode
      ? [
        "Node.js before 22.21 and 24 ignores these variables: fetch connects directly and asks the local resolver",
      ]
      : []),
    ...(programs === "ssh" || programs === "git"
      ? [
        "GIT_SSH_COMMAND overrides ProxyJump and ProxyCommand of your ssh configuration; to keep them: postern ssh-config",
      ]
      : []),
    ...(programs === "ssh"
      ? [
        "ssh and scp read no proxy variable: ssh -o ProxyCommand='postern nc %h %p' HOST; or: postern ssh-config",
      ]
      : []),
  ];
}

/** The value that a variable had before the first `env`; undefined for an empty one. */
export function formerValue(name: string, current: EnvironmentOptions["current"]): string | undefined {
  return current(markedNames(current).includes(name) ? saved(name) : name) || undefined;
}

/** Adds to the options of Java. A JVM prints this variable, so it never contains a password. */
function javaVariable(
  { listener, current, noProxy }: EnvironmentOptions,
  protocols: readonly ("http" | "socks")[],
) {
  const { host, port } = parseTarget(listener);
  const options = {
    http: [
      ...["http", "https"].flatMap((
        scheme,
      ) => [`-D${scheme}.proxyHost=${host}`, `-D${scheme}.proxyPort=${port}`]),
      `-Dhttp.nonProxyHosts=${noProxy.join("|")}`,
    ],
    // JDBC drivers connect with plain sockets, to which only these properties apply.
    socks: [
      `-DsocksProxyHost=${host}`,
      `-DsocksProxyPort=${port}`,
      `-DsocksNonProxyHosts=${noProxy.join("|")}`,
    ],
  };
  const name = "JAVA_TOOL_OPTIONS";
  return {
    [name]: [formerValue(name, current) ?? [], ...protocols.map((protocol) => options[protocol])].flat().join(
      " ",
    ),
  };
}

/** The ssh commands of git and rsync: `postern nc` connects to the server by the rules. */
function sshVariables({ self = ["postern"], id, config, current }: EnvironmentOptions) {
  const nc = [
    ...[...self, "nc"],
    // postern nc uses an instance or a file, not both.
    ...(id !== undefined ? ["--id", id] : config !== undefined ? ["--config", config] : []),
  ];
  // ssh passes the command to a shell, after it has replaced the tokens.
  const command = `${nc.map((word) => posixWord(word.replaceAll("%", "%%"))).join(" ")} %h %p`;
  const option = `ProxyCommand=${command}`;
  const added = (name: string, word: string) => `${formerValue(name, current) ?? "ssh"} -o ${word}`;
  return {
    GIT_SSH_COMMAND: added("GIT_SSH_COMMAND", posixWord(option)),
    // rsync splits this value itself: a doubled quote stands for one.
    RSYNC_RSH: added("RSYNC_RSH", `'${option.replaceAll("'", "''")}'`),
  };
}

function authorityOf(listener: string): string {
  return formatTarget(parseTarget(listener));
}

/** Whether a proxy variable points to the listener itself, in any spelling for this machine. */
function isListener(value: string, listener: string): boolean {
  const url = URL.parse(value.includes("://") ? value : `http://${value}`);
  if (!url) return false;
  const own = parseTarget(listener);
  const { host, port } = targetOf(url);
  const isSameHost = host === own.host || (isLoopbackHost(host) && isLoopbackHost(own.host));
  return isSameHost && port === own.port;
}

/** Returns lines that configure a former proxy as a transport; a password goes into a file. */
function upstreamNotes(upstreams: readonly string[]): string[] {
  const lines = upstreams.flatMap((value, index) => {
    const url = URL.parse(value.includes("://") ? value : `http://${value}`);
    if (!url || !/^(?:https?|socks5h?):$/.test(url.protocol)) return [];
    const user = url.username === ""
      ? ""
      : `, user: ${JSON.stringify(percentDecoded(url.username) ?? url.username)}`;
    const password = url.password === "" ? "" : ", passwordFile: FILE";
    const name = index === 0 ? "corp" : `corp${index + 1}`;
    return [
      `  ${name}: { proxy: { url: ${JSON.stringify(`${url.protocol}//${url.host}`)}${user}${password} } }`,
    ];
  });
  if (lines.length === 0) return [];
  return [
    `this shell used another proxy before; to use it through postern, configure\ntransports:\n${
      lines.join("\n")
    }`,
  ];
}
