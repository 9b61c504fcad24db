import {
  choice,
  type Context,
  described,
  file,
  type Infer,
  list,
  oneOrMore,
  optional,
  type Path,
  record,
  type Schema,
  text,
  transformed,
} from "../config/mod.ts";
import { parsePattern, type Pattern } from "./pattern.ts";
import type { Rule, Tier } from "./rule.ts";

/** A pattern together with what its author wrote. */
export interface WrittenPattern {
  readonly text: string;
  readonly pattern: Pattern;
}

/** A pattern in the configuration; host bits of a network are a warning. */
function patternSetting(): Schema<WrittenPattern> {
  return transformed(text({ describe: "a pattern" }), (written: string, context: Context) => {
    const parsed = parsePattern(written);
    if ("problem" in parsed) return void context.report(parsed.problem);
    if (parsed.warning !== undefined) context.report(parsed.warning, "warning");
    return { text: written, pattern: parsed.pattern };
  });
}

/** The keys of the configuration that make the rules of the file. */
export const routeSettings = {
  routes: described(
    optional(
      list(record({
        to: described(oneOrMore(patternSetting()), "What goes this way: names, addresses, networks or any."),
        via: described(text({ min: 1 }), "The name of a transport."),
      })),
      [],
    ),
    "Which targets go through which transport; the most specific pattern decides.",
  ),
  direct: described(
    optional(list(patternSetting()), []),
    "Exclusions: targets that go direct whatever the routes say.",
  ),
  default: described(
    optional(text({ min: 1 }), "direct"),
    "The transport for all targets that no rule matches.",
  ),
  unknown: described(
    optional(choice("refuse", "direct"), "refuse"),
    "What becomes of a target that a cluster owns, or may own, and that no table has: `refuse` sends it nowhere, `direct` lets `default` decide.",
  ),
  routesFrom: described(
    optional(oneOrMore(file())),
    "Files with one `PATTERN TRANSPORT` a line, for long lists.",
  ),
};

/** What `routeSettings` gives. */
export interface RouteSettings {
  readonly routes: Infer<typeof routeSettings.routes>;
  readonly direct: Infer<typeof routeSettings.direct>;
  readonly default: string;
  readonly unknown: "refuse" | "direct";
  readonly routesFrom?: readonly string[];
}

/**
 * The rules of a configuration file, without those of `routesFrom`. `sourceOf` turns the path of a pattern
 * (`["routes", 3, "to", 0]`) into `postern.yaml:12`, `placeOf` into what stands before a problem; they are asked only
 * for rules that are talked about.
 */
export function rulesOfSettings(
  { routes, direct }: Pick<RouteSettings, "routes" | "direct">,
  sourceOf: (path: Path) => string,
  placeOf: (path: Path) => string | undefined = () => undefined,
): Rule[] {
  const rules: Rule[] = [];
  for (const [index, written] of direct.entries()) {
    rules.push(
      new FileRule(written, "direct", { transport: "direct", path: ["direct", index], sourceOf, placeOf }),
    );
  }
  for (const [index, { to, via }] of routes.entries()) {
    for (const [item, written] of to.entries()) {
      rules.push(
        new FileRule(written, "routes", {
          transport: via,
          path: ["routes", index, "to", item],
          sourceOf,
          placeOf,
        }),
      );
    }
  }
  return rules;
}

interface Place {
  readonly transport: string;
  readonly path: Path;
  readonly sourceOf: (path: Path) => string;
  readonly placeOf: (path: Path) => string | undefined;
}

/** Finding a line of a large document is slow, so it waits until somebody asks. */
class FileRule implements Rule {
  readonly text: string;
  readonly pattern: Pattern;
  readonly tier: Tier;
  readonly transport: string;
  readonly #place: Place;

  constructor(written: WrittenPattern, tier: Tier, place: Place) {
    this.text = written.text;
    this.pattern = written.pattern;
    this.tier = tier;
    this.transport = place.transport;
    this.#place = place;
  }

  get source(): string {
    return this.#place.sourceOf(this.#place.path);
  }

  get place(): string | undefined {
    return this.#place.placeOf(this.#place.path);
  }
}
