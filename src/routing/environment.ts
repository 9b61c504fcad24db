import { percentDecoded } from "../core/mod.ts";
import { formatTarget, isLoopbackHost, parseTarget, targetOf } from "../words/mod.ts";
import type { Client } from "./no_proxy.ts";
import type { EnvironmentChange } from "./shell_lines.ts";

export interface EnvironmentOptions {
  /** The address of the listener for programs: `127.0.0.1:12000`. */
  readonly listener: string;
  /** The listener's only protocol; absent when it accepts both. */
  readonly speaks?: "socks" | "http" | undefined;
  readonly credentials?: { readonly name: string; readonly password: string };
  /** The targets that bypass postern, in the form of `noProxyFor` for the same client. */
  readonly noProxy: readonly string[];
  readonly client?: Client | undefined;
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
const proxyVariables = ["http_proxy", "https_proxy", "all_proxy"];

/**
 * Sets the proxy variables in the form that most programs understand, or in a client's own. Saves former
 * values under another name, once: a second `env` in the same shell must not save postern's own values.
 */
export function environmentFor(options: EnvironmentOptions): EnvironmentPlan {
  const { current, listener, client, noProxy } = options;
  const variables = client === "java" ? javaVariables(options, noProxy) : proxyVariablesOf(options, noProxy);
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
  if (options.speaks === "socks") {
    notes.push(
      "this listener accepts SOCKS only, which some programs do not support; listen.mixed also accepts HTTP",
    );
  }
  if (client === "java" && options.credentials) {
    notes.push("Java does not read a proxy password from its properties");
  }
  notes.push(...upstreamNotes([...upstreams]));
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
  const known = /^(?:(?:https?|all|no)_proxy|(?:HTTPS?|ALL|NO)_PROXY|JAVA_TOOL_OPTIONS)$/;
  return (current(marker) ?? "").split(",").filter((name) => known.test(name));
}

function proxyVariablesOf(
  { listener, speaks, credentials, client }: EnvironmentOptions,
  items: readonly string[],
) {
  const user = credentials
    ? `${encodeURIComponent(credentials.name)}:${encodeURIComponent(credentials.password)}@`
    : "";
  const at = (scheme: string) => `${scheme}://${user}${authorityOf(listener)}`;
  const http = at(speaks === "socks" ? "socks5h" : "http");
  const lower = {
    http_proxy: http,
    https_proxy: http,
    ...(client === undefined || client === "curl"
      ? { all_proxy: at(speaks === "http" ? "http" : "socks5h") }
      : {}),
    no_proxy: items.join(","),
  };
  const upper = Object.fromEntries(Object.entries(lower).map(([name, value]) => [name.toUpperCase(), value]));
  if (client === "go") return upper;
  return client === undefined ? { ...lower, ...upper } : lower;
}

function javaVariables({ listener, speaks, current }: EnvironmentOptions, items: readonly string[]) {
  const { host, port } = parseTarget(listener);
  const former = current(
    markedNames(current).includes("JAVA_TOOL_OPTIONS") ? saved("JAVA_TOOL_OPTIONS") : "JAVA_TOOL_OPTIONS",
  );
  const options = speaks === "socks"
    ? [
      `-DsocksProxyHost=${host}`,
      `-DsocksProxyPort=${port}`,
      `-DsocksNonProxyHosts=${items.join("|")}`,
    ]
    : [
      ...["http", "https"].flatMap((
        scheme,
      ) => [`-D${scheme}.proxyHost=${host}`, `-D${scheme}.proxyPort=${port}`]),
      `-Dhttp.nonProxyHosts=${items.join("|")}`,
    ];
  return { JAVA_TOOL_OPTIONS: [...(former ? [former] : []), ...options].join(" ") };
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
