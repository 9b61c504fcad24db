import assert from "node:assert/strict";
import { formatPath, rootContext } from "../../../src/config/mod.ts";
import { transportsSchema, type TransportsSettings } from "../../../src/transports/mod.ts";
import { viaProblems } from "../../../src/transports/transports_schema.ts";

function parsed(value: unknown): { settings: TransportsSettings | undefined; problems: string[] } {
  const context = rootContext({ base: "/etc/postern", home: "/home/me" });
  const settings = transportsSchema().parse(value, context.at("transports"));
  const problems = context.problems.map(({ path, message, severity }) =>
    `${severity ? `${severity}: ` : ""}${formatPath(path)} ${message}`
  );
  return { settings, problems };
}

const readable: { written: unknown; settings: unknown }[] = [
  {
    written: { corp: { proxy: { url: "http://Proxy.Corp.example:3128" } } },
    settings: {
      corp: { kind: "proxy", settings: { scheme: "http", host: "proxy.corp.example", port: 3128 } },
    },
  },
  {
    written: { corp: { proxy: { url: "http://proxy.example/" } } },
    settings: { corp: { kind: "proxy", settings: { scheme: "http", host: "proxy.example", port: 80 } } },
  },
  {
    written: { corp: { proxy: { url: "https://proxy.example", ca: "ca.crt" } } },
    settings: {
      corp: {
        kind: "proxy",
        settings: { scheme: "https", host: "proxy.example", port: 443, ca: "/etc/postern/ca.crt" },
      },
    },
  },
  {
    written: { corp: { proxy: { url: "socks5://[2001:DB8::1]" } } },
    settings: { corp: { kind: "proxy", settings: { scheme: "socks5", host: "2001:db8::1", port: 1080 } } },
  },
  {
    written: {
      corp: { proxy: { url: "socks5h://127.0.0.1:9050", user: "me", passwordFile: "~/p" } },
      a: { reject: "no", via: "corp" },
    },
    settings: {
      corp: {
        kind: "proxy",
        settings: { scheme: "socks5", host: "127.0.0.1", port: 9050, user: "me", passwordFile: "/home/me/p" },
      },
      a: { kind: "reject", settings: "no", via: "corp" },
    },
  },
  { written: {}, settings: {} },
];
for (const { written, settings } of readable) {
  Deno.test(`transportsSchema() reads ${JSON.stringify(written)}`, () => {
    assert.deepEqual(parsed(written), { settings, problems: [] });
  });
}

Deno.test("transportsSchema() accepts a password in the URL with a warning that hides it", () => {
  const { settings, problems } = parsed({ corp: { proxy: { url: "http://me:p%40ss@proxy.example:1" } } });
  assert.deepEqual(settings?.corp?.settings, {
    scheme: "http",
    host: "proxy.example",
    port: 1,
    user: "me",
    password: "p@ss",
  });
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? "", /^warning: transports\.corp\.proxy\.url contains a password/);
  assert.doesNotMatch(problems[0] ?? "", /p%40ss|p@ss/);
});

