import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, constant, option } from "@optique/core/primitives";
import type { InferValue } from "@optique/core/parser";
import type { ProxyCheck } from "../../roles/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import { untilSignals } from "../konnectivity/konnectivity_options.ts";
import { durationValue, outputOption, pathValue, words } from "../line/options.ts";
import { type Paint, paintFor } from "../output/paint.ts";
import { printValue } from "../output/print_value.ts";
import { printable, printableLines } from "../output/printable.ts";

/** The exit code of a check that found a problem. */
const foundFailure = 7;

export const checkOptions = object({
  action: constant("check"),
  file: optional(argument(pathValue("FILE"), {
    description: words(
      "YAML or JSON file with Proxy/cluster, and optionally its ConfigMap, Infrastructure and Network.",
    ),
  })),
  installConfig: optional(option("--install-config", pathValue("FILE"), {
    description: words("Install-config with the networks and platform, and the proxy unless FILE is given."),
  })),
  ca: optional(option("--ca", pathValue("FILE"), {
    description: words("PEM file with the proxy's CA certificates (default: the proxy's ConfigMap)."),
  })),
  live: option("--live", {
    description: words("Also send requests to the readiness endpoints through the proxy."),
  }),
  timeout: optional(option("--timeout", durationValue(), {
    description: words("Timeout of each of the three attempts at an endpoint (default: 10s)."),
  })),
  output: outputOption(["table", "json", "yaml"], "table"),
});

export async function runCheck(
  { file, installConfig, ca, live, timeout, output }: InferValue<typeof checkOptions>,
  world: World,
  { signal }: RunContext,
): Promise<number> {
  if (file === undefined && installConfig === undefined) {
    throw new PosternError("usage", "Cannot check a proxy: missing argument: FILE or --install-config FILE");
  }
  if (timeout !== undefined && !live) {
    throw new PosternError("usage", "Cannot use --timeout without --live", {
      hint: "add --live, or omit --timeout",
    });
  }
  const { checkProxy } = await import("../../roles/mod.ts");
  await using signals = untilSignals(world, signal);
  const sources = { file, installConfig, ca };
  const options = { ...sources, isLive: live, ...(timeout !== undefined && { timeout }) };
  const check = await checkProxy(world, options, { signal: signals.first });
  if (output !== "table") await printValue(world, forPrograms(check), output);
  else await world.terminal.out(checkText(check, paintFor(world, "out")));
  return check.isAccepted ? 0 : foundFailure;
}

function forPrograms({ problems, warnings, ...check }: ProxyCheck): unknown {
  const bare = ({ field, reason, message }: ProxyCheck["problems"][number]) => ({ field, reason, message });
  return { ...check, problems: problems.map(bare), warnings: warnings.map(bare) };
}

function checkText({ isAccepted, problems, warnings, status, endpoints }: ProxyCheck, paint: Paint): string {
  const { green, yellow, red, dim } = paint;
  const line = (colour: (text: string) => string, state: string, text: string) =>
    `${colour(state.padEnd(8))}${printableLines(text)}\n`;
  const lines = [
    ...problems.map((problem) => line(red, "failed", problem.line)),
    ...warnings.map((warning) => line(yellow, "warning", warning.line)),
    ...(endpoints ?? []).map(({ isReady, endpoint, status, attempts, ms, failure }) => {
      const tried = attempts === 1 ? "" : `, ${attempts} attempts`;
      const end = failure ?? `answered ${status}`;
      return line(isReady ? green : red, isReady ? "ok" : "failed", `${endpoint}: ${end} (${ms} ms${tried})`);
    }),
    ...(status ? [`${dim("noProxy ")}${printable(status.noProxy)}\n`] : []),
    line(
      isAccepted ? green : red,
      isAccepted ? "ok" : "failed",
      isAccepted ? "the cluster would accept this proxy" : "the cluster would reject this proxy",
    ),
  ];
  return lines.join("");
}
