import assert from "node:assert/strict";
import { formatPath, rootContext } from "../../../src/config/mod.ts";
import { formatEndpoint } from "../../../src/words/mod.ts";
import { listenSettings } from "../../../src/listeners/mod.ts";

function read(value: unknown) {
  const context = rootContext({ base: "/etc/postern", home: "/home/me", runtime: "/run/me" }).at("listen");
  const settings = listenSettings.parse(value, context);
  const problems = context.problems.map(({ path, message, severity = "error" }) =>
    `${severity}: ${formatPath(path)} ${message}`
  );
  const forwards = settings?.forward?.map(({ address, target, name, only }) =>
    [address.text, ">", formatEndpoint(target), name, only].filter((part) => part !== undefined).join(" ")
  );
  return { forwards, problems };
}

Deno.test("listen.forward reads a mapping from listen addresses to targets", () => {
  const { forwards, problems } = read({
    forward: {
      "127.0.0.1:5432": "DB.shop.svc.:5432",
      "6379": "[2001:db8::1]:6379",
      "unix:db.sock": "db.shop.svc:5432",
      "unix:${runtime}/a.sock": "unix:~/b.sock",
    },
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(forwards?.toSorted(), [
    "127.0.0.1:5432 > DB.shop.svc.:5432",
    "localhost:6379 > [2001:db8::1]:6379",
    "unix:/etc/postern/db.sock > db.shop.svc:5432",
    "unix:/run/me/a.sock > unix:/home/me/b.sock",
  ]);
});

Deno.test("listen.forward reads a list with names and patterns", () => {
  const { forwards, problems } = read({
    forward: [
      { listen: 5432, target: "db.shop.svc:5432", name: "shop-db", only: [".svc"] },
      { listen: "127.0.0.1:0", target: "a.example:1" },
      { listen: "127.0.0.1:0", target: "b.example:1" },
    ],
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(forwards, [
    "localhost:5432 > db.shop.svc:5432 shop-db .svc",
    "127.0.0.1:0 > a.example:1",
    "127.0.0.1:0 > b.example:1",
  ]);
});

const wrong: readonly { readonly name: string; readonly forward: unknown; readonly says: RegExp }[] = [
  { name: "text", forward: "5432:db:5432", says: /^error: listen\.forward must be/ },
  {
    name: "a target without a port",
    forward: { "5432": "db.example" },
    says: /listen\.forward\."?5432"?.*missing port/,
  },
  { name: "port 0 of a target", forward: { "5432": "db.example:0" }, says: /port 0 is not a target/ },
  { name: "a name to listen on", forward: { "db:5432": "db.example:5432" }, says: /invalid address/ },
  {
    name: "the same address twice",
    forward: { "5432": "a.example:1", "127.0.0.1:5432": "b.example:1" },
    says: /127\.0\.0\.1:5432.* must be a free address: listen\.forward already uses 127\.0\.0\.1:5432/,
  },
  {
    name: "an address off loopback",
    forward: { "0.0.0.0:5432": "a.example:1" },
    says:
      /must not be open to the network: 0\.0\.0\.0:5432 is not a loopback address, and a forward has no password/,
  },
  { name: "users", forward: [{ listen: 1, target: "a:1", auth: { users: [] } }], says: /auth/ },
  {
    name: "patterns for a socket",
    forward: [{ listen: 1, target: "unix:/a.sock", only: ["a"] }],
    says: /only.*socket/,
  },
  {
    name: "another user's home directory",
    forward: { "5432": "unix:~root/a.sock" },
    says: /another user's home/,
  },
];

for (const { name, forward, says } of wrong) {
  Deno.test(`listen.forward refuses ${name}`, () => {
    const { problems } = read({ forward });
    assert.equal(problems.length, 1, problems.join("\n"));
    assert.match(problems[0] ?? "", says);
  });
}

Deno.test("listen.forward refuses the address of another listener", () => {
  const { problems } = read({ mixed: 12000, forward: { "localhost:12000": "a.example:1" } });
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? "", /listen\.mixed already uses localhost:12000/);
});

Deno.test("listen.forward off loopback needs allowOpen, also with users", () => {
  const auth = { users: [{ name: "me", passwordFile: "/pw" }] };
  assert.match(read({ auth, forward: { "0.0.0.0:1": "a.example:1" } }).problems.join(), /must not be open/);
  const { problems, forwards } = read({ allowOpen: true, forward: { "0.0.0.0:1": "a.example:1" } });
  assert.match(problems.join(), /^warning: listen\.forward\S* is open to the network: any client/);
  assert.deepEqual(forwards, ["0.0.0.0:1 > a.example:1"]);
});
