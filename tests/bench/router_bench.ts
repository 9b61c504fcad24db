// Prints what the router costs: loading, and one lookup at the median, with few and with many rules.
// Run: deno run tests/bench/router_bench.ts

import { parsePattern, Router, type Rule } from "../../src/routing/mod.ts";

function rules(suffixes: number, networks: number): Rule[] {
  const out: Rule[] = [];
  const add = (text: string) => {
    const parsed = parsePattern(text);
    if ("problem" in parsed) throw new Error(`${text} ${parsed.problem}`);
    out.push({ text, pattern: parsed.pattern, transport: "jump", source: "bench", tier: "routes" });
  };
  for (let n = 0; n < suffixes; n++) add(`apps.c-cluster-${n}.region${n % 17}.example.net`);
  for (let n = 0; n < networks; n++) {
    add(
      n % 2 === 0
        ? `10.${n >> 9 & 255}.${n >> 1 & 255}.0/${20 + n % 9}`
        : `2001:db8:${n.toString(16)}::/${44 + n % 5}`,
    );
  }
  return out;
}

const hosts = (suffixes: number): Record<string, (n: number) => string> => ({
  "name, matched": (n) =>
    `console.apps.c-cluster-${n * 7919 % suffixes}.region${n * 7919 % suffixes % 17}.example.net`,
  "name, no rule": (n) => `www.host-${n}.example.org`,
  "IPv4": (n) => `10.${n & 255}.${n * 31 & 255}.9`,
  "IPv6": (n) => `2001:db8:${(n * 31 & 8191).toString(16)}::${n.toString(16)}`,
});

for (const [suffixes, networks] of [[100, 10], [10_000, 1_000], [100_000, 10_000]] as const) {
  const list = rules(suffixes, networks);
  const before = performance.now();
  const router = new Router({ rules: list });
  router.route({ host: "a.example", port: 443 });
  console.log(
    `${suffixes} suffixes, ${networks} networks: loaded in ${(performance.now() - before).toFixed(1)} ms`,
  );
  for (const [name, host] of Object.entries(hosts(suffixes))) {
    const targets = Array.from({ length: 10_000 }, (_, n) => ({ host: host(n), port: 443 }));
    const batches: number[] = [];
    for (let round = 0; round < 20; round++) {
      for (let start = 0; start < targets.length; start += 100) {
        const begin = performance.now();
        for (let at = start; at < start + 100; at++) router.route(targets[at] ?? { host: "", port: 0 });
        batches.push((performance.now() - begin) * 10);
      }
    }
    batches.sort((a, b) => a - b);
    const at = (share: number) => (batches[Math.floor(batches.length * share)] ?? 0).toFixed(2);
    // The lowest is what the work costs; what lies between it and the median is mostly the rest of the machine.
    console.log(`  ${name.padEnd(14)} lowest ${at(0)} µs, p50 ${at(0.5)} µs, p99 ${at(0.99)} µs`);
  }
}
