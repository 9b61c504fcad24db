import assert from "node:assert/strict";
import type { PosternError } from "../../../../src/words/mod.ts";
import { OrderedOutput } from "../../../../src/runtime/terminal/terminal.ts";

/** Accepts a few bytes at a time and fails on demand. */
class SlowSink {
  text = "";
  writes = 0;
  failure: Error | undefined;

  async write(bytes: Uint8Array): Promise<number> {
    this.writes++;
    await Promise.resolve();
    if (this.failure) throw this.failure;
    const part = bytes.subarray(0, 3);
    this.text += new TextDecoder("latin1").decode(part);
    return part.length;
  }
}

Deno.test("OrderedOutput.write() writes complete texts in order", async () => {
  const sink = new SlowSink();
  const output = new OrderedOutput(sink, "the output");
  await Promise.all([output.write("first text\n"), output.write("second text\n"), output.write("")]);
  assert.equal(sink.text, "first text\nsecond text\n");
});

Deno.test("OrderedOutput.write() ignores a closed reader and stops writing", async () => {
  const sink = new SlowSink();
  const output = new OrderedOutput(sink, "the output");
  sink.failure = new Deno.errors.BrokenPipe("gone");
  assert.equal(output.hasGone, false);
  await output.write("one");
  await output.write("two");
  assert.equal(sink.writes, 1);
  assert.equal(output.hasGone, true);
});

Deno.test("OrderedOutput.write() rejects on a failure and continues with the next text", async () => {
  const sink = new SlowSink();
  const output = new OrderedOutput(sink, "the output");
  sink.failure = Object.assign(new Error("full"), { code: "ENOSPC" });
  const failing = output.write("lost");
  await assert.rejects(
    failing,
    (error: PosternError) => /^Cannot write to the output: no space left$/.test(error.message),
  );
  sink.failure = undefined;
  await output.write("kept");
  assert.equal(sink.text, "kept");
});

const terminal = new URL("../../../../src/runtime/terminal/terminal.ts", import.meta.url);

Deno.test({
  name: "createTerminal() survives a full disk and a closed pipe",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const program = `
      const { createTerminal } = await import("${terminal}");
      const { out, err } = createTerminal();
      await err("x".repeat(100_000));
      await out("one").catch((error) => Deno.exitCode = error.code === "internal" ? 9 : 1);
      await out("two").catch(() => {});`;
    const command = [Deno.execPath(), "eval", program];
    for (const [redirect, code] of [[">/dev/full 2>/dev/full", 9], ["2>/dev/full | true", 0]] as const) {
      const shell = `set -o pipefail 2>/dev/null; "$@" ${redirect}`;
      const { code: found } = await new Deno.Command("bash", { args: ["-c", shell, "bash", ...command] })
        .output();
      assert.equal(found, code, redirect);
    }
  },
});
