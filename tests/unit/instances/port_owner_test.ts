import assert from "node:assert/strict";
import { withOwner } from "../../../src/instances/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { startInstance } from "../../support/memory_instance.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { jsonAnswer, WebServer } from "../../support/web_server.ts";

Deno.test("withOwner() keeps an error unchanged if none of our instances uses the address", async () => {
  const world = new MemoryWorld({ files: { "/run/me": "" } });
  const others = [
    new Error("anything"),
    new PosternError("config", "Cannot listen on 127.0.0.1:1: the system does not allow it"),
    new PosternError("config", "Cannot listen on 127.0.0.1:1: address already in use", { detail: "in_use" }),
  ];
  for (const error of others) assert.equal(await withOwner(world, error), error);
});

Deno.test("withOwner() names the instance that uses the address, even if others hang or are newer", async () => {
  const files = { "/c.yaml": "listen: { mixed: 127.0.0.1:7 }\n", "/run/me": "", "/run/me/work.lock": "" };
  const world = new MemoryWorld({
    files: { ...files, "/run/me/hung.lock": "", "/run/me/hung.sock": "", "/run/me/later.lock": "" },
  });
  world.network.faults.set("/run/me/hung.sock", "silent");
  const hello = jsonAnswer({ version: "9.0.0", id: "later", pid: 1, protocol: 2 });
  await using _later = new WebServer(world.network.listen({ path: "/run/me/later.sock" }), () => hello);
  const instance = await startInstance(world, { id: "work", config: "/c.yaml" });
  const error = new PosternError("config", "Cannot listen on 127.0.0.1:7: address already in use", {
    detail: "in_use",
  });
  const owned = withOwner(world, error);
  await world.clock.advance(5000);
  assert.match(
    String((await owned as PosternError).hint),
    /stop instance "work" \(pid 4711\), which listens there/,
  );
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("withOwner() names the instance that uses the port on the wildcard address", async () => {
  for (const wildcard of ["0.0.0.0", "[::]"]) {
    const files = {
      "/c.yaml": `listen: { http: "${wildcard}:7", allowOpen: true }\n`,
      "/run/me": "",
      "/run/me/work.lock": "",
    };
    const world = new MemoryWorld({ files });
    const instance = await startInstance(world, { id: "work", config: "/c.yaml" });
    const hintFor = async (address: string) => {
      const message = `Cannot listen on ${address}: address already in use`;
      const error = new PosternError("config", message, { detail: "in_use" });
      return (await withOwner(world, error) as PosternError).hint;
    };
    assert.match(await hintFor("127.64.0.1:7") ?? "", /stop instance "work"/);
    assert.equal(await hintFor("127.64.0.1:77"), undefined);
    world.kill("SIGTERM");
    await instance.ended;
  }
});
