import type { SshConfigEvaluation } from "./ssh_config_evaluation.ts";
import type { SshRoute } from "./ssh_route.ts";
import type { GivenSshOption } from "./ssh_settings.ts";

const otherEngine = 'use "engine: openssh" for this host';

/** Tells of every given option what the built-in engine does not do for it. */
export function addOptionProblems({ settings, problems }: SshConfigEvaluation, route: SshRoute): void {
  for (const given of settings.all) {
    const { option, values } = given;
    const { name } = option;
    const add = (severity: "blocking" | "note" | "harmless", message: string) =>
      problems.add(severity, given, { option: name, message });
    if (option.class === "honoured") {
      const special = honouredProblem(given, route);
      if (special !== undefined) add(special.severity, special.message);
    } else if (option.unless?.includes(values[0]?.toLowerCase() ?? "")) continue;
    else if (option.class === "harmless") {
      add(option.note === undefined ? "harmless" : "note", option.note ?? "it is left out");
    } else if (name === "RefuseConnection") {
      add("blocking", `the configuration refuses this host: ${values.join(" ")}`);
    } // ssh itself checks addresses only where it connects by itself.
    else if (name === "CheckHostIP" && !isStraight(route)) add("harmless", "it has no effect behind a proxy");
    else {add(
        "blocking",
        `it changes where ssh connects or whom it trusts, and is not built in: ${otherEngine}`,
      );}
  }
}

function honouredProblem(
  { option, values }: GivenSshOption,
  route: SshRoute,
): { readonly severity: "blocking" | "note"; readonly message: string } | undefined {
  const [value = ""] = values;
  if (option.name === "StrictHostKeyChecking" && (value === "no" || value === "off")) {
    return {
      severity: "note",
      message: `"${value}" is taken as "accept-new": a new key is accepted, a changed one never`,
    };
  }
  if (option.name === "ProxyUseFdpass" && value === "yes" && route.proxyCommand !== undefined) {
    return { severity: "blocking", message: `a passed descriptor cannot be taken: ${otherEngine}` };
  }
  return undefined;
}

function isStraight({ jumps, proxyCommand }: SshRoute): boolean {
  return jumps.length === 0 && proxyCommand === undefined;
}
