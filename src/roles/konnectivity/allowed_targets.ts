import { PosternError, type Target } from "../../words/mod.ts";
import { parseRouteLines, Router } from "../../routing/mod.ts";

/** The targets that an agent may connect to, as route patterns; every target when there are none. */
export class AllowedTargets {
  readonly #router: Router;

  constructor(patterns: readonly string[]) {
    const wrong = patterns.find((pattern) => /\s/.test(pattern) || pattern.startsWith("#") || pattern === "");
    const lines = patterns.map((pattern) => `${pattern} ${yes}`).join("\n");
    const { rules, problems } = parseRouteLines(lines, { name: "--allow-target" });
    if (wrong !== undefined || problems.length > 0) {
      throw new PosternError(
        "usage",
        `Cannot use ${JSON.stringify(wrong ?? patterns.join(" "))} as --allow-target`,
        {
          hint: "write a pattern as in routes: example.com, .svc, 10.0.0.0/8, db.example.com:5432",
        },
      );
    }
    this.#router = new Router({ rules, fallback: patterns.length === 0 ? yes : no });
  }

  has(target: Target): boolean {
    return this.#router.route(target).transport === yes;
  }
}

const yes = "allowed";
const no = "not-allowed";
