import { parsePattern, Router, type Rule } from "../src/routing/mod.ts";
import { type BenchPlace, told } from "./bench_measure.ts";
import { type Demand, judge, median, type Verdict } from "./bench_table.ts";

interface Size {
  readonly suffixes: number;
  readonly networks: number;
}

const few: Size = { suffixes: 1000, networks: 100 };
const many: Size = { suffixes: 100_000, networks: 10_000 };

const rounds = 5;
const lookups = 10_000;
/** The number of lookups timed together: a single one is too short for the clock. */
const batch = 100;

/** Targets of clients, the same for few and for many rules. */
const asked: Readonly<Record<string, (n: number) => string>> = {
  "a name with a rule": (n) => suffix(n * 7919 % few.suffixes, "console."),
  "a name without a rule": (n) => `www.host-${n}.example.org`,
  "an IPv4 address": (n) => `10.${n & 255}.${n * 31 & 255}.9`,
  "an IPv6 address": (n) => `2001:db8:${(n * 31 & 8191).toString(16)}::${n.toString(16)}`,
};

/** Measures loading rules, and one lookup, whose time must not grow with the number of rules. */
export function benchRouter(_place: BenchPlace): Promise<Verdict[]> {
  const loads: number[] = [];
  const routers = { few: routerOf(few), many: routerOf(many) };
  for (let round = 0; round < rounds; round++) {
    const rules = rulesOf(many);
    const begun = performance.now();
    new Router({ rules }).route({ host: "a.example", port: 443 });
    loads.push(performance.now() - begun);
  }
  const verdicts = [
    verdict("router: loading 100,000 names and 10,000 networks, ms", loads, { atMost: 1000 }),
  ];
  for (const [what, host] of Object.entries(asked)) {
    const targets = Array.from({ length: lookups }, (_, n) => ({ host: host(n), port: 443 }));
    const times = { few: new Array<number>(), many: new Array<number>() };
    for (let round = 0; round < rounds; round++) {
      times.few.push(timeOf(routers.few, targets));
      times.many.push(timeOf(routers.many, targets));
    }
    verdicts.push(
      verdict(`router: ${what} among 110,000 rules, µs`, times.many, { atMost: 2 }),
      verdict(`router: ${what} among 1,100 rules, µs`, times.few, "informative"),
    );
  }
  return Promise.resolve(verdicts);
}

function verdict(name: string, values: readonly number[], demand: Demand): Verdict {
  return told(judge(name, values.map((value) => ({ contender: "postern", value })), demand));
}

/** Returns the median time of a lookup in microseconds. */
function timeOf(
  router: Router,
  targets: readonly { readonly host: string; readonly port: number }[],
): number {
  const batches: number[] = [];
  for (let start = 0; start < targets.length; start += batch) {
    const some = targets.slice(start, start + batch);
    const begun = performance.now();
    for (const target of some) router.route(target);
    batches.push((performance.now() - begun) * 1000 / batch);
  }
  return median(batches);
}

function routerOf(size: Size): Router {
  return new Router({ rules: rulesOf(size) });
}

function rulesOf({ suffixes, networks }: Size): Rule[] {
  return [
    ...Array.from({ length: suffixes }, (_, n) => suffix(n)),
    ...Array.from({ length: networks }, (_, n) => network(n)),
  ].map((text) => {
    const parsed = parsePattern(text);
    if ("problem" in parsed) throw new Error(`${text} ${parsed.problem}`);
    return { text, pattern: parsed.pattern, transport: "jump", source: "bench", tier: "routes" };
  });
}

function suffix(n: number, before = ""): string {
  return `${before}apps.c-cluster-${n}.region${n % 17}.example.net`;
}

function network(n: number): string {
  return n % 2 === 0
    ? `10.${n >> 9 & 255}.${n >> 1 & 255}.0/${20 + n % 9}`
    : `2001:db8:${n.toString(16)}::/${44 + n % 5}`;
}
