import assert from "node:assert/strict";
import { withOwner } from "../../../src/app/port_owner.ts";
import { PosternError } from "../../../src/core/mod.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

Deno.test("withOwner() leaves a failure alone that has no owner among our doors", async () => {
  const world = new MemoryWorld({ files: { "/run/me": "" } });
  const others = [
    new Error("anything"),
    new PosternError("config", "Cannot listen on 127.0.0.1:1: the system does not allow it"),
    new PosternError("config", "Cannot listen on 127.0.0.1:1: the address is in use", { detail: "in_use" }),
  ];
  for (const error of others) assert.equal(await withOwner(world, error), error);
});
