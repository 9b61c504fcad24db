import assert from "node:assert/strict";
import {
  configError,
  formatPath,
  formatProblems,
  isError,
  optional,
  parseDocument,
  port,
  record,
  rootContext,
  secret,
  text,
  url,
} from "../../../src/config/mod.ts";

const schema = record({
  lab: record({ port: port(), host: text() }),
  proxy: optional(url({ schemes: ["http"] })),
  password: optional(secret()),
});

async function problemsOf(source: string) {
  const document = await parseDocument(source, { name: "config.yaml" });
  const context = rootContext({ base: "/" });
  schema.parse(document.value, context);
  return { document, problems: [...document.problems, ...context.problems] };
}

Deno.test("formatProblems() adds the position to every problem, in the order of the file", async () => {
  const { document, problems } = await problemsOf(
    "proxy: http://me:hunter2@a\nlab:\n  port: 99999\n  hots: x\npassword: 4711\nlab: 1\n",
  );
  assert.deepEqual(formatProblems(problems, document), [
    "config.yaml:1:8: warning: proxy: contains a password: move it to a separate file and name that file",
    "config.yaml:3:3: lab.host: is missing: must be a non-empty string",
    "config.yaml:3:9: lab.port: must be a port from 0 to 65535: current value is 99999",
    'config.yaml:4:3: lab.hots: is not a known key, did you mean "host"?',
    "config.yaml:5:11: password: must be a non-empty string: quote it",
    "config.yaml:6:1: lab: is a duplicate key: remove one of them",
  ]);
});

Deno.test("configError() lists all errors and has a hint", async () => {
  const { document, problems } = await problemsOf("proxy: http://me:hunter2@a\nlab: { port: -1, host: h }");
  const error = configError(document.name, formatProblems(problems.filter(isError), document));
  assert.equal(error.code, "config");
  assert.equal(
    error.message,
    "Cannot use config.yaml: 1 problem\nconfig.yaml:2:14: lab.port: must be a port from 0 to 65535: current value is -1",
  );
  assert.match(error.hint ?? "", /postern config check/);
});

Deno.test("configError() counts the problems", async () => {
  const { document, problems } = await problemsOf("{}");
  const lines = formatProblems([...problems, ...problems], document);
  assert.match(configError("it", lines).message, /^Cannot use it: 2 problems\n/);
});

Deno.test("formatProblems() puts problems of the whole file first, without a position", async () => {
  const document = await parseDocument("x".repeat(2_000_001), { name: "big.yaml" });
  assert.deepEqual(formatProblems(document.problems, document), [
    "big.yaml: the file is over 2 MB: move long lists to a routesFrom file",
  ]);
});

Deno.test("formatPath() quotes unusual keys and shortens long ones", () => {
  assert.equal(formatPath(["routes", 3, "to", 0]), "routes[3].to[0]");
  assert.equal(formatPath(["a.b", "c d", "ok-1"]), '"a.b"."c d".ok-1');
  assert.equal(formatPath(["\n"]), '"\\n"');
  assert.equal(formatPath(["x".repeat(1000)]).length < 120, true);
  assert.equal(formatPath([]), "");
});
