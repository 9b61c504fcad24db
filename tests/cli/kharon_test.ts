import assert from "node:assert/strict";
import { storeClusters } from "../support/lab_clusters.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

const mapping = JSON.stringify({ "c-a.example.net": "jump1.example.net", "apps.c-a.example.net": "jump2" });

Deno.test("kharon's mapping alone starts an instance: proxy --mapping-file FILE, or the file as the only argument", async (t) => {
  await using home = await Household.open();
  await Deno.writeTextFile(`${home.directory}/m.json`, mapping);
  await home.configure("listen: { mixed: 127.0.0.1:0 }\ndirect: [x.c-a.example.net]\n");
  const forms = [["m.json"], ["proxy", "--mapping-file", "m.json", "--addr", "127.0.0.1:0"]];
  for (const form of forms) {
    await t.step(form.join(" "), async () => {
      await using instance = home.start(form);
      await instance.ready;
      const goes = async (host: string) => {
        const { stdout, stderr } = await home.run(["explain", `${host}:443`]);
        assert.equal(stderr, "");
        return stdout;
      };
      assert.match(await goes("api.c-a.example.net"), /jump1\.example\.net/);
      assert.match(await goes("console.apps.c-a.example.net"), /jump2/);
      assert.match(await goes("evilc-a.example.net"), /direct/);
      assert.match(await goes("x.c-a.example.net"), /direct/);
      instance.kill("SIGTERM");
      assert.equal((await instance.ended).code, 0, instance.stderr);
    });
  }
});

Deno.test("a saved kharon mapping applies, and an invalid one changes nothing", async () => {
  await using home = await Household.open();
  const save = async (text: string) => {
    await Deno.writeTextFile(`${home.directory}/new`, text);
    await Deno.rename(`${home.directory}/new`, `${home.directory}/m.json`);
  };
  await save(mapping);
  await using instance = home.start(["proxy", "--addr", "127.0.0.1:0", "--mapping-file", "m.json"]);
  await instance.ready;
  await save(mapping.replace("jump1.", "jump3."));
  await instance.says(/reload\.done|config\.reloaded|reloaded/);
  const explained = async () => (await home.run(["explain", "api.c-a.example.net:6443"])).stdout;
  assert.match(await explained(), /jump3\.example\.net/);
  await save("{");
  await instance.says(/m\.json.*not JSON/);
  assert.match(await explained(), /jump3\.example\.net/);
});

Deno.test("postern rejects what kharon rejects", async (t) => {
  await using home = await Household.open();
  await Deno.writeTextFile(`${home.directory}/number.json`, '{"a.example": 5}');
  const cases = [
    { args: ["missing.json"], code: 4, says: /Cannot read ".*missing\.json"/ },
    { args: ["number.json"], code: 4, says: /the jump host of "a\.example" is not a string/ },
    { args: ["-v", "5", "proxy"], code: 2, says: /hint: repeat -v instead of giving it a number/ },
    { args: ["-v", "-10", "proxy"], code: 2, says: /hint: repeat -v instead of giving it a number/ },
    { args: ["proxy", "-v", "5"], code: 2, says: /hint: repeat -v instead of giving it a number/ },
    { args: ["proxy", "--verbosity", "5"], code: 2, says: /hint: repeat -v instead of giving it a number/ },
    {
      args: ["update", "--lieutenant-url", "http://api.example.net"],
      code: 4,
      says:
        /^--lieutenant-url: must begin with https:\/\/.*\npostern: hint: show the options: postern update --help/m,
    },
  ];
  for (const { args, code, says } of cases) {
    await t.step(args.join(" "), async () => {
      const ended = await home.run(args);
      assert.match(ended.stderr, says);
      assert.equal(ended.code, code, ended.stderr);
    });
  }
  await t.step("an API that the configuration does not name", async () => {
    await home.configure("catalogues: [{ lieutenant: https://api.syn.example.net }]\n");
    const ended = await home.run(["update", "--lieutenant-url", "https://other.example.net"]);
    assert.match(
      ended.stderr,
      /does not contain it\npostern: hint: use one of: https:\/\/api\.syn\.example\.net/,
    );
    assert.equal(ended.code, 2);
  });
});

peerTest(
  "postern switch makes a cluster current for kubectl, and switches back",
  ["kubectl"],
  async ({ kubectl }, t) => {
    await using home = await Household.open();
    await storeClusters(home);
    await home.configure("listen: { mixed: 127.0.0.1:3140 }\n");
    const path = `${home.directory}/k.yaml`;
    const env = { KUBECONFIG: path };
    const current = async () => {
      const { stdout } = await new Deno.Command(kubectl, {
        args: ["config", "current-context"],
        env: { KUBECONFIG: path, HOME: home.directory },
        clearEnv: true,
      }).output();
      return new TextDecoder().decode(stdout).trim();
    };
    const cases = [
      { args: ["switch", "lab-1"], now: "c-lab-1" },
      { args: ["switch", "https://api.c-talos.example.net:6443"], now: "c-talos" },
      { args: ["switch", "-"], now: "c-lab-1" },
      { args: ["switch", "-"], now: "c-talos" },
      { args: ["oc-web-login", "c-lab-2"], now: "c-lab-2" },
    ];
    for (const { args, now } of cases) {
      await t.step(args.join(" "), async () => {
        const { code, stderr } = await home.run(args, { env });
        assert.equal(code, 0, stderr);
        assert.ok(stderr.endsWith(`postern: switched to ${now} in ${path}\n`), stderr);
        assert.equal(await current(), now);
      });
    }
    await t.step("no previous cluster", async () => {
      await using other = await Household.open();
      const { code, stderr } = await other.run(["switch", "-"], { env });
      assert.deepEqual([code, await current()], [2, "c-lab-2"], stderr);
    });
    await t.step("an ambiguous cluster", async () => {
      const { code, stderr } = await home.run(["switch", "c-lab"], { env });
      assert.equal(code, 2);
      assert.match(stderr, /"c-lab" matches c-lab-2, c-lab-1/);
    });
  },
);

peerTest(
  "postern kubelogin runs the one in PATH with its arguments and returns its exit code",
  ["sh"],
  async ({ sh }) => {
    await using home = await Household.open();
    const bin = `${home.directory}/bin`;
    await Deno.mkdir(bin);
    const script = `#!${sh}\nfor word in "$@"; do printf "<%s>" "$word"; done; exit 3\n`;
    await Deno.writeTextFile(`${bin}/kubelogin`, script, { mode: 0o755 });
    const args = ["kubelogin", "get-token", "--help", "-v", "1"];
    const { code, stdout, stderr } = await home.run(args, { env: { PATH: bin } });
    assert.deepEqual([code, stdout], [3, "<get-token><--help><-v><1>"], stderr);
    const missing = await home.run(["kubelogin", "get-token"], { env: { PATH: "/nowhere" } });
    assert.equal(missing.code, 127, missing.stderr);
  },
);

Deno.test("postern oc-web-login URL --exec-credential is the exec plugin of kharon's kubeconfigs", async () => {
  await using home = await Household.open();
  const { code, stdout, stderr } = await home.run([
    "oc-web-login",
    "http://api.example.net",
    "--exec-credential",
  ]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /the server is not a URL that begins with https:/);
});
