import { isMapping } from "../../config/mod.ts";
import type { PosternError } from "../../words/mod.ts";
import type { EntryReader, PemSource } from "./kube_context.ts";

/** A user of a kubeconfig with all its credentials. */
export interface KubeUser {
  readonly name: string;
  readonly certificate?: PemSource;
  readonly key?: PemSource;
  readonly token?: string;
  /** Reread regularly, because the token may rotate. Takes precedence over `token`. */
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly exec?: ExecPlugin;
  readonly impersonate?: Impersonation;
}

/** A program that prints credentials (`ExecConfig`). */
export interface ExecPlugin {
  readonly apiVersion: "client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1";
  /** A bare name, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint?: string;
  readonly providesClusterInfo: boolean;
  readonly interactiveMode: "Never" | "IfAvailable" | "Always";
}

/** The user to impersonate; requires the right to do so. */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Reads the user of an entry; without an entry, requests carry no credentials. */
export function userOf(name: string, read: EntryReader | undefined): KubeUser {
  if (!read) return { name };
  if (read.value("auth-provider") !== undefined) {
    throw read.broken(
      `the user "${name}" has an auth-provider, which Kubernetes no longer supports: use exec`,
    );
  }
  const certificate = read.pem("client-certificate");
  const key = read.pem("client-key");
  if (!certificate !== !key) {
    throw read.broken(`the user "${name}" has only one of client-certificate and client-key`);
  }
  const [token, tokenFile] = [read.text("token"), read.path("tokenFile")];
  const [username, password] = [read.text("username"), read.text("password")];
  const exec = execIn(read);
  const impersonate = impersonationIn(read);
  return {
    name,
    ...(certificate && { certificate }),
    ...(key && { key }),
    ...(token !== undefined && { token }),
    ...(tokenFile !== undefined && { tokenFile }),
    ...(username !== undefined && { username, password: password ?? "" }),
    ...(exec && { exec }),
    ...(impersonate && { impersonate }),
  };
}

function execIn(read: EntryReader): ExecPlugin | undefined {
  const exec = read.value("exec");
  if (exec === undefined) return undefined;
  if (!isMapping(exec)) throw read.broken("exec is not a mapping");
  const { apiVersion, command, args = [], env = [], installHint, provideClusterInfo } = exec;
  if (apiVersion !== v1 && apiVersion !== v1beta1) {
    throw read.broken(`the apiVersion of exec is neither ${v1} nor v1beta1`);
  }
  if (typeof command !== "string" || command === "") throw read.broken("exec names no command");
  if (args !== null && !isTexts(args)) throw read.broken("the args of exec are not a list of strings");
  const interactiveMode = exec["interactiveMode"] ?? (apiVersion === v1beta1 ? "IfAvailable" : undefined);
  if (interactiveMode !== "Never" && interactiveMode !== "IfAvailable" && interactiveMode !== "Always") {
    throw read.broken("the interactiveMode of exec must be Never, IfAvailable or Always");
  }
  return {
    apiVersion,
    // Like kubectl: a relative path starts from the kubeconfig's directory, a bare name is looked up in PATH.
    command: /[/\\]/.test(command) ? read.absolute(command) : command,
    args: args ?? [],
    env: environmentIn(env, read.broken.bind(read)),
    ...(typeof installHint === "string" && installHint !== "" && { installHint }),
    providesClusterInfo: read.flag("provideClusterInfo", provideClusterInfo ?? false),
    interactiveMode,
  };
}

const v1 = "client.authentication.k8s.io/v1";
const v1beta1 = "client.authentication.k8s.io/v1beta1";

function environmentIn(env: unknown, broken: (why: string) => PosternError): Record<string, string> {
  const found: Record<string, string> = {};
  if (env === null) return found;
  if (!Array.isArray(env)) throw broken("the env of exec is not a list");
  for (const entry of env) {
    const { name, value = "" } = isMapping(entry) ? entry : {};
    if (typeof name !== "string" || name === "" || typeof value !== "string") {
      throw broken("an entry of exec.env lacks a name or a string as its value");
    }
    found[name] = value;
  }
  return found;
}

function impersonationIn(read: EntryReader): Impersonation | undefined {
  const user = read.text("as");
  const uid = read.text("as-uid");
  const groups = read.texts("as-groups");
  const extra = read.value("as-user-extra") ?? {};
  if (!isMapping(extra) || !Object.values(extra).every(isTexts)) {
    throw read.broken("as-user-extra is not a mapping of lists of strings");
  }
  const isEmpty = uid === undefined && groups.length === 0 && Object.keys(extra).length === 0;
  if (user === undefined) {
    if (isEmpty) return undefined;
    throw read.broken("as-uid, as-groups and as-user-extra require as");
  }
  return {
    user,
    ...(uid !== undefined && { uid }),
    groups,
    extra: extra as Record<string, readonly string[]>,
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
