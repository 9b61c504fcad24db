import assert from "node:assert/strict";
import fc from "fast-check";
import { fuzzRuns } from "../support/fuzz_runs.ts";
import { agree, allForms, gistParsed, gistRead, optionsOf } from "../support/parsed_line.ts";

/** A valid command line, and the positions for global options. */
interface Frame {
  readonly name: string;
  /** Words of the command, with options before and between them. */
  readonly words: readonly string[];
  readonly command: string;
  /** The rest: words of another program, or words after `--`. */
  readonly rest: "none" | "foreign" | "dashes";
  readonly hasId: boolean;
}

const frame = (
  [name = "", ...words]: readonly string[],
  { command = name, rest = "none" as Frame["rest"], hasId = true } = {},
): Frame => ({ name, words, command, rest, hasId });

const frames: readonly Frame[] = [
  ...["proxy", "status", "top", "reload", "test", "env", "pac", "dns", "kubeconfig", "doctor", "connections"]
    .map((name) => frame([name])),
  ...["update", "login", "proxy-out", "service-install", "cleanup", "demo", "version", "help"]
    .map((name) => frame([name], { hasId: false })),
  frame(["config", "init"], { hasId: false }),
  frame(["service", "install"], { hasId: false }),
  frame(["konnectivity", "certs", "/x/certs"], { hasId: false }),
  frame(["explain", "a.example"]),
  frame(["shell", "lab"], { rest: "dashes" }),
  frame(["shell", "tool", "lab"], { rest: "dashes" }),
  frame(["kubectl", "lab"], { rest: "foreign" }),
  frame(["oc", "lab"], { rest: "foreign" }),
  frame(["clusters", "lab", "kubectl"], { command: "kubectl", rest: "foreign" }),
  frame(["clusters", "lab", "oc"], { command: "oc", rest: "foreign" }),
  frame(["clusters", "lab", "shell"], { command: "shell", rest: "dashes" }),
  frame(["clusters", "shell", "kubeconfig"], { command: "kubeconfig" }),
  frame(["clusters", "lab", "console"], { command: "console", hasId: false }),
  frame(["clusters", "list", "kubectl"], { hasId: false }),
  frame(["clusters", "a", "b", "kubectl"], { hasId: false }),
];

const names = ["kubectl", "shell", "clusters", "list", "status", "certs"];
const odd = [
  "--",
  "-",
  "-v",
  "--each",
  "--config",
  "--log-level",
  "debug",
  "--id=x",
  "--config=x",
  "-n",
  "x=y",
];
const nasty = fc.constantFrom(
  ...names,
  ...odd,
  "--kubernetes",
  "--file",
  "--log-level=debug",
  "",
  "a b.json",
);
const path = fc.constantFrom("c.yaml", ...names, ...odd);

/** The form of an option, and its position. */
const place = fc.record({ isJoined: fc.boolean(), before: fc.nat({ max: 3 }) });

const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(fc.tuple(values, place), { nil: undefined });

const given = fc.record({
  "--config": maybe(path),
  "--log-level": maybe(fc.constantFrom("debug", "info", "warn", "error")),
  "--log-format": maybe(fc.constantFrom("json", "text")),
  "--id": maybe(path),
});

Deno.test("readCommandLine() and the parser find all parts of a line, with options at any position", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...frames),
      given,
      maybe(fc.constantFrom("-v", "-vv", "--verbose")),
      fc.array(nasty, { maxLength: 5 }),
      ({ name, words, command, rest, hasId }, options, louder, foreign) => {
        const { "--id": id, ...globals } = options;
        const given = hasId ? options : globals;
        const all = [name, ...words];
        // Words of another program follow postern's last word.
        const last = rest === "foreign" ? words.length : all.length;
        const slots: string[][] = Array.from({ length: all.length + 1 }, () => []);
        for (const [option, chosen] of Object.entries(given)) {
          if (!chosen) continue;
          const [value, { isJoined, before }] = chosen;
          // A command's own option is valid only after the command's name.
          const least = option === "--id" ? 1 : 0;
          const written = isJoined ? [`${option}=${value}`] : [option, value];
          slots[Math.min(Math.max(before, least), last)]?.push(...written);
        }
        if (louder) slots[Math.min(louder[1].before, last)]?.push(louder[0]);
        const line = slots.flatMap((slot, at) => [...slot, ...all.slice(at, at + 1)]);
        if (rest === "dashes") line.push("--");
        if (rest !== "none") line.push(...foreign);
        const gist = {
          command,
          config: options["--config"]?.[0],
          logLevel: options["--log-level"]?.[0],
          logFormat: options["--log-format"]?.[0] ?? "text",
          id: hasId ? id?.[0] : undefined,
        };
        assert.deepEqual(gistParsed(line), gist, `the parser: ${JSON.stringify(line)}`);
        assert.deepEqual(gistRead(line), gist, JSON.stringify(line));
      },
    ),
    { numRuns: fuzzRuns(2000) },
  );
});

const junk = fc.oneof(
  nasty,
  fc.constantFrom(
    "-h",
    "--help",
    "--version",
    "-vo",
    "-vf",
    "-v-config",
    "--one_output",
    "--foo_bar",
    "-x.y",
  ),
  fc.string({ maxLength: 5 }),
);

/** A command, or only its name, with its options and any words. */
const lines = fc.constantFrom(...frames).chain(({ name, words, command }) => {
  const own = allForms.filter((form) => form.name.split(" ").at(-1) === command)
    .flatMap((form) => [...optionsOf(form).keys()]);
  const more = fc.array(fc.oneof(junk, fc.constantFrom(...own)), { maxLength: 6 });
  return fc.tuple(fc.constantFrom([], words), more).map(([some, rest]) => [name, ...some, ...rest]);
});

Deno.test("readCommandLine() and the parser agree on every line that the parser accepts", () => {
  let taken = 0;
  const runs = fuzzRuns(4000);
  fc.assert(
    fc.property(fc.oneof(lines, fc.array(junk, { maxLength: 7 })), (line) => {
      if (agree(line)) taken++;
    }),
    { numRuns: runs },
  );
  assert.ok(taken > runs / 10, `only ${taken} of ${runs} lines are valid`);
});
