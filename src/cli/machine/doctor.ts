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

/** The exit code of a check that found something wrong. */
const foundFailure = 7;

/** `postern doctor`. */
export default defineCommand({
  name: "doctor",
  summary: "checks the surroundings: configuration, ssh, ports, proxies, clock",
  description:
    "Each line is one check; what is not in order comes with the next thing to do. The exit code is 7 when " +
    "a check failed and 4 when the configuration cannot be read; warnings do not count.",
  examples: [
    ["postern doctor -o json", "for programs"],
    ["postern doctor --url https://console.example.net/", "whether NO_PROXY is right about a page"],
  ],
  parser: object({
    id: instanceOption(),
    urls: multiple(option("--url", string({ metavar: "URL" }), {
      description: words(
        "Asks for it with and without the proxy of the environment, and compares with NO_PROXY; may be repeated.",
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
        `Cannot ask for "${maskedUrl(wrong.slice(0, 100))}": it is no web address`,
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
