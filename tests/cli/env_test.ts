import assert from "node:assert/strict";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

const names = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"].flatMap((
  name,
) => [name, name.toUpperCase()]);

/** Evaluates lines in a real shell and returns its exported variables. */
async function evaluated(
  bash: string,
  lines: string,
  env: Record<string, string>,
): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await new Deno.Command(bash, {
    args: ["--norc", "-c", `eval "$1"; env -0`, "bash", lines],
    env,
    clearEnv: true,
  }).output();
  assert.deepEqual([code, new TextDecoder().decode(stderr)], [0, ""]);
  const entries = new TextDecoder().decode(stdout).split("\0").map((entry) =>
    entry.split(/=(.*)/s).slice(0, 2)
  );
  const all: Record<string, string> = Object.fromEntries(entries);
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => !["_", "PWD", "SHLVL", "PATH", ""].includes(name)),
  );
}

peerTest(
  "postern env in sh sets both spellings of every variable to the running instance",
  ["bash"],
  async ({ bash }) => {
    await using home = await Household.open();
    await home.configure(
      "direct: [public.example.net, 10.0.0.0/8]\nroutes: [{ to: .example.net, via: reject }]\n",
    );
    await using listener = await home.instance();
    const address = await listener.address();
    const { code, stdout, stderr } = await home.run(["env", "--shell", "sh"]);
    assert.equal(code, 0, stderr);
    const env = await evaluated(bash, stdout, { PATH: "/usr/bin:/bin" });
    for (const name of names) assert.ok(env[name], name);
    for (const name of ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"]) {
      assert.equal(env[name], `http://${address}`);
    }
    assert.equal(env.all_proxy, `http://${address}`);
    assert.equal(env.NODE_USE_ENV_PROXY, "1");
    assert.match(env.no_proxy ?? "", /^localhost,127\.0\.0\.1,::1,/);
    assert.equal(env.NO_PROXY, env.no_proxy);
  },
);

