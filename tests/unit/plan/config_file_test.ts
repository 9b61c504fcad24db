import assert from "node:assert/strict";
import { demandLoaded, loadConfig, readConfig } from "../../../src/plan/mod.ts";
import { isPosternError, PosternError } from "../../../src/words/mod.ts";
import { settle } from "../../support/fake_clock.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const path = "/config/config.yaml";

const mistakes = [
  {
    name: "an invalid pattern of only",
    files: { [path]: 'listen:\n  mixed:\n    - address: 127.0.0.1:1\n      only: [ok.example, "a..b"]\n' },
    errors: [
      'listen.mixed[0].only[1]: must have no empty label (two consecutive dots): "a..b"',
    ],
    at: "4:26",
  },
  {
    name: "a table of a cluster in only",
    files: { [path]: 'listen: { mixed: { address: 127.0.0.1:1, only: "<services>" } }\n' },
    errors: ["listen.mixed.only: must not be <services>: a table needs a cluster"],
    at: "1:48",
  },
  {
    name: "the only pattern of the only listener",
    files: { [path]: "listen:\n  http: { address: 127.0.0.1:1, only: http://a.example }\n" },
    errors: ['listen.http.only: must be a host, not a URL: write "a.example"'],
    at: "2:39",
  },
  {
    name: "a password file that is missing",
    files: { [path]: "listen:\n  auth:\n    users: [{ name: me, passwordFile: /pw }]\n" },
    errors: ["listen.auth.users[0].passwordFile: Cannot read /pw: no such file"],
    at: "3:39",
  },
  {
    name: "an empty password of one listener",
    files: {
      [path]: "listen:\n  socks:\n    - address: 127.0.0.1:1\n" +
        "      auth: { users: [{ name: me, passwordFile: /pw }] }\n",
      "/pw": "\n",
    },
    errors: [
      'listen.socks[0].auth.users[0].passwordFile: Cannot use the password of "me": /pw has no password',
    ],
    at: "4:49",
  },
  {
    name: "a missing list together with another error",
    files: { [path]: "routesFrom: [/lists/big.txt]\ndefault: nowhere\n" },
    errors: [
      "routesFrom[0]: Cannot read /lists/big.txt: no such file",
      'default: names the unknown transport "nowhere": known transports are direct, reject',
    ],
    at: "1:14",
  },
  {
    name: "an unknown transport together with a redefined built-in one",
    files: { [path]: "transports: { direct: { reject: no } }\ndefault: nowhere\n" },
    errors: [
      "transports.direct: must have another name: this one is built in",
      'default: names the unknown transport "nowhere": known transports are direct, reject',
    ],
    at: "1:15",
  },
  {
    name: "a URL instead of a transport, without its password",
    files: { [path]: 'default: "http://me:secret@proxy.example"\n' },
    errors: [
      'default: names the unknown transport "http://me:***@proxy.example": known transports are direct, reject',
    ],
    at: "1:10",
  },
];
for (const { name, files, errors, at } of mistakes) {
  Deno.test(`readConfig() reports ${name}`, async () => {
    const report = await readConfig(new MemoryWorld({ files }), {});
    assert.equal(report.loaded, undefined);
    assert.deepEqual(
      report.errors.map((line) => line.replace(/^[^ ]+: /, "")),
      errors,
    );
    assert.ok(report.errors[0]?.startsWith(`${path}:${at}: `), report.errors[0]);
  });
}

Deno.test("readConfig() reports problems of a list by its own lines", async () => {
  const files = {
    [path]: "routesFrom: big.txt\n",
    "/config/big.txt": "a.example reject\n..x reject\nb.example gone\n",
  };
  const { errors } = await readConfig(new MemoryWorld({ files }), {});
  assert.equal(errors.length, 2);
  assert.match(errors[0] ?? "", /^\/config\/big\.txt:2: /);
  assert.match(errors[1] ?? "", /^\/config\/big\.txt:3: names the unknown transport "gone"/);
});

