/** What a program of the usual list may be asked to do: its first words, and the options behind them. */
interface UsualWork {
  readonly words: readonly string[];
  readonly options: Readonly<Record<string, RegExp>>;
}

const any = /^/;
/** Where the person's browser comes back to is nobody else's to reach. */
const loopback = /^(?:(?:127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5}(?:,|$))+$/;
const loopbackUrl = /^https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?(?:\/[\w./-]*)?$/;

/**
 * The options of kubelogin that only say how to sign in. The others start programs, open addresses, read and write
 * files wherever it is said (`--log_file` too), or leave TLS unchecked.
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

/** Options by which programs that are not known here start others, or read another configuration. */
const startingOption =
  /^--?(?:browser-command|kubeconfig|exec-command|exec-plugin-command|as|as-group|server|log[_-]?(?:file|dir))(?:=|$)/;

/** What a fact may not have a program do that signs in; the values, which may be secrets, are not told. */
export function execArgumentProblems(command: string, args: readonly string[]): string[] {
  const work = Object.hasOwn(usualWork, command) ? usualWork[command] : undefined;
  if (work) return usualProblems(command, args, work);
  const starting = args.find((arg) => startingOption.test(arg));
  return starting === undefined ? [] : [mustNotHave(starting)];
}

function usualProblems(command: string, args: readonly string[], { words, options }: UsualWork): string[] {
  if (words.some((word, at) => args[at] !== word)) {
    return [`exec.args may have ${command} sign in only: ${words.join(" ")}`];
  }
  const problems: string[] = [];
  for (let at = words.length; at < args.length; at++) {
    const [, name = "", value] = /^(-[^=]*)(?:=(.*))?$/s.exec(args[at] ?? "") ?? [];
    const allowed = Object.hasOwn(options, name) ? options[name] : undefined;
    if (!allowed) {
      problems.push(
        name === "" ? "exec.args must have options only, behind the first words" : mustNotHave(name),
      );
      continue;
    }
    // The value may be the next word, unless that is an option.
    const next = args[at + 1];
    const given = value ?? (next !== undefined && !next.startsWith("-") ? args[++at] : undefined);
    if (!allowed.test(given ?? "")) problems.push(`exec.args must not have ${name} with this value`);
  }
  return problems;
}

function mustNotHave(option: string): string {
  return `exec.args must not have ${option.replace(/=.*/s, "").slice(0, 60)}`;
}
