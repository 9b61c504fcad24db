/** The arguments that a well-known program may get: its first words, and the options after them. */
interface UsualWork {
  readonly words: readonly string[];
  readonly options: Readonly<Record<string, RegExp>>;
}

const any = /^/;
/** The address of the browser's callback must not be reachable from other machines. */
const loopback = /^(?:(?:127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5}(?:,|$))+$/;
const loopbackUrl = /^https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?(?:\/[\w./-]*)?$/;

/**
 * The options of kubelogin that only control the sign-in. Its other options start programs, open URLs, read
 * and write arbitrary files (also `--log_file`), or disable TLS verification.
 */
const ofKubelogin: Readonly<Record<string, RegExp>> = {
  "--oidc-issuer-url": /^https:\/\//,
  "--oidc-client-id": any,
  "--oidc-client-secret": any,
  "--oidc-redirect-url": loopbackUrl,
  "--oidc-extra-scope": any,
  "--oidc-use-access-token": any,
  "--oidc-use-pkce": any,
  "--oidc-pkce-method": any,
  "--oidc-auth-request-extra-params": any,
  "--force-refresh": any,
  "--token-cache-storage": /^(?:disk|keyring|none)$/,
  "--certificate-authority-data": any,
  "--grant-type": any,
  "--listen-address": loopback,
  "--skip-open-browser": any,
  "--authentication-timeout-sec": /^[0-9]+$/,
  "--username": any,
  "--password": any,
};

const usualWork: Readonly<Record<string, UsualWork>> = {
  kubectl: { words: ["oidc-login", "get-token"], options: ofKubelogin },
  kubelogin: { words: ["get-token"], options: ofKubelogin },
  "kubectl-oidc_login": { words: ["get-token"], options: ofKubelogin },
  oc: {
    words: ["get-token"],
    options: {
      "--issuer-url": /^https:\/\//,
      "--client-id": any,
      "--client-secret": any,
      "--extra-scopes": any,
      "--callback-address": /^(?:127\.0\.0\.1|localhost)$/,
      "--callback-port": /^[0-9]{1,5}$/,
      "--auto-open-browser": any,
    },
  },
};

/** Options with which other programs start further programs or read another configuration. */
const startingOption =
  /^--?(?:browser-command|kubeconfig|exec-command|exec-plugin-command|as|as-group|server|log[_-]?(?:file|dir))(?:=|$)/;

/**
 * Problems of the arguments of a plugin that a fact defines. They do not show values, which may be secret.
 */
export function execArgumentProblems(command: string, args: readonly string[]): string[] {
  const work = Object.hasOwn(usualWork, command) ? usualWork[command] : undefined;
  if (work) return usualProblems(command, args, work);
  const starting = args.find((arg) => startingOption.test(arg));
  return starting === undefined ? [] : [mustNotHave(starting)];
}

function usualProblems(command: string, args: readonly string[], { words, options }: UsualWork): string[] {
  if (words.some((word, at) => args[at] !== word)) {
    return [`exec.args may only sign in with ${command}: ${words.join(" ")}`];
  }
  const problems: string[] = [];
  for (let at = words.length; at < args.length; at++) {
    const [, name = "", value] = /^(-[^=]*)(?:=(.*))?$/s.exec(args[at] ?? "") ?? [];
    const allowed = Object.hasOwn(options, name) ? options[name] : undefined;
    if (!allowed) {
      problems.push(
        name === "" ? "exec.args must contain only options after the first words" : mustNotHave(name),
      );
      continue;
    }
    // The next word may be the value, unless it is an option.
    const next = args[at + 1];
    const given = value ?? (next !== undefined && !next.startsWith("-") ? args[++at] : undefined);
    if (!allowed.test(given ?? "")) problems.push(`exec.args must not set ${name} to this value`);
  }
  return problems;
}

function mustNotHave(option: string): string {
  return `exec.args must not contain ${option.replace(/=.*/s, "").slice(0, 60)}`;
}
