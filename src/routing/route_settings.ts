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

/** A pattern and its text in the configuration. */
export interface WrittenPattern {
  readonly text: string;
  readonly pattern: Pattern;
}

/** The schema of a pattern in the configuration; host bits of a network cause a warning. */
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
        to: described(oneOrMore(patternSetting()), "The targets: names, addresses, networks or any."),
        via: described(text({ min: 1 }), "The name of a transport."),
      })),
      [],
    ),
    "Routes from targets to transports; the most specific pattern wins.",
  ),
  direct: described(
    optional(list(patternSetting()), []),
    "Exclusions: targets that always go direct, regardless of routes.",
  ),
  default: described(
    optional(text({ min: 1 }), "direct"),
    "The transport for targets without a matching rule.",
  ),
  unknown: described(
    optional(choice("refuse", "direct"), "refuse"),
    "How to treat a target that a cluster owns or may own, but no table contains: `refuse` rejects it, `direct` applies `default`.",
  ),
  routesFrom: described(
    optional(oneOrMore(file())),
    "Files for long lists, with one `PATTERN TRANSPORT` per line.",
  ),
};

export interface RouteSettings {
  readonly routes: Infer<typeof routeSettings.routes>;
  readonly direct: Infer<typeof routeSettings.direct>;
  readonly default: string;
  readonly unknown: "refuse" | "direct";
  readonly routesFrom?: readonly string[];
}

/**
 * Builds the rules of a configuration file, except those of `routesFrom`. `sourceOf` turns the path of a
 * pattern (`["routes", 3, "to", 0]`) into `postern.yaml:12`, `placeOf` into the prefix of a problem; both are
 * called only for rules that appear in messages.
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

/** Finding the line in a large document is slow, so it is looked up on demand. */
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
