import assert from "node:assert/strict";
import { LineWriter } from "../../../src/core/mod.ts";

Deno.test("LineWriter.write() makes one write of the lines of a turn", async () => {
  const written: string[] = [];
  const lines = new LineWriter({ sink: (text) => Promise.resolve(void written.push(text)) });
  for (const line of ["a\n", "b\n", "c\n"]) lines.write(line);
  await lines.flush();
  lines.write("d\n");
  await lines.flush();
  assert.deepEqual(written, ["a\nb\nc\n", "d\n"]);
});

Deno.test("LineWriter.write() drops lines that do not fit and reports how many", async () => {
  const written: string[] = [];
  const gate = Promise.withResolvers<void>();
  const sink = async (text: string) => {
    await gate.promise;
    written.push(text);
  };
  const lines = new LineWriter({ sink, limit: 10, lost: (count) => `lost ${count}\n` });
  for (let index = 0; index < 9; index++) lines.write(`00${index}\n`);
  assert.equal(lines.lost, 7);
  gate.resolve();
  await lines.flush();
  assert.deepEqual(written, ["000\n001\nlost 7\n"]);
  assert.equal(lines.lost, 0);
});

Deno.test("LineWriter.write() survives a failing sink and reports the loss when it works again", async () => {
  const written: string[] = [];
  let isFull = true;
  const sink = (text: string) =>
    isFull ? Promise.reject(new Error("full")) : Promise.resolve(void written.push(text));
  const lines = new LineWriter({ sink, lost: (count) => `lost ${count}\n` });
  lines.write("a\n");
  lines.write("b\n");
  await lines.flush();
  isFull = false;
  lines.write("c\n");
  await lines.flush();
  assert.deepEqual(written, ["c\nlost 2\n"]);
});
