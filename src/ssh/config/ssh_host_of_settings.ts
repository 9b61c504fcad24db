import { type SshAlgorithmOption, sshAlgorithms } from "./language/ssh_config_algorithms.ts";
import { type SshConfigDeps, sshConfigPaths } from "./ssh_config_deps.ts";
import type { SshConfigEvaluation } from "./ssh_config_evaluation.ts";
import { expandedSshPaths, sshAgentSocket } from "./ssh_host_paths.ts";
import type { SshHost } from "./ssh_host.ts";
import { addOptionProblems } from "./ssh_option_problems.ts";
import { sshRoute } from "./ssh_route.ts";
import { sshTokens } from "./ssh_tokens.ts";

/** The keys that ssh tries without IdentityFile, in its order. */
const usualKeys = ["id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss", "id_dsa"];

/** Builds the host from its settings and ssh's defaults. */
export function sshHostOfSettings(
  alias: string,
  evaluated: SshConfigEvaluation,
  deps: SshConfigDeps,
): SshHost {
  const { settings, problems, host: hostName } = evaluated;
  const port = settings.port;
  const user = settings.value("user") ?? deps.localUser;
  const hostKeyAlias = settings.value("hostkeyalias")?.toLowerCase();
  const proxyJump = settings.value("proxyjump");
  const values = { alias, host: hostName, port, user, keyName: hostKeyAlias ?? alias, proxyJump };
  const tokens = sshTokens(values, deps);
  const paths = (name: string) => expandedSshPaths(settings.given(name), { tokens, deps, problems });
  const isOn = (name: string, otherwise: boolean) =>
    (settings.value(name) ?? (otherwise ? "yes" : "no")) !== "no";
  const algorithms = (option: SshAlgorithmOption) => {
    const value = settings.value(option);
    return value === undefined ? undefined : sshAlgorithms(option, value);
  };
  const { userDirectory, systemDirectory } = sshConfigPaths(deps);
  const route = sshRoute(evaluated, values, deps);
  addOptionProblems(evaluated, route);
  const mayAsk = !isOn("batchmode", false);
  const checking = settings.value("stricthostkeychecking");
  return {
    alias,
    hostName,
    port: Number(port),
    user,
    ...route,
    identityFiles: paths("identityfile") ?? usualKeys.map((name) => `${userDirectory}/${name}`),
    certificateFiles: paths("certificatefile") ?? [],
    identitiesOnly: isOn("identitiesonly", false),
    ...defined("identityAgent", sshAgentSocket(settings.given("identityagent"), { tokens, deps, problems })),
    userKnownHostsFiles: paths("userknownhostsfile") ?? known(userDirectory, "known_hosts"),
    globalKnownHostsFiles: expandedSshPaths(settings.given("globalknownhostsfile"), { deps, problems }) ??
      known(systemDirectory, "ssh_known_hosts"),
    ...defined("hostKeyAlias", hostKeyAlias),
    strictHostKeyChecking: checking === "accept-new" || checking === "no" || checking === "off"
      ? "accept-new"
      : "yes",
    hashKnownHosts: isOn("hashknownhosts", false),
    ...defined("hostKeyAlgorithms", algorithms("hostkeyalgorithms")),
    ...defined("ciphers", algorithms("ciphers")),
    ...defined("macs", algorithms("macs")),
    ...defined("kexAlgorithms", algorithms("kexalgorithms")),
    ...defined("pubkeyAcceptedAlgorithms", algorithms("pubkeyacceptedalgorithms")),
    ...defined("caSignatureAlgorithms", algorithms("casignaturealgorithms")),
    ...defined("requiredRsaSize", number(settings.value("requiredrsasize"))),
    ...defined("connectTimeout", milliseconds(settings.value("connecttimeout")) || undefined),
    ...defined("serverAliveInterval", milliseconds(settings.value("serveraliveinterval"))),
    ...defined("serverAliveCountMax", number(settings.value("serveralivecountmax"))),
    addressFamily: addressFamily(settings.value("addressfamily")),
    ...defined("bindAddress", settings.value("bindaddress")),
    ...defined("preferredAuthentications", settings.value("preferredauthentications")?.split(",")),
    kbdInteractive: isOn("kbdinteractiveauthentication", true) && mayAsk,
    password: isOn("passwordauthentication", true) && mayAsk,
    pubkey: isOn("pubkeyauthentication", true),
    problems: problems.all,
  };
}

function known(directory: string, name: string): string[] {
  return [`${directory}/${name}`, `${directory}/${name}2`];
}

/** Returns an object with the property, or an empty object for an undefined value. */
function defined<Name extends string, T>(
  name: Name,
  value: T | undefined,
): { readonly [Key in Name]?: T } {
  // The key has the parameter's type, but TypeScript cannot infer that from a computed name.
  return (value === undefined ? {} : { [name]: value }) as { readonly [Key in Name]?: T };
}

function addressFamily(value: string | undefined): SshHost["addressFamily"] {
  return value === "inet" || value === "inet6" ? value : "any";
}

function milliseconds(value: string | undefined): number | undefined {
  return value === undefined || value === "none" ? undefined : Number(value) * 1000;
}

function number(value: string | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}
