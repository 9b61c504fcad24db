import assert from "node:assert/strict";
import { FakeAddresses } from "../../../../src/instance/dns/fake_addresses.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import type { FakeRange } from "../../../../src/dns/mod.ts";
import { parseFakeRange } from "../../../../src/dns/fake_range.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const path = "/state/dns/x.addresses";
const range = (text: string): FakeRange => parseFakeRange(text) ?? assert.fail(text);
const wide = range("198.18.0.0/15");
/** A range with fourteen addresses for names. */
const narrow = range("10.9.8.16/28");

function place(text?: string) {
  const world = new MemoryWorld(text === undefined ? {} : { files: { [path]: text } });
  const log = recordingLog();
  const open = (range: FakeRange) => FakeAddresses.open(world, path, { range, log });
  const text_ = () => world.files.readText(path);
  return { world, log, open, text: text_ };
}

for (
  const { text, is } of [
    { text: "198.18.0.0/15", is: { text: "198.18.0.0/15", first: 0xc6120000, size: 131_072 } },
    { text: "198.18.77.1/15", is: { text: "198.18.0.0/15", first: 0xc6120000, size: 131_072 } },
    { text: "10.9.8.16/28", is: { text: "10.9.8.16/28", first: 0x0a090810, size: 16 } },
    { text: "10.0.0.0/8", is: { text: "10.0.0.0/8", first: 0x0a000000, size: 2 ** 24 } },
    { text: "0.0.0.0/0", is: undefined },
    { text: "10.0.0.0/29", is: undefined },
    { text: "10.0.0.0", is: undefined },
    { text: "10.0.0/16", is: undefined },
    { text: "fd00::/64", is: undefined },
  ]
) {
  Deno.test(`parseFakeRange() reads "${text}"`, () => assert.deepEqual(parseFakeRange(text), is));
}

Deno.test("FakeAddresses gives each name one address and maps it back", async () => {
  const { open, text } = place();
  await using addresses = await open(wide);
  assert.equal(await addresses.addressOf("a.example"), "198.18.0.1");
  assert.equal(await addresses.addressOf("b.example"), "198.18.0.2");
  assert.equal(await addresses.addressOf("a.example"), "198.18.0.1");
  assert.equal(addresses.nameOf("198.18.0.2"), "b.example");
  assert.equal(addresses.nameOf("198.18.0.3"), "", "in the range, but not assigned");
  assert.equal(addresses.nameOf("::ffff:198.18.0.2"), "b.example");
  assert.equal(addresses.nameOf("198.20.0.1"), undefined);
  assert.equal(addresses.nameOf("a.example"), undefined);
  assert.equal(addresses.nameOf("::1"), undefined);
  // The pair is in the file before the answer: the instance may be killed right after it.
  assert.match(await text(), /^198\.18\.0\.1 a\.example\n198\.18\.0\.2 b\.example\n$/m);
});

Deno.test("FakeAddresses gives concurrent requests one unique address per name", async () => {
  const { open } = place();
  await using addresses = await open(wide);
  const names = Array.from({ length: 300 }, (_, at) => `n${at % 200}.example`);
  const given = await Promise.all(names.map((name) => addresses.addressOf(name)));
  assert.equal(new Set(given).size, 200);
  for (const [at, name] of names.entries()) assert.equal(addresses.nameOf(given[at] ?? ""), name);
});

Deno.test("FakeAddresses keeps its addresses across a restart", async () => {
  const { open, text } = place();
  const first = await open(wide);
  for (const name of ["a", "b", "c"]) await first.addressOf(name);
  // A killed instance disposes nothing.
  await using second = await open(wide);
  assert.equal(second.nameOf("198.18.0.2"), "b");
  assert.equal(await second.addressOf("c"), "198.18.0.3");
  assert.equal(await second.addressOf("d"), "198.18.0.4");
  assert.match(await text(), /^198\.18\.0\.4 d$/m);
  await first[Symbol.asyncDispose]();
});

Deno.test("FakeAddresses reads the valid lines of a damaged file, and logs the damage", async () => {
  const lines = [
    "198.18.0.1 a",
    "198.18.0.2",
    "nonsense",
    "198.18.0.3 b",
    "198.18.0.3 c",
    "10.0.0.1 of-another-range",
    "198.18.0.0 the-network",
    "198.18.0.4 a",
    "198.18.0.5 \u0000",
    "198.18.0.6 half-a-li",
  ];
  const { open, log } = place(lines.join("\n"));
  await using addresses = await open(wide);
  assert.equal(addresses.nameOf("198.18.0.1"), "", "the later line wins");
  assert.equal(addresses.nameOf("198.18.0.4"), "a");
  assert.equal(addresses.nameOf("198.18.0.3"), "c");
  assert.equal(addresses.nameOf("198.18.0.0"), "");
  assert.equal(addresses.size, 3);
  assert.deepEqual(log.lines.map(({ event, lines }) => ({ event, lines })), [
    { event: "dns.addresses_damaged", lines: 3 },
  ]);
  assert.equal(await addresses.addressOf("b"), "198.18.0.1");
});

Deno.test("FakeAddresses reuses the least recently used address, after ten minutes", async () => {
  const { open, world } = place();
  await using addresses = await open(narrow);
  for (let number = 1; number <= 14; number++) {
    assert.equal(await addresses.addressOf(`n${number}`), `10.9.8.${16 + number}`);
    await world.clock.advance(1000);
  }
  await assert.rejects(
    addresses.addressOf("one-more"),
    (error) =>
      error instanceof PosternError && error.detail === "overloaded" &&
      /all 14 are in use/.test(error.message),
  );
  await world.clock.advance(600_000);
  assert.equal(await addresses.addressOf("n1"), "10.9.8.17");
  assert.equal(addresses.nameOf("10.9.8.18"), "n2", "a dial counts as use");
  assert.equal(await addresses.addressOf("one-more"), "10.9.8.19");
  assert.equal(addresses.nameOf("10.9.8.19"), "one-more");
  assert.equal(addresses.size, 14);
  // The replaced name does not return after a restart.
  await using again = await open(narrow);
  assert.equal(again.nameOf("10.9.8.19"), "one-more");
  assert.equal(again.size, 14);
});

Deno.test("FakeAddresses returns no address that it could not store", async () => {
  const { open, world } = place();
  await using addresses = await open(wide);
  await addresses.addressOf("a");
  const full = new PosternError("internal", "Cannot append: no space left");
  const { append } = world.files;
  world.files.replace = () => Promise.reject(full);
  world.files.append = () =>
    Promise.resolve({ write: () => Promise.reject(full), [Symbol.dispose]: () => {} });
  world.files.put = () => {
    throw full;
  };
  await assert.rejects(addresses.addressOf("b"), full);
  assert.equal(addresses.nameOf("198.18.0.2"), "");
  assert.equal(await addresses.addressOf("a"), "198.18.0.1");
  world.files.append = append;
});

Deno.test("FakeAddresses.read() reads without writing", async () => {
  const { world, log } = place();
  const { files } = world;
  await using none = await FakeAddresses.read(world, path, { range: wide, log });
  assert.equal(none.nameOf("198.18.0.1"), "");
  assert.equal(await files.readTextIfThere(path), undefined);
  files.put(path, "198.18.0.1 a\n");
  await using some = await FakeAddresses.read(world, path, { range: wide, log });
  assert.equal(some.nameOf("198.18.0.1"), "a");
  assert.equal(await files.readText(path), "198.18.0.1 a\n");
});
