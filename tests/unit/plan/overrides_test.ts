import assert from "node:assert/strict";
import { overridden } from "../../../src/plan/overrides.ts";

const cases = [
  {
    name: "does not change a file without options",
    value: { listen: { mixed: "1" } },
    overrides: { listen: [], routes: [] },
    becomes: { listen: { mixed: "1" } },
  },
  {
    name: "adds the forwards of the options to a mapping of the file, and keeps the listeners",
    value: { listen: { http: "2", forward: { "1": "a:1" } } },
    overrides: { forwards: [{ listen: "localhost:0", target: "b:1" }] },
    becomes: {
      listen: {
        http: "2",
        forward: [{ listen: "1", target: "a:1" }, { listen: "localhost:0", target: "b:1" }],
      },
    },
  },
  {
    name: "adds the forwards of the options to a list of the file, with other listeners",
    value: { listen: { http: "2", forward: [{ listen: 1, target: "a:1" }] } },
    overrides: { listen: ["3"], forwards: [{ listen: "localhost:0", target: "b:1" }], namespace: "shop" },
    becomes: {
      listen: {
        mixed: ["3"],
        forward: [{ listen: 1, target: "a:1" }, { listen: "localhost:0", target: "b:1" }],
      },
    },
  },
  {
    name: "leaves forwards of the file that are neither to the schema",
    value: { listen: { forward: 5432 } },
    overrides: { forwards: [{ listen: "localhost:0", target: "b:1" }] },
    becomes: { listen: { forward: 5432 } },
  },
  {
    name: "replaces all listeners of the file by those of the options, and keeps the users",
    value: { listen: { mixed: "1", http: "2", auth: { users: [] }, admin: "3" } },
    overrides: { listenSocks: ["127.0.0.1:0"] },
    becomes: { listen: { auth: { users: [] }, admin: "3", socks: ["127.0.0.1:0"] } },
  },
  {
    name: "accepts --allow-open alone",
    value: { listen: { mixed: "1" } },
    overrides: { allowOpen: true },
    becomes: { listen: { mixed: "1", allowOpen: true } },
  },
  {
    name: "creates a transport under a free name",
    value: { transports: { proxy1: {} } },
    overrides: { routes: ["=x.example=proxy:http://a:1", "y.example=reject:not here"] },
    becomes: {
      transports: { proxy1: {}, proxy2: { proxy: { url: "http://a:1" } }, reject1: { reject: "not here" } },
      routes: [{ to: "=x.example", via: "proxy2" }, { to: "y.example", via: "reject1" }],
    },
  },
  {
    name: "sends a cluster's names and addresses into it, by the current context",
    value: {},
    overrides: { kubernetes: "", kubeconfig: "/k", namespace: "dev" },
    becomes: {
      transports: { kubernetes1: { kubernetes: { kubeconfig: "/k", namespace: "dev" } } },
      routes: [{ to: [".svc", ".cluster.local", "<services>", "<clusterips>"], via: "kubernetes1" }],
    },
  },
  {
    name: "creates one transport for a cluster that is named twice",
    value: {},
    overrides: { routes: [".svc=kubernetes:lab", ".a=kubernetes:other"], kubernetes: "lab" },
    becomes: {
      transports: {
        kubernetes1: { kubernetes: { context: "lab" } },
        kubernetes2: { kubernetes: { context: "other" } },
      },
      routes: [
        { to: ".svc", via: "kubernetes1" },
        { to: ".a", via: "kubernetes2" },
        { to: [".svc", ".cluster.local", "<services>", "<clusterips>"], via: "kubernetes1" },
      ],
    },
  },
];
for (const { name, value, overrides, becomes } of cases) {
  Deno.test(`overridden() ${name}`, () => assert.deepEqual(overridden(value, overrides).value, becomes));
}

for (const text of ["x.example", "=direct", "x.example=", "any:http://me:secret@proxy.example"]) {
  Deno.test(`overridden() rejects --route ${text.slice(0, 10)} and shows no password`, () => {
    assert.throws(() => overridden({}, { routes: [text] }), (error: Error) => {
      assert.match(error.message, /^Cannot read ".*" as PATTERN=TRANSPORT: missing /);
      assert.ok(!error.message.includes("secret"));
      return true;
    });
  });
}

Deno.test("overridden() rejects a URL as the pattern of --route and shows no password", () => {
  assert.throws(() => overridden({}, { routes: ["http://me:secret@proxy.example:3128=direct"] }), {
    code: "usage",
    message: /^Cannot use "http:\/\/me:\*\*\*@proxy\.example:3128" for --route: it must be a host, not a URL/,
  });
});

Deno.test("overridden() treats an invalid pattern as a usage error, not as a problem of the file", () => {
  assert.throws(() => overridden({}, { routes: ["a..b=direct"] }), {
    code: "usage",
    message: /^Cannot use "a\.\.b" for --route: it must have no empty label/,
  });
});

for (
  const [option, overrides] of [["--kubeconfig", { kubeconfig: "k" }], ["--namespace", {
    namespace: "n",
  }]] as const
) {
  Deno.test(`overridden() rejects ${option} without a cluster`, () => {
    assert.throws(() => overridden({}, { ...overrides, routes: ["a.example=direct"] }), {
      code: "usage",
      message: `Cannot use ${option} without a cluster`,
    });
  });
}