Deno.test("readConfig() reads a list again that is just being saved", async () => {
  const list = "/config/big.txt";
  const files = { [path]: "routesFrom: big.txt\n", [list]: "a.example reject\n" };
  const world = new MemoryWorld({ files });
  const saved = world.clock.date().getTime();
  const info = world.files.info.bind(world.files);
  world.files.info = async (file) => {
    const found = await info(file);
    return found && file === list ? { ...found, modified: saved } : found;
  };
  const reading = readConfig(world, {});
  await settle();
  world.files.put(list, "a.example reject\nb.example reject\n");
  await world.clock.advance(1000);
  const { loaded } = await reading;
  assert.deepEqual(loaded?.rules.map(({ text }) => text), ["a.example", "b.example"]);
});

Deno.test("readConfig() lists every file that it uses, including unreadable ones", async () => {
  const files = { [path]: "routesFrom: [here.txt, gone.txt]\n", "/config/here.txt": "a.example reject\n" };
  const { texts } = await readConfig(new MemoryWorld({ files }), {});
  assert.deepEqual([...texts], [
    [path, files[path]],
    ["/config/here.txt", "a.example reject\n"],
    ["/config/gone.txt", undefined],
  ]);
});

Deno.test("readConfig() treats a missing file as empty, unless the user named it", async () => {
  const world = new MemoryWorld();
  const { loaded, isThere } = await readConfig(world, {});
  assert.equal(isThere, false);
  assert.equal(loaded?.path, undefined);
  assert.equal(loaded?.settings.default, "direct");
  await assert.rejects(readConfig(world, { config: "/other.yaml" }), { code: "config" });
  world.env["POSTERN_CONFIG"] = "named.yaml";
  await assert.rejects(readConfig(world, {}), /Cannot read "\/here\/named\.yaml": no such file/);
});

Deno.test("readConfig() puts the command line's rules before those of the file", async () => {
  const files = { [path]: "routes: [{ to: a.example, via: reject }]\n" };
  const overrides = { routes: ["a.example=direct", "b.example=proxy:http://127.0.0.1:1"] };
  const { rules } = await loadConfig(new MemoryWorld({ files }), { overrides });
  assert.deepEqual(rules.map(({ text, transport, source }) => [text, transport, source]), [
    ["a.example", "direct", "--route"],
    ["b.example", "proxy1", "--route"],
    ["a.example", "reject", "config.yaml:1"],
  ]);
});

Deno.test("readConfig() reports equal rules with different transports, and a proxy that is this instance", async () => {
  const text = "transports: { me: { proxy: { url: http://localhost:12000 } } }\n" +
    "routes:\n  - { to: a.example, via: me }\n  - { to: A.example., via: reject }\n";
  const { errors } = await readConfig(new MemoryWorld({ files: { [path]: text } }), {});
  assert.match(
    errors[0] ?? "",
    /^\/config\/config\.yaml:1:\d+: transports\.me\.proxy\.url: must not be this instance/,
  );
  assert.match(
    errors[1] ?? "",
    /^\/config\/config\.yaml:4:11: "A\.example\." goes to reject here and to me in config\.yaml:3/,
  );
});

Deno.test("readConfig() warns of missing files of a proxy", async () => {
  const url = "https://far.example:3128";
  const text = `transports: { far: { proxy: { url: "${url}", user: me, passwordFile: pw, ca: ca.crt } } }\n`;
  const there = { "/config/ca.crt": "-----BEGIN" };
  const report = await readConfig(new MemoryWorld({ files: { [path]: text, ...there } }), {});
  assert.deepEqual(report.errors, []);
  assert.equal(report.warnings.length, 1);
  assert.match(
    report.warnings[0] ?? "",
    /:1:\d+: warning: transports\.far\.proxy\.passwordFile: cannot be read/,
  );
});

Deno.test("demandLoaded() blames the options when the file has no problem", async () => {
  const report = await readConfig(new MemoryWorld(), { overrides: { listen: ["0.0.0.0:1"] } });
  assert.throws(
    () => demandLoaded(report),
    /^PosternError: Cannot use these options: 1 problem\n--listen: must not/,
  );
});

