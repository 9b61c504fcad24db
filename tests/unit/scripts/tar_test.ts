import assert from "node:assert/strict";
import { type TarEntry, writeTar } from "../../../scripts/tar.ts";

const text = (content: string) => new TextEncoder().encode(content);
const entries: readonly TarEntry[] = [
  { type: "file", path: "b/one", mode: 0o755, content: text("x".repeat(513)) },
  { type: "directory", path: "b", mode: 0o1777, owner: 65_532 },
  { type: "link", path: "a", mode: 0o777, to: "b/one" },
];

async function archive(entries: readonly TarEntry[], time?: number): Promise<Uint8Array> {
  return await new Blob([...writeTar(entries, time)]).bytes();
}

/** Reads a field of a header without its padding. */
function field(bytes: Uint8Array, at: number, size: number): string {
  return new TextDecoder().decode(bytes.subarray(at, at + size)).replace(/[\0 ]+$/, "");
}

Deno.test("writeTar() sorts its entries and sets one time for all", async () => {
  const bytes = await archive(entries, 0o7777);
  assert.equal(bytes.length, 3 * 512 + 1024 + 1024);
  const headers = [0, 512, 1024].map((at) => bytes.subarray(at, at + 512));
  assert.deepEqual(headers.map((header) => field(header, 0, 100)), ["a", "b/", "b/one"]);
  assert.deepEqual(headers.map((header) => field(header, 100, 8)), ["0000777", "0001777", "0000755"]);
  assert.deepEqual(headers.map((header) => field(header, 108, 8)), ["0000000", "0177774", "0000000"]);
  assert.deepEqual(headers.map((header) => field(header, 124, 12)), [
    "00000000000",
    "00000000000",
    "00000001001",
  ]);
  assert.deepEqual(headers.map((header) => field(header, 136, 12)), [
    "00000007777",
    "00000007777",
    "00000007777",
  ]);
  assert.deepEqual(headers.map((header) => field(header, 156, 1)), ["2", "5", "0"]);
  assert.equal(field(headers[0] ?? bytes, 157, 100), "b/one");
  assert.deepEqual(await archive(entries.toReversed(), 0o7777), bytes);
});

Deno.test("writeTar() computes each header's checksum with its own field as blanks", async () => {
  const header = (await archive(entries)).slice(0, 512);
  const sum = parseInt(field(header, 148, 8), 8);
  header.fill(32, 148, 156);
  assert.equal(header.reduce((total, byte) => total + byte, 0), sum);
});

Deno.test("writeTar() splits a long path at a slash and refuses one that it cannot split", async () => {
  const path = `${"d".repeat(80)}/${"e".repeat(60)}/${"f".repeat(39)}`;
  const bytes = await archive([{ type: "directory", path, mode: 0o755 }]);
  assert.equal(`${field(bytes, 345, 155)}/${field(bytes, 0, 100)}`, `${path}/`);
  const long: TarEntry = { type: "directory", path: "d".repeat(101), mode: 0o755 };
  await assert.rejects(archive([long]), /too long/);
  await assert.rejects(archive([{ ...long, path: "é".repeat(60) }]), /too long/);
  await assert.rejects(archive([{ ...long, path: "a" }, { ...long, path: "a" }]), /already there/);
});
