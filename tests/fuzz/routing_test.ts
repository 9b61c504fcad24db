import assert from "node:assert/strict";
import { formatIp } from "../../src/words/mod.ts";
import { addressOf } from "../../src/routing/host.ts";
import {
  comparableHost,
  formatPattern,
  pacFile,
  parsePattern,
  Router,
  type Rule,
  type Tier,
} from "../../src/routing/mod.ts";
import { type Dice, diceOf as random } from "./fuzz_inputs.ts";

// Laws of the router, on generated rules and hosts: it agrees with a slow reference that follows the contract
// literally, and the PAC file agrees with the router.

function pick<T>(dice: Dice, from: readonly T[]): T {
  const item = from[dice(from.length)];
  assert.ok(item !== undefined);
  return item;
}

// Few labels, so that rules often match hosts.
const labels = ["a", "b", "c", "test", "svc", "constructor", "__proto__", "xn--bcher-kva"];
const ports = [80, 443, 6443];

function someName(dice: Dice): string {
  return Array.from({ length: 1 + dice(4) }, () => pick(dice, labels)).join(".");
}

function someFour(dice: Dice): string {
  return `${pick(dice, ["10", "127", "192"])}.${dice(3)}.${dice(3)}.${dice(4)}`;
}

function someSix(dice: Dice): string {
  return pick(dice, [
    () => `2001:db8:${dice(3)}::${dice(4)}`,
    () => `::${dice(3)}`,
    () => `fd00:${dice(2)}::${dice(3).toString(16)}:1`,
    () => `::ffff:${someFour(dice)}`,
  ])();
}

function somePattern(dice: Dice): string {
  const port = dice(4) === 0 ? `:${pick(dice, ports)}` : "";
  const form = dice(12);
  if (form === 0) return `any${port}`;
  if (form === 1) return `<local>${port}`;
  if (form === 2) return `<services>${port}`;
  if (form === 3) return `<clusterips>${port}`;
  if (form === 4) return `${someFour(dice)}/${dice(33)}${port}`;
  if (form === 5) {
    return `[${someSix(dice)}/${pick(dice, [0, 16, 32, 47, 48, 64, 97, 104, 127, 128])}]${port}`;
  }
  if (form === 6) return `${someFour(dice)}${port}`;
  if (form === 7) {
    return pick(dice, ["127.0.0.0/8", "::1", "0.0.0.0", "0.0.0.0/4", "::/0", `127.0.0.1${port}`]);
  }
  return `${pick(dice, ["", "", ".", "=", "*."])}${someName(dice)}${port}`;
}

function someRules(dice: Dice): Rule[] {
  const isOwn = dice(2) === 0;
  return Array.from({ length: dice(25) }, (_, index) => {
    const text = somePattern(dice);
    const parsed = parsePattern(text);
    assert.ok("pattern" in parsed, text);
    const tier = pick<Tier>(dice, ["direct", "routes", "routes", "exclusions", "catalogue", "catalogue"]);
    const isCatalogue = tier === "exclusions" || tier === "catalogue";
    return {
      text,
      pattern: parsed.pattern,
      tier,
      transport: tier === "direct" || tier === "exclusions"
        ? "direct"
        : pick(dice, ["direct", "lab", "prod", "reject"]),
      source: `fuzz:${index}`,
      ...(isCatalogue && { owner: pick(dice, ["c1", "c2", "c3"]) }),
      ...(tier === "exclusions" && isOwn && { confined: true }),
    };
  });
}

function someHost(dice: Dice): string {
  const form = dice(10);
  if (form < 5) return someName(dice);
  if (form === 5) return `${someName(dice).toUpperCase()}.`;
  if (form === 6) return pick(dice, ["localhost", "a.localhost", "web", "web.test", "db.svc", "notaweb"]);
  if (form === 7) {
    return pick(dice, ["0.0.0.0", "0", "0x7f.1", "10.1", "012.0.1", "0xc0000002", "::", "::1", "::ffff:0:0"]);
  }
  return form < 9 ? someFour(dice) : someSix(dice);
}

const tables = new Map([
  ["lab", {
    services: new Set(["web", "a", "a.test", "web.test"]),
    addresses: new Set(["10.1.1.1", "::2", "10.0.0.1"]),
  }],
  ["prod", { services: new Set(["b", "a.test", "db.svc"]), addresses: new Set(["10.1.1.1", "2001:db8::1"]) }],
]);

