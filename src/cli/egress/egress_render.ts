import { object } from "@optique/core/constructs";
import { multiple, optional, withDefault } from "@optique/core/modifiers";
import { argument, constant, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import type { RenderedObject } from "../../roles/mod.ts";
import { maskedUrl } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import { lineDiff } from "../output/line_diff.ts";
import { untilSignals } from "../konnectivity/konnectivity_options.ts";
import { oneOf, pathValue, words } from "../line/options.ts";
import { paintFor } from "../output/paint.ts";
import { formatValue } from "../output/print_value.ts";
import { printable } from "../output/printable.ts";

export const renderOptions = object({
  action: constant("render"),
  files: multiple(argument(pathValue("FILE"), {
    description: words("YAML or JSON file with Deployments, DaemonSets, StatefulSets and ConfigMaps."),
  })),
  proxy: optional(option("--proxy", pathValue("FILE"), {
    description: words("File with the proxy, as for check (default: the cluster's proxy)."),
  })),
  installConfig: optional(option("--install-config", pathValue("FILE"), {
    description: words("Install-config; without FILE, print the manifests for its new cluster."),
  })),
  ca: optional(option("--ca", pathValue("FILE"), {
    description: words("PEM file with the proxy's CA certificates (default: the proxy's ConfigMap)."),
  })),
  kubeconfig: optional(option("--kubeconfig", pathValue("FILE"), {
    description: words("Kubeconfig of the cluster (default: $KUBECONFIG, else ~/.kube/config)."),
  })),
  context: optional(option("--context", string({ metavar: "NAME" }), {
    description: words("Context of the kubeconfig (default: the current context)."),
  })),
  systemTrust: withDefault(
    option("--system-trust", oneOf(["include", "omit"], "TYPE"), {
      description: words(
        "Include or omit this system's certificate authorities in the bundle (default: include).",
      ),
    }),
    "include",
  ),
  part: withDefault(
    option("--part", oneOf(["manifests", "environment"], "TYPE"), {
      description: words(
        "Output for an install-config: manifests or environment (default: manifests).",
      ),
    }),
    "manifests",
  ),
  withCredentials: option("--with-credentials", {
    description: words("Print the proxy's password, which the manifests contain."),
  }),
  show: option("--show", { description: words("Allow printing a password to a terminal.") }),
});

type Values = InferValue<typeof renderOptions>;

export async function runRender(values: Values, world: World, { signal }: RunContext): Promise<number> {
  const { files, installConfig } = values;
  if (files.length === 0 && installConfig !== undefined) return await bootstrap(values, world);
  if (files.length === 0) {
    throw new PosternError(
      "usage",
      "Cannot render objects: missing argument: FILE or --install-config FILE",
    );
  }
  requireOneSource(values);
  const { renderInjection } = await import("../../roles/mod.ts");
  await using signals = untilSignals(world, signal);
  const { objects, warnings } = await renderInjection(world, values, { signal: signals.first });
  await world.terminal.err(warnings.map((text) => `postern: warning: ${printable(text)}\n`).join(""));
  for (const one of objects) await showObject(one, world);
  const failed = objects.filter(({ problems }) => problems.length > 0).length;
  if (objects.length === 0) await world.terminal.err("postern: nothing would change\n");
  return failed > 0 ? 7 : 0;
}

/** Rejects options that the selected source does not use: ignoring them silently would mislead the user. */
function requireOneSource({ proxy, installConfig, ca, kubeconfig, context, part }: Values): void {
  const isOfFile = proxy !== undefined || installConfig !== undefined;
  if (isOfFile && (kubeconfig ?? context) !== undefined) {
    throw new PosternError("usage", "Cannot read the proxy from a cluster and from a file at once", {
      hint: "omit --kubeconfig and --context, or --proxy and --install-config",
    });
  }
  if (ca !== undefined && !isOfFile) {
    throw new PosternError(
      "usage",
      "Cannot use --ca with a cluster's proxy: the cluster provides the CA bundle",
      {
        hint: "add --proxy FILE, or omit --ca",
      },
    );
  }
  if (part === "environment") {
    throw new PosternError("usage", "Cannot use --part with FILE", {
      hint: "give --install-config and no FILE",
    });
  }
}

async function showObject(
  { name, before, after, isChanged, problems, warnings }: RenderedObject,
  world: World,
) {
  const { terminal } = world;
  const say = (kind: string, messages: readonly string[]) =>
    terminal.err(messages.map((text) => `postern: ${kind}: ${printable(`${name}: ${text}`)}\n`).join(""));
  await say("error", problems);
  await say("warning", warnings);
  if (!isChanged) return;
  const { red, green, dim, bold } = paintFor(world, "out");
  const [old, young] = [await formatValue(before, "yaml"), await formatValue(after, "yaml")];
  const colours: Readonly<Record<string, (text: string) => string>> = { "-": red, "+": green, "@": dim };
  const lines = lineDiff(old, young).map((line) => {
    const colour = colours[line[0] ?? ""];
    const shown = printable(masked(line));
    return colour ? colour(shown) : shown;
  });
  await terminal.out(
    `${bold(printable(`--- ${name}`))}\n${bold(printable(`+++ ${name}`))}\n${lines.join("\n")}\n`,
  );
}

/** A line of YAML without the password of a URL. */
function masked(line: string): string {
  return line.replace(/[a-z][a-z0-9+.-]*:\/\/\S*@/gi, (url) => maskedUrl(url));
}

async function bootstrap(values: Values, world: World): Promise<number> {
  const { renderBootstrap } = await import("../../roles/mod.ts");
  const { manifests, environment, status } = await renderBootstrap(world, values);
  const isSecret = [status.httpProxy, status.httpsProxy].some((url) => maskedUrl(url) !== url);
  if (isSecret) requireConsent(values, world);
  if (values.part === "environment") await world.terminal.out(environment);
  else {
    const texts = await Promise.all(manifests.map((manifest) => formatValue(manifest, "yaml")));
    await world.terminal.out(texts.join("---\n"));
  }
  return 0;
}

function requireConsent({ withCredentials, show }: Values, { terminal }: World): void {
  if (!withCredentials) {
    throw new PosternError("auth", "Cannot print the output: it contains the proxy's password", {
      hint: "add --with-credentials and redirect the output to a file",
    });
  }
  if (terminal.isOutput && !show) {
    throw new PosternError("auth", "Cannot print a password to a terminal: missing option: --show", {
      hint: "redirect the output to a file, or add --show",
    });
  }
}
