import assert from "node:assert/strict";
import { nextHash, seed, SuffixTable } from "../../../src/routing/suffix_table.ts";

function hashOf(name: string): number {
  return [...name].reduceRight((hash, letter) => nextHash(hash, letter.charCodeAt(0)), seed);
}

function find<T>(table: SuffixTable<T>, host: string, suffix: string): T | undefined {
  return table.find(host, host.length - suffix.length, hashOf(suffix));
}

Deno.test("SuffixTable finds a name at the end of a host", () => {
  const table = new SuffixTable<number>();
  assert.equal(table.isEmpty, true);
  assert.equal(find(table, "a.test", "test"), undefined);
  assert.equal(table.at("test", () => 1), 1);
  assert.equal(table.isEmpty, false);
  assert.equal(find(table, "a.test", "test"), 1);
  assert.equal(find(table, "test", "test"), 1);
  assert.equal(find(table, "a.test", "a.test"), undefined);
});

Deno.test("SuffixTable.at() keeps the first value of a name", () => {
  const table = new SuffixTable<number>();
  table.at("a.test", () => 1);
  assert.equal(table.at("a.test", () => assert.fail("the name exists")), 1);
});

Deno.test("SuffixTable distinguishes names with the same hash", () => {
  const table = new SuffixTable<string>();
  assert.equal(hashOf("na.test"), hashOf("0c.test"));
  table.at("na.test", () => "na");
  assert.equal(find(table, "0c.test", "0c.test"), undefined);
  table.at("0c.test", () => "0c");
  assert.equal(find(table, "x.na.test", "na.test"), "na");
  assert.equal(find(table, "x.0c.test", "0c.test"), "0c");
});

Deno.test("SuffixTable compares whole characters, not their low bytes", () => {
  const table = new SuffixTable<string>();
  table.at("g", () => "g");
  assert.equal(table.find("ŧ", 0, hashOf("g")), undefined);
});

Deno.test("SuffixTable keeps its entries while it grows", () => {
  const table = new SuffixTable<number>();
  const names = Array.from({ length: 5000 }, (_, at) => `host-${at}.zone${at % 7}.test`);
  for (const [at, name] of names.entries()) table.at(name, () => at);
  for (const [at, name] of names.entries()) assert.equal(find(table, `www.${name}`, name), at, name);
  assert.equal(find(table, "host-5000.zone2.test", "host-5000.zone2.test"), undefined);
});
