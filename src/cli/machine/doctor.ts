import { object } from "@optique/core/constructs";
import { multiple } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { Finding } from "../../doctor/mod.ts";
import { maskedUrl } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { defineCommand } from "../line/command.ts";
import { instanceOption, outputOption, words } from "../line/options.ts";
import { type Paint, paintFor } from "../output/paint.ts";
import { printValue } from "../output/print_value.ts";
import { printable } from "../output/printable.ts";

/** The exit code of a check that found a problem. */
const foundFailure = 7;

export default defineCommand({
  name: "doctor",
  summary: "Check the configuration, ssh, ports, proxies and clock",
  description:
    "Prints one line per check, with a hint for each problem. The exit code is 7 when a check failed and 4 when the " +
    "configuration cannot be read; warnings do not change it.",
  examples: [
    ["postern doctor -o json", "Print JSON for scripts"],
    ["postern doctor --url https://console.example.net/", "Check whether NO_PROXY is right for a page"],
  ],
  parser: object({
    id: instanceOption(),
    urls: multiple(option("--url", string({ metavar: "URL" }), {
      description: words(
        "Fetch URL with and without the environment's proxy, and compare the result with NO_PROXY; repeatable.",
      ),
    })),
    output: outputOption(["table", "json", "yaml"], "table"),
  }),
  async run({ id = "default", urls, output }, world, { signal, globals, version }) {
    const { doctor } = await import("../../doctor/mod.ts");
    const wrong = urls.find((url) => !/^https?:\/\/[^/?#]/i.test(url));
    if (wrong !== undefined) {
      throw new PosternError(
        "usage",
        `Cannot fetch "${maskedUrl(wrong.slice(0, 100))}": not a web address`,
        {
          hint: "write it as https://HOST/PATH",
        },
      );
    }
    const paint = paintFor(world, "out");
    const checks: Finding[] = [];
    const { config } = globals;
    for await (
      const check of doctor(world, { id, urls, version, config }, {
        signal,
      })
    ) {
      checks.push(check);
      if (output === "table") await world.terminal.out(checkText(check, paint));
    }
    if (output !== "table") await printValue(world, checks, output);
    const failed = checks.filter(({ state }) => state === "failed");
    return failed.find(({ exit }) => exit !== undefined)?.exit ?? (failed.length > 0 ? foundFailure : 0);
  },
});

function checkText({ name, state, detail, hint }: Finding, { green, yellow, red, dim }: Paint): string {
  const colour = { ok: green, warning: yellow, failed: red, skipped: dim }[state];
  const line = `${colour(state.padEnd(8))}${printable(name)}: ${printable(detail)}\n`;
  return hint === undefined ? line : `${line}${" ".repeat(8)}${dim(printable(hint))}\n`;
}
