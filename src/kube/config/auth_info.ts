import {
  choice,
  dictionary,
  flag,
  formatPath,
  type Infer,
  isError,
  list,
  optional,
  record,
  refine,
  rootContext,
  type Schema,
  secret,
  text,
} from "../../config/mod.ts";
import { jsonIn } from "../../core/mod.ts";
import { isPemIn } from "../../clusters/mod.ts";
import { execArgumentProblems } from "./exec_arguments.ts";

/** A user of a kubeconfig (`kubeconfig.v1.AuthInfo`), limited to the fields that a catalogue may set. */
export type AuthInfo = Infer<typeof authInfo>;

/** A user read from a fact, or the problems that make it unusable. */
export type ReadAuthInfo =
  | { readonly user: AuthInfo; readonly isSecret: boolean }
  | { readonly problems: readonly string[] };

export interface AuthInfoOptions {
  /** The programs that may be started, by bare names. */
  readonly allowExec: readonly string[];
}

/** A single word for an HTTP header: a line break would start a second header. */
const word = () =>
  refine(
    secret(),
    (value) => /^[\x21-\x7e]{1,65536}$/.test(value) ? undefined : "must be a single ASCII word",
  );

const line = () => text({ max: 2000, pattern: /^\P{C}+$/u, describe: "a string without line breaks" });

const pem = (kind: string) =>
  refine(secret(), (value) => isPemIn(value, kind) ? undefined : `must be base64-encoded PEM (${kind})`);

const exec = record({
  apiVersion: choice("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"),
  command: line(),
  args: optional(list(line(), { max: 100 })),
  env: optional(list(record({ name: environmentName(), value: word() }), { max: 50 })),
  installHint: optional(line()),
  provideClusterInfo: optional(flag()),
  interactiveMode: optional(choice("Never", "IfAvailable", "Always")),
});

/** A fact must not name files, so `client-certificate`, `client-key` and `tokenFile` are unknown here. */
const authInfo = record({
  exec: optional(exec),
  token: optional(word()),
  username: optional(line()),
  password: optional(secret()),
  "client-certificate-data": optional(pem("CERTIFICATE")),
  "client-key-data": optional(pem("(?:[A-Z]+ )?PRIVATE KEY")),
  as: optional(line()),
  "as-uid": optional(line()),
  "as-groups": optional(list(line(), { max: 100 })),
  "as-user-extra": optional(dictionary(list(line(), { max: 100 }))),
});

/** Maximum length of a user as a JSON text, in characters. */
const mostCharacters = 1_000_000;

/**
 * Reads the user from a fact: an object, or a string that contains JSON. A wrong or unknown field invalidates the whole
 * user, because half a user could sign in as someone else.
 */
export function readAuthInfo(fact: unknown, { allowExec }: AuthInfoOptions): ReadAuthInfo {
  const value = typeof fact === "string" ? jsonIn(fact.length > mostCharacters ? "" : fact) : fact;
  if (value === undefined) return { problems: ["it is not JSON"] };
  const context = rootContext({ base: "/" });
  const user = authInfo.parse(value, context);
  const problems = context.problems.filter(isError).map(({ path, message }) =>
    path.length === 0 ? `it ${message}` : `${formatPath(path)} ${message}`
  );
  if (user?.exec) problems.push(...execProblems(user.exec, allowExec));
  if (user && problems.length === 0 && !signsIn(user)) {
    problems.push("it has neither exec, token, username nor client certificate");
  }
  return user && problems.length === 0
    ? { user: withInteractiveMode(user), isSecret: holdsSecret(user) }
    : { problems };
}

/** kubectl rejects `v1` plugins without interactiveMode. */
function withInteractiveMode(user: AuthInfo): AuthInfo {
  const { exec } = user;
  if (exec?.apiVersion !== "client.authentication.k8s.io/v1" || exec.interactiveMode !== undefined) {
    return user;
  }
  return { ...user, exec: { ...exec, interactiveMode: "IfAvailable" } };
}

function execProblems({ command, args = [] }: Infer<typeof exec>, allowExec: readonly string[]): string[] {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(command)) {
    return ["exec.command must be the name of a program without a path"];
  }
  if (!allowExec.includes(command)) {
    return [`exec.command is ${JSON.stringify(command)}, which is not in allowExec`];
  }
  return execArgumentProblems(command, args);
}

/**
 * A variable for the plugin itself. A fact must not set variables that change which code is loaded or
 * started, where files are, or which certificates the program trusts.
 */
function environmentName(): Schema<string> {
  const foreign = new RegExp(
    "^(?:" + [
      "LD_.*|DYLD_.*|_RLD.*|GLIBC.*|MALLOC_.*|GCONV_PATH|NLSPATH|LOCPATH|LOCALDOMAIN|RES_OPTIONS|HOSTALIASES",
      "PATH|PATHEXT|COMSPEC|SYSTEMROOT|WINDIR|HOME|USER.*|LOGNAME|.*APPDATA|XDG_.*|TMP|TEMP|TMPDIR|PWD|CDPATH",
      "SHELL.*|BASH.*|ZDOTDIR|ENV|IFS|PS[0-9]|PROMPT.*|FPATH|EDITOR|VISUAL|PAGER|LESS.*|BROWSER|TERM.*|DISPLAY",
      "PYTHON.*|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|NODE_.*|NPM_.*|DENO_.*|BUN_.*|LUA_.*|PHP.*|JAVA.*|JDK_.*|_JAVA.*|CLASSPATH",
      "GO.*|RUST.*|DOTNET_.*|COMPLUS_.*|CORECLR_.*|MONO_.*|GIT_.*|SSH_.*|GPG_.*|DBUS_.*|WAYLAND_.*",
      "SSL_.*|OPENSSL_.*|CURL_.*|REQUESTS_.*|.*_CA_BUNDLE|.*_PROXY|KUBE.*|KHARON_.*|POSTERN_.*|COMMODORE_.*",
      "AWS_.*|GOOGLE_.*|CLOUDSDK_.*|AZURE_CONFIG_DIR|OC_.*",
    ].join("|") + ")$",
    "i",
  );
  return refine(
    text({ max: 100, pattern: /^[A-Za-z_][A-Za-z0-9_]*$/, describe: "the name of a variable" }),
    (name) =>
      foreign.test(name)
        ? "must not change which code is loaded or started, or what the program trusts"
        : undefined,
  );
}

function signsIn(user: AuthInfo): boolean {
  return user.exec !== undefined || user.token !== undefined || user.username !== undefined ||
    user["client-certificate-data"] !== undefined;
}

function holdsSecret(user: AuthInfo): boolean {
  const { token, password, exec } = user;
  const isNamed = (text: string) => /secret|token[=-]|passw/i.test(text.replace(/^get-token$/, ""));
  return token !== undefined || password !== undefined || user["client-key-data"] !== undefined ||
    exec?.env !== undefined || (exec?.args ?? []).some(isNamed);
}