Deno.test("demandLoaded() lists every problem in one error", async () => {
  const world = new MemoryWorld({ files: { [path]: "defualt: x\nroutes: [{ to: any, via: y }]\n" } });
  const report = await readConfig(world, {});
  assert.throws(() => demandLoaded(report), (error) => {
    assert.ok(isPosternError(error, "config"));
    assert.match(
      error.message,
      /^Cannot use "\/config\/config\.yaml": 2 problems\n.*defualt.*\n.*routes\[0\]\.via/,
    );
    assert.match(error.hint ?? "", /postern config check/);
    return true;
  });
});

const files = { [path]: "listen: { mixed: 127.0.0.1:1 }\nroutes: [{ to: a.example, via: reject }]\n" };
const misuses = [
  {
    overrides: { routes: ["b.example=gone"] },
    error: '--route: names the unknown transport "gone": known transports are direct, reject',
  },
  {
    overrides: { routes: ["b.example=proxy:ftp://me:secret@x"] },
    error: /^--route: must be a URL that begins with .*: current value is "ftp:\/\/me:\*\*\*@x"$/,
  },
  {
    overrides: { listen: ["0.0.0.0:1"] },
    error: /^--listen: must not be open to the network without authentication: 0\.0\.0\.0:1 is not/,
  },
];
for (const { overrides, error } of misuses) {
  Deno.test(`readConfig() names the option for ${JSON.stringify(overrides)}`, async () => {
    const { errors } = await readConfig(new MemoryWorld({ files }), { overrides });
    assert.equal(errors.length, 1);
    if (typeof error === "string") assert.equal(errors[0], error);
    else assert.match(errors[0] ?? "", error);
  });
}

Deno.test("readConfig() treats an invalid address as an error in the command", async () => {
  const overrides = { listenSocks: ["127.0.0.1:2", "nowhere:1"] };
  await assert.rejects(readConfig(new MemoryWorld({ files }), { overrides }), {
    code: "usage",
    message: 'Cannot listen on "nowhere:1": invalid address',
  });
});

Deno.test("readConfig() names the option that opens a listener to everyone", async () => {
  const overrides = { listen: ["0.0.0.0:1"], allowOpen: true };
  const { loaded, warnings } = await readConfig(new MemoryWorld({ files }), { overrides });
  assert.ok(loaded);
  assert.deepEqual(warnings, [
    "--listen: is open to the network: any client that reaches 0.0.0.0:1 can use the proxy",
  ]);
});

Deno.test("readConfig() warns about listen.udp without a listener that relays it", async () => {
  for (
    const [listen, count] of [
      ["{ udp: true }", 0],
      ["{ udp: true, socks: 127.0.0.1:1 }", 0],
      ["{ udp: true, http: 127.0.0.1:1 }", 1],
      ["{ udp: false, http: 127.0.0.1:1 }", 0],
    ] as const
  ) {
    const world = new MemoryWorld({ files: { [path]: `listen: ${listen}\n` } });
    const { loaded, warnings } = await readConfig(world, {});
    assert.ok(loaded);
    assert.equal(warnings.length, count, listen);
    assert.match(warnings.join(), count === 0 ? /^$/ : /listen\.udp: has no effect: only mixed and socks/);
  }
});

Deno.test("readConfig() suggests how to shorten a file over 2 MB", async () => {
  const world = new MemoryWorld();
  const limit = (_path: string, options?: { limit?: number }) => {
    assert.equal(options?.limit, 2_000_000);
    return Promise.reject(new PosternError("config", "Cannot read it", { detail: "too_large" }));
  };
  Object.assign(world.files, { readTextIfThere: limit });
  await assert.rejects(readConfig(world, {}), (error) => {
    assert.ok(isPosternError(error, "config"));
    assert.match(error.message, /^Cannot use "\/config\/config.yaml": the file is over 2 MB$/);
    assert.match(error.hint ?? "", /routesFrom/);
    return true;
  });
});
