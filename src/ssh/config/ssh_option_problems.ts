import type { SshConfigEvaluation } from "./ssh_config_evaluation.ts";
import type { SshRoute } from "./ssh_route.ts";
import type { GivenSshOption } from "./ssh_settings.ts";

const otherEngine = 'use "engine: openssh" for this host';

/** Adds a problem for each option that the built-in engine does not support. */
export function addOptionProblems({ settings, problems }: SshConfigEvaluation, route: SshRoute): void {
  for (const given of settings.all) {
    const { option, values } = given;
    const { name } = option;
    const add = (severity: "blocking" | "note" | "harmless", message: string) =>
      problems.add(severity, given, { option: name, message });
    if (option.class === "supported") {
      const special = supportedProblem(given, route);
      if (special !== undefined) add(special.severity, special.message);
    } else if (option.unless?.includes(values[0]?.toLowerCase() ?? "")) continue;
    else if (option.class === "harmless") {
      add(option.note === undefined ? "harmless" : "note", option.note ?? "ignored");
    } else if (name === "RefuseConnection") {
      add("blocking", `the configuration rejects this host: ${values.join(" ")}`);
    } // ssh checks addresses only on direct connections.
    else if (name === "CheckHostIP" && !isStraight(route)) {
      add("harmless", "the option has no effect through a proxy");
    } else {add(
        "blocking",
        `the option changes where ssh connects or what it trusts, and the built-in engine does not support it: ${otherEngine}`,
      );}
  }
}

function supportedProblem(
  { option, values }: GivenSshOption,
  route: SshRoute,
): { readonly severity: "blocking" | "note"; readonly message: string } | undefined {
  const [value = ""] = values;
  if (option.name === "StrictHostKeyChecking" && (value === "no" || value === "off")) {
    return {
      severity: "note",
      message: `"${value}" is treated as "accept-new": postern accepts new keys and rejects changed ones`,
    };
  }
  if (option.name === "ProxyUseFdpass" && value === "yes" && route.proxyCommand !== undefined) {
    return {
      severity: "blocking",
      message: `the built-in engine cannot receive a passed file descriptor: ${otherEngine}`,
    };
  }
  return undefined;
}

function isStraight({ jumps, proxyCommand }: SshRoute): boolean {
  return jumps.length === 0 && proxyCommand === undefined;
}