/** Implements the contract literally: no index, no ranks, bits as text. */
function reference(rules: readonly Rule[], fallback: string, host: string, port: number): string {
  const name = comparableHost(host);
  const bytes = addressOf(name);
  const bits = bytes && bitsOf(bytes);
  const found = (bits?: string) => decided(rules, name, bits, port);
  if (bits === undefined || bits.includes("1")) return found(bits)?.transport ?? fallback;
  const [four, six] = ["01111111".padEnd(31, "0") + "1", "".padEnd(127, "0") + "1"];
  const [own, other] = bits.length === 32 ? [four, six] : [six, four];
  const [itself, loopback, across] = [found(bits), found(own), found(other)];
  const best = itself && loopback ? (beats(loopback, itself) ? loopback : itself) : itself ?? loopback;
  const isBarred = across?.pattern.kind === "network" && across.transport === "reject";
  return isBarred ? "reject" : best?.transport ?? fallback;
}

function decided(
  rules: readonly Rule[],
  name: string,
  bits: string | undefined,
  port: number,
): Rule | undefined {
  const matching = rules.filter((rule) => matches(rule, name, bits, port));
  const strongest = (among: readonly Rule[]) =>
    among.reduce<Rule | undefined>(
      (best, rule) => best === undefined || beats(rule, best) ? rule : best,
      undefined,
    );
  const winner = strongest(matching.filter(({ confined }) => !confined));
  if (winner?.tier === "catalogue") {
    return strongest(matching.filter(({ confined, owner }) => confined && owner === winner.owner)) ?? winner;
  }
  return winner;
}

function matches(
  { pattern, transport }: Rule,
  name: string,
  bits: string | undefined,
  port: number,
): boolean {
  if (pattern.port !== undefined && pattern.port !== port) return false;
  if (pattern.kind === "any") return true;
  if (pattern.kind === "clusterips") {
    return bits !== undefined &&
      [...tables.get(transport)?.addresses ?? []].some((text) =>
        bitsOf(addressOf(text) ?? new Uint8Array()) === bits
      );
  }
  if (pattern.kind === "network") {
    const network = bitsOf(pattern.bytes);
    return bits?.length === network.length && bits.startsWith(network.slice(0, pattern.bits));
  }
  if (bits !== undefined) return false;
  if (pattern.kind === "local") return !name.includes(".");
  if (pattern.kind !== "name") return tables.get(transport)?.services.has(name) ?? false;
  const isBelow = name.endsWith(`.${pattern.name}`);
  const isItself = name === pattern.name;
  return { tree: isBelow || isItself, below: isBelow, exact: isItself }[pattern.scope];
}

/** Whether a later rule is stronger than an earlier one: the first difference decides. */
function beats(a: Rule, b: Rule): boolean {
  const tiers = ["catalogue", "exclusions", "routes", "direct"];
  const differences = [tiers.indexOf(a.tier) - tiers.indexOf(b.tier)];
  for (const measure of [kind, size, withPort, narrow]) differences.push(measure(a) - measure(b));
  return (differences.find((difference) => difference !== 0) ?? 0) > 0;
}

function kind({ pattern }: Rule): number {
  if (pattern.kind === "network") return pattern.bits === pattern.bytes.length * 8 ? 4 : 2;
  if (pattern.kind === "name") return pattern.scope === "exact" ? 4 : 2;
  return { any: 0, local: 1, services: 3, clusterips: 3 }[pattern.kind];
}

function size({ pattern }: Rule): number {
  return pattern.kind === "network"
    ? pattern.bits
    : pattern.kind === "name"
    ? pattern.name.split(".").length
    : 0;
}

function withPort({ pattern }: Rule): number {
  return pattern.port === undefined ? 0 : 1;
}

function narrow({ pattern }: Rule): number {
  return pattern.kind === "name" && pattern.scope === "below" ? 1 : 0;
}

function bitsOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
}

function isLoopback(host: string): boolean {
  const name = comparableHost(host);
  const address = addressOf(name);
  if (!address) return /^(?:.*\.)?localhost$/.test(name);
  return /^(?:127\..*|0\.0\.0\.0|::1?)$/.test(formatIp(address));
}