peerTest(
  "postern env reports and keeps a previous proxy, and --unset restores it",
  ["bash"],
  async ({ bash }) => {
    await using home = await Household.open();
    await home.configure("default: direct\n");
    const before = { PATH: "/usr/bin:/bin", HTTPS_PROXY: "http://me:s3cret@proxy.corp.example:3128" };
    const set = await home.run(["env", "--shell", "sh"], { env: before });
    assert.equal(set.code, 0, set.stderr);
    assert.match(set.stderr, /transports:\n? *corp: \{ proxy: \{ url: "?http:\/\/proxy\.corp\.example:3128/);
    assert.doesNotMatch(set.stdout + set.stderr, /s3cret/);
    const during = await evaluated(bash, set.stdout, before);
    assert.equal(during.HTTPS_PROXY, "http://127.0.0.1:12000");
    const unset = await home.run(["env", "--shell", "sh", "--unset"], { env: during });
    assert.equal(unset.code, 0, unset.stderr);
    const after = await evaluated(bash, unset.stdout, { ...during, PATH: before.PATH });
    assert.deepEqual(after, { HTTPS_PROXY: before.HTTPS_PROXY });
  },
);

Deno.test("postern env prints a required password only with --with-credentials", async () => {
  await using home = await Household.open();
  await Deno.writeTextFile(`${home.directory}/password`, "s3cret\n");
  await home.configure(
    `listen: { auth: { users: [{ name: me, passwordFile: ${home.directory}/password }] } }\ndefault: direct\n`,
  );
  await using _listener = await home.instance();
  const refused = await home.run(["env"]);
  assert.equal(refused.code, 5);
  assert.match(refused.stderr, /hint: add --with-credentials/);
  assert.equal(refused.stdout, "");
  const given = await home.run(["env", "--with-credentials", "--shell", "sh"]);
  assert.equal(given.code, 0, given.stderr);
  assert.match(given.stdout, /http:\/\/me:s3cret@127\.0\.0\.1:/);
  const unneeded = await home.run(["env", "--for", "ssh", "--shell", "sh"]);
  assert.equal(unneeded.code, 0, unneeded.stderr);
  assert.match(unneeded.stdout, /^export GIT_SSH_COMMAND=/m);
  assert.doesNotMatch(unneeded.stdout, /s3cret/);
});

const listeners = [
  { listen: "{ socks: 127.0.0.1:3141 }", url: "socks5h://127.0.0.1:3141", all: "socks5h://127.0.0.1:3141" },
  { listen: "{ http: 127.0.0.1:3142 }", url: "http://127.0.0.1:3142", all: "http://127.0.0.1:3142" },
  { listen: "{ mixed: 127.0.0.1:80 }", url: "http://127.0.0.1:80", all: "http://127.0.0.1:80" },
  { listen: "{ mixed: '[::1]:80' }", url: "http://[::1]:80", all: "http://[::1]:80" },
];
for (const { listen, url, all } of listeners) {
  Deno.test(`postern env uses the protocol of the listener: listen: ${listen}`, async () => {
    await using home = await Household.open();
    await home.configure(`listen: ${listen}\n`);
    const { code, stdout, stderr } = await home.run(["env", "--shell", "json"]);
    assert.equal(code, 0, stderr);
    const { https_proxy, ALL_PROXY } = JSON.parse(stdout);
    assert.deepEqual({ https_proxy, ALL_PROXY }, { https_proxy: url, ALL_PROXY: all });
    const pac = await home.run(["pac"]);
    assert.equal(/^var PROXY = "PROXY /.test(pac.stdout), listen.includes("http:"), pac.stdout.slice(0, 100));
  });
}

const nowhere = [
  {
    listen: "{ mixed: 127.0.0.1:0 }",
    says: /settings: the listener has port 0, which changes at each start\n.*start the instance/,
  },
  { listen: "{ unix: postern.sock }", says: /settings: no listener has a TCP port\n.*listen\.mixed/ },
];
for (const { listen, says } of nowhere) {
  Deno.test(`postern env fails without a known address: listen: ${listen}`, async () => {
    await using home = await Household.open();
    await home.configure(`listen: ${listen}\n`);
    const { code, stdout, stderr } = await home.run(["env"]);
    assert.deepEqual([code, stdout], [4, ""]);
    assert.match(stderr, says);
  });
}

peerTest("the variables of postern env work with a SOCKS-only listener", ["curl"], async ({ curl }) => {
  await using home = await Household.open();
  await using origin = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("hi"),
  );
  await home.configure("listen: { socks: 127.0.0.1:0 }\ndefault: direct\n");
  await using _listener = await home.instance();
  const { stdout, stderr } = await home.run(["env", "--shell", "json"]);
  const env: Record<string, string> = JSON.parse(stdout);
  const page = await new Deno.Command(curl, {
    args: ["-sS", "--noproxy", "", `http://127.0.0.1:${origin.addr.port}/`],
    env,
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.deepEqual([text(page.stdout), text(page.stderr)], ["hi", ""], stderr);
});

Deno.test("postern env --for writes what one kind of program needs, from an instance and from the file", async (t) => {
  await using home = await Household.open();
  const config = await home.configure(
    "listen: { mixed: 127.0.0.1:12000 }\ndirect: [near.test, '2001:db8::/32']\n",
  );
  await using listener = await home.instance();
  const address = await listener.address();
  const port = address.split(":")[1];
  const cases = [
    { args: ["--socks"], name: "ALL_PROXY", value: /^socks5h:\/\/127\.0\.0\.1:[0-9]+$/ },
    { args: [], name: "NO_PROXY", value: /^localhost,127\.0\.0\.1,::1,near\.test$/ },
    { args: ["--for", "go"], name: "NO_PROXY", value: /,near\.test$/ },
    {
      args: ["--for", "jdbc"],
      name: "JAVA_TOOL_OPTIONS",
      value:
        /^-DsocksProxyHost=.*-DsocksNonProxyHosts=localhost\|127\.\*\|\[::1\]\|\*\.near\.test\|near\.test$/,
    },
    { args: ["--for", "all"], name: "JAVA_TOOL_OPTIONS", value: /-Dhttp\.nonProxyHosts=.*-DsocksProxyHost=/ },
    { args: ["--for", "all", "--id", "default"], name: "GIT_SSH_COMMAND", value: / nc --id default %h %p'$/ },
  ];
  for (const { args, name, value } of cases) {
    for (const more of [[], ["--config", config]]) {
      await t.step([...args, ...more.slice(0, 1)].join(" "), async () => {
        const { code, stdout, stderr } = await home.run(["env", "--shell", "json", ...args, ...more]);
        assert.equal(code, 0, stderr);
        const set = JSON.parse(stdout)[name];
        assert.match(set, value);
        if (more.length === 0 && name === "JAVA_TOOL_OPTIONS") {
          assert.ok(set.includes(`ProxyPort=${port}`), set);
        }
      });
    }
  }
});

Deno.test("postern env --for git lets postern nc read the same configuration", async () => {
  await using home = await Household.open();
  const config = await home.configure("default: direct\n");
  const set = async (args: readonly string[], cwd?: string) => {
    const { code, stdout, stderr } = await home.run(
      ["env", "--for", "git", "--shell", "json", ...args],
      cwd === undefined ? {} : { cwd },
    );
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout).GIT_SSH_COMMAND;
  };
  assert.match(await set([]), / nc %h %p'$/);
  const named = await set(["--config", "config.yaml"], home.places.config);
  assert.ok(named.endsWith(` nc --config ${config} %h %p'`), named);
});

Deno.test("postern env --for docker prints the block of docker's file, and how containers reach the listener", async () => {
  await using home = await Household.open();
  await home.configure("listen: { mixed: 127.0.0.1:12000 }\ndirect: [near.test]\n");
  const { code, stdout, stderr } = await home.run(["env", "--for", "docker"]);
  assert.equal(code, 0, stderr);
  const url = "http://host.docker.internal:12000";
  assert.deepEqual(JSON.parse(stdout), {
    proxies: {
      default: {
        httpProxy: url,
        httpsProxy: url,
        allProxy: url,
        noProxy: "localhost,127.0.0.1,::1,near.test",
      },
    },
  });
  assert.match(stderr, /note: containers reach this machine as host\.docker\.internal: .*--add-host=/);
  const lines = await home.run(["env", "--for", "docker", "--shell", "sh"]);
  assert.equal(lines.code, 2, lines.stderr);
  assert.match(lines.stderr, /Cannot print docker's settings as shell commands/);
});
