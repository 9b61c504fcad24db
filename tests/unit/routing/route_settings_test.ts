import assert from "node:assert/strict";
import { formatPath, record, rootContext } from "../../../src/config/mod.ts";
import { Router, routeSettings, rulesOfSettings } from "../../../src/routing/mod.ts";

function parse(value: unknown) {
  const context = rootContext({ base: "/etc/postern", home: "/home/me" });
  const settings = record(routeSettings).parse(value, context);
  const problems = context.problems.map(({ path, message, severity }) =>
    `${severity ?? "error"} ${formatPath(path)} ${message}`
  );
  return { settings, problems };
}

Deno.test("routeSettings read the example of the documentation", () => {
  const { settings, problems } = parse({
    routes: [
      { to: ["c-lab-1.example.net", "10.20.0.0/16", "db.example.net:5432"], via: "bastion" },
      { to: "any", via: "lab" },
    ],
    direct: ["public.c-lab-1.example.net"],
    default: "direct",
    routesFrom: "big.txt",
  });
  assert.deepEqual(problems, []);
  assert.ok(settings);
  assert.deepEqual(settings.routesFrom, ["/etc/postern/big.txt"]);
  const asked: string[] = [];
  const rules = rulesOfSettings(settings, (path) => {
    asked.push(formatPath(path));
    return `postern.yaml:${asked.length}`;
  });
  const router = new Router({ rules, fallback: settings.default });
  assert.deepEqual(asked, []);
  assert.equal(
    router.route({ host: "x.c-lab-1.example.net", port: 1 }).because,
    'rule "c-lab-1.example.net" (postern.yaml:1)',
  );
  assert.equal(router.route({ host: "public.c-lab-1.example.net", port: 1 }).transport, "direct");
  assert.equal(router.route({ host: "other", port: 1 }).transport, "lab");
  assert.deepEqual(asked, ["routes[0].to[0]", "direct[0]", "routes[1].to[0]"]);
});

Deno.test("routeSettings have defaults for everything", () => {
  assert.deepEqual(parse({}), {
    settings: { routes: [], direct: [], default: "direct", unknown: "refuse" },
    problems: [],
  });
});

Deno.test("routeSettings report every invalid pattern with its path, and host bits as a warning", () => {
  const { settings, problems } = parse({
    routes: [{ to: ["exa*mple", "10.1.2.3/8"], via: "x" }, { to: [] }],
    direct: ["a b"],
  });
  assert.equal(settings, undefined);
  assert.equal(problems.length, 5, problems.join("\n"));
  assert.match(problems[0] ?? "", /^error routes\[0\]\.to\[0\] must have "\*" only at the start/);
  assert.match(problems[1] ?? "", /^warning routes\[0\]\.to\[1\] has host bits beyond its prefix/);
  assert.ok(problems.some((problem) => problem.startsWith("error routes[1].to ")), problems.join("\n"));
  assert.ok(
    problems.some((problem) => problem.startsWith("error direct[0] must be one pattern")),
    problems.join("\n"),
  );
});
