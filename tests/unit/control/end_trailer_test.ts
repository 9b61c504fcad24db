import assert from "node:assert/strict";
import { endTrailer, endTrailerText } from "../../../src/control/mod.ts";
import { Messages } from "../../../src/core/mod.ts";
import { HttpBody } from "../../../src/http/mod.ts";
import { encodeLastChunk } from "../../../src/wire/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { memoryPair } from "../../support/memory_conn.ts";

Deno.test("endTrailerText() fits into a trailer, also with a long sentence of another program", async () => {
  const foreign = "サーバーに接続できません".repeat(1000);
  const error = new PosternError("unreachable", foreign, { hint: foreign });
  const [near, far] = memoryPair();
  await far.write(encodeLastChunk([[endTrailer, endTrailerText(error)]]));
  const messages = new Messages(near);
  const body = new HttpBody(messages, { kind: "chunked" }, { from: "instance" });
  while (!body.isEnded) if (!body.take()) assert.ok(body.isEnded || await messages.fill());
  const info = JSON.parse(body.trailers.get(endTrailer) ?? "");
  assert.deepEqual([info.code, foreign.startsWith(info.message)], ["unreachable", true]);
  assert.ok(info.message.length > 500);
});
