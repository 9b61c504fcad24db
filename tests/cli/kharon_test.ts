import assert from "node:assert/strict";
import { Household } from "../support/postern_process.ts";

const mapping = JSON.stringify({ "c-a.example.net": "jump1.example.net", "apps.c-a.example.net": "jump2" });

Deno.test("kharon's mapping alone is a door: proxy --mapping-file FILE, or the file as the one argument", async (t) => {
  await using home = await Household.open();
  await Deno.writeTextFile(`${home.directory}/m.json`, mapping);
  await home.configure("listen: { mixed: 127.0.0.1:0 }\ndirect: [x.c-a.example.net]\n");
  const forms = [["m.json"], ["proxy", "--mapping-file", "m.json", "--addr", "127.0.0.1:0"]];
  for (const form of forms) {
    await t.step(form.join(" "), async () => {
      await using door = home.start(form);
      await door.ready;
      const goes = async (host: string) => {
        const { stdout, stderr } = await home.run(["explain", `${host}:443`]);
        assert.equal(stderr, "");
        return stdout;
      };
      assert.match(await goes("api.c-a.example.net"), /jump1\.example\.net/);
      assert.match(await goes("console.apps.c-a.example.net"), /jump2/);
      assert.match(await goes("evilc-a.example.net"), /direct/);
      assert.match(await goes("x.c-a.example.net"), /direct/);
      door.kill("SIGTERM");
      assert.equal((await door.ended).code, 0, door.stderr);
    });
  }
});

Deno.test("kharon's mapping is in force when it is saved, and a mistake in it changes nothing", async () => {
  await using home = await Household.open();
  const save = async (text: string) => {
    await Deno.writeTextFile(`${home.directory}/new`, text);
    await Deno.rename(`${home.directory}/new`, `${home.directory}/m.json`);
  };
  await save(mapping);
  await using door = home.start(["proxy", "--addr", "127.0.0.1:0", "--mapping-file", "m.json"]);
  await door.ready;
  await save(mapping.replace("jump1.", "jump3."));
  await door.says(/reload\.done|config\.reloaded|reloaded/);
  const explained = async () => (await home.run(["explain", "api.c-a.example.net:6443"])).stdout;
  assert.match(await explained(), /jump3\.example\.net/);
  await save("{");
  await door.says(/m\.json.*not JSON/);
  assert.match(await explained(), /jump3\.example\.net/);
});

Deno.test("what kharon would not start with, postern says too", async (t) => {
  await using home = await Household.open();
  await Deno.writeTextFile(`${home.directory}/number.json`, '{"a.example": 5}');
  const cases = [
    { args: ["missing.json"], code: 4, says: /Cannot read ".*missing\.json"/ },
    { args: ["number.json"], code: 4, says: /the jump host of "a\.example" is not a text/ },
    { args: ["-v", "5", "proxy"], code: 2, says: /hint: -v takes no number/ },
    { args: ["-v", "-10", "proxy"], code: 2, says: /hint: -v takes no number/ },
    { args: ["proxy", "-v", "5"], code: 2, says: /hint: -v takes no number/ },
    { args: ["proxy", "--verbosity", "5"], code: 2, says: /hint: -v takes no number/ },
    {
      args: ["update", "--lieutenant-url", "http://api.example.net"],
      code: 4,
      says: /LIEUTENANT_URL: must begin with https:\/\//,
    },
  ];
  for (const { args, code, says } of cases) {
    await t.step(args.join(" "), async () => {
      const ended = await home.run(args);
      assert.match(ended.stderr, says);
      assert.equal(ended.code, code, ended.stderr);
    });
  }
  await t.step("an API that the configuration does not name beside others", async () => {
    await home.configure("catalogues: [{ lieutenant: https://api.syn.example.net }]\n");
    const ended = await home.run(["update", "--lieutenant-url", "https://other.example.net"]);
    assert.match(ended.stderr, /does not name it\npostern: hint: known are https:\/\/api\.syn\.example\.net/);
    assert.equal(ended.code, 2);
  });
});