const wrong: { written: unknown; problems: RegExp[] }[] = [
  {
    written: { a: { proxy: { url: "ftp://x" } } },
    problems: [/^transports\.a\.proxy\.url must be a URL that begins with http:/],
  },
  {
    written: { a: { proxy: { url: "http://x/path" } } },
    problems: [/^transports\.a\.proxy\.url must end after the port/],
  },
  {
    written: { a: { proxy: { url: "http://x", user: "me" } } },
    problems: [/^transports\.a\.proxy\.passwordFile must be set when/],
  },
  {
    written: { a: { proxy: { url: "http://x", passwordFile: "f" } } },
    problems: [/^transports\.a\.proxy\.user must be set when/],
  },
  {
    written: { a: { proxy: { url: "http://x", user: "a:b", passwordFile: "f" } } },
    problems: [/^transports\.a\.proxy\.user must not contain a colon/],
  },
  {
    written: { a: { proxy: { url: "http://x", ca: "f" } } },
    problems: [/^transports\.a\.proxy\.ca must be set only with an https/],
  },
  {
    written: { a: { proxy: { url: "http://me:x@x", passwordFile: "f" } } },
    problems: [/contains a password/, /^transports\.a\.proxy\.passwordFile must not be set together with/],
  },
  {
    written: { a: { proxy: { url: "http://me%zz:x@x" } } },
    problems: [/contains a password/, /two hexadecimal digits after each %/],
  },
  {
    written: { a: { proxy: { cluster: "lab" } } },
    problems: [/^transports\.a\.proxy\.cluster names the unknown transport "lab"/],
  },
  { written: { a: { proxy: {} } }, problems: [/^transports\.a\.proxy\.url must be set, or cluster/] },
  {
    written: { a: { proxy: { url: "http://x", cluster: "lab" } } },
    problems: [/^transports\.a\.proxy\.url cannot be used with cluster/],
  },
  {
    written: { lab: { reject: "x" }, a: { proxy: { cluster: "lab" } } },
    problems: [/^transports\.a\.proxy\.cluster must name a transport of kind kubernetes/],
  },
  { written: { a: { poxy: { url: "http://x" } } }, problems: [/did you mean "proxy"/] },
  {
    written: { a: { reject: "x", proxy: { url: "http://x" } } },
    problems: [/exactly one of .*: found proxy, reject$/],
  },
  { written: { direct: { reject: "x" } }, problems: [/^transports\.direct must have another name/] },
  { written: { "a b": { reject: "x" } }, problems: [/the name must be/] },
  {
    written: { bastion: { reject: "x" }, a: { proxy: { url: "http://x" }, via: "bastoin" } },
    problems: [/^transports\.a\.via names the unknown transport "bastoin", did you mean "bastion"\?$/],
  },
  {
    written: { a: { proxy: { url: "nonsense" }, via: "missing" } },
    problems: [
      /^transports\.a\.proxy\.url/,
      /^transports\.a\.via names the unknown transport "missing": known transports are direct, reject$/,
    ],
  },
  {
    written: { direct: { reject: "x" }, a: { reject: "x", via: "missing" } },
    problems: [/^transports\.direct must have/, /known transports are direct, reject$/],
  },
];
for (const { written, problems } of wrong) {
  Deno.test(`transportsSchema() reports the problem of ${JSON.stringify(written)}`, () => {
    const result = parsed(written);
    assert.equal(result.settings, undefined);
    assert.equal(result.problems.length, problems.length, result.problems.join("\n"));
    for (const [at, pattern] of problems.entries()) assert.match(result.problems[at] ?? "", pattern);
  });
}

const circles: { vias: Record<string, { via?: string }>; problems: string[] }[] = [
  { vias: { a: {}, b: { via: "a" }, c: { via: "b" } }, problems: [] },
  { vias: { a: { via: "direct" } }, problems: [] },
  { vias: { a: { via: "a" } }, problems: ["a.via must not form a loop: a via a"] },
  {
    vias: { a: { via: "b" }, b: { via: "c" }, c: { via: "a" }, d: { via: "a" } },
    problems: ["a.via must not form a loop: a via b via c via a"],
  },
  {
    vias: { a: { via: "b" }, b: { via: "b" } },
    problems: ["b.via must not form a loop: b via b"],
  },
];
for (const { vias, problems } of circles) {
  Deno.test(`viaProblems() follows ${JSON.stringify(vias)}`, () => {
    assert.deepEqual(
      viaProblems(vias).map(({ path, message }) => `${formatPath(path)} ${message}`),
      problems,
    );
  });
}

Deno.test("transportsSchema() hides a password in the URL", () => {
  const masked = transportsSchema().mask?.({ corp: { proxy: { url: "http://me:hidden@proxy.example" } } });
  assert.deepEqual(masked, { corp: { proxy: { url: "http://me:***@proxy.example" } } });
});