const rounds = 600;

Deno.test("Router.route() agrees with a slow reference", () => {
  for (let seed = 0; seed < rounds; seed++) {
    const dice = random(seed);
    const rules = someRules(dice);
    const fallback = pick(dice, ["direct", "corp", "reject"]);
    const router = new Router({ rules, fallback, tables });
    for (let n = 0; n < 40; n++) {
      const target = { host: someHost(dice), port: pick(dice, [...ports, 22]) };
      const route = router.route(target);
      const said = `seed ${seed}: ${JSON.stringify(target)} with ${
        rules.map(({ text, tier, transport }) => `${tier} ${text} ${transport}`).join("; ")
      }`;
      assert.equal(route.transport, reference(rules, fallback, target.host, target.port), said);
      const { losers, ...explained } = router.explain(target);
      assert.deepEqual(explained, route, said);
      assert.ok(!losers.some(({ rule }) => rule === route.rule), said);
    }
  }
});

Deno.test("pacFile() agrees with the router", () => {
  let asked = 0;
  for (let seed = 0; seed < rounds; seed++) {
    const dice = random(seed + 100_000);
    const rules = someRules(dice);
    const router = new Router({ rules, fallback: pick(dice, ["direct", "corp", "reject"]), tables });
    const find = evaluate(pacFile(router, { listener: "127.0.0.1:12000" }));
    for (let n = 0; n < 40; n++) {
      const host = someHost(dice);
      const port = pick(dice, [...ports, 22]);
      const { transport, rule } = router.route({ host, port });
      const isHere = isLoopback(host) &&
        (!rule || rule.pattern.kind === "any" || rule.pattern.kind === "local");
      const expected = transport === "direct" || isHere ? "DIRECT" : "SOCKS5 127.0.0.1:12000";
      const url = urlOf(dice, host, port);
      assert.equal(
        find(url, host),
        expected,
        `seed ${seed}: ${url}, by the router: ${JSON.stringify({ transport, rule })}`,
      );
      asked++;
    }
  }
  assert.equal(asked, rounds * 40);
});

function urlOf(dice: Dice, host: string, port: number): string {
  const authority = host.includes(":") ? `[${host}]` : host;
  if (port === 443 && dice(2) === 0) return `${pick(dice, ["https", "wss"])}://${authority}/`;
  if (port === 80 && dice(2) === 0) {
    return `${pick(dice, ["http", "ws"])}://${authority}/a?b=http://c.test:1/`;
  }
  return `https://${authority}:${port}/`;
}

/** Runs a PAC file without the sandbox's functions, so that a call of one fails. */
function evaluate(text: string): (url: string, host: string) => string {
  return new Function(`${text}\nreturn FindProxyForURL;`)() as (url: string, host: string) => string;
}

Deno.test("parsePattern() returns a pattern that its own text reproduces, or a problem", () => {
  const pieces = [
    ..."abz019.:/[]*=<>%@ \\\"'-_\u00fc\u3002\u0000\ud800",
    "::",
    "any",
    "<local>",
    "10.0.0.0",
    "/8",
    ":443",
    "example.com",
    "xn--",
    "fe80::1",
  ];
  for (let seed = 0; seed < 20_000; seed++) {
    const dice = random(seed + 200_000);
    const text = Array.from({ length: dice(8) }, () => pick(dice, pieces)).join("");
    const parsed = parsePattern(text);
    if ("problem" in parsed) {
      assert.match(parsed.problem, /^must /, text);
      continue;
    }
    const again = parsePattern(formatPattern(parsed.pattern));
    assert.ok("pattern" in again, `${JSON.stringify(text)} became ${formatPattern(parsed.pattern)}`);
    assert.deepEqual(again.pattern, parsed.pattern, text);
  }
});

Deno.test("Router.route() returns a route for any host", () => {
  const dice = random(300_000);
  const router = new Router({ rules: someRules(random(7)), tables });
  for (let n = 0; n < 20_000; n++) {
    const length = dice(20);
    const host = Array.from(
      { length },
      () => String.fromCharCode(pick(dice, [dice(128), dice(65536), 46, 58, 91, 37])),
    ).join("");
    assert.equal(typeof router.route({ host, port: dice(65536) }).because, "string");
  }
});
