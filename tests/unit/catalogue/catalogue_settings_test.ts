import assert from "node:assert/strict";
import { catalogueOfEnvironment, cataloguesSchema } from "../../../src/catalogue/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { parsed } from "../config/schema_cases.ts";

const defaults = {
  name: "main",
  refresh: 0,
  allowExec: ["kubectl", "kubelogin", "kubectl-oidc_login", "oc"],
  exclusions: "global",
};

Deno.test("cataloguesSchema() requires only the URL of an API", () => {
  const { value, said } = parsed(cataloguesSchema(), [{ lieutenant: "https://api.example.net" }]);
  assert.deepEqual(said, []);
  assert.deepEqual(value, [{ ...defaults, lieutenant: new URL("https://api.example.net") }]);
  assert.deepEqual(parsed(cataloguesSchema(), null).value, []);
});

Deno.test("cataloguesSchema() accepts all keys of a catalogue", () => {
  const { value, said } = parsed(cataloguesSchema(), [{
    lieutenant: "http://127.0.0.1:8080/api",
    name: "lab-1",
    tenant: "t-example",
    refresh: "24h",
    oidc: { clientId: "x", discoveryUrl: "https://id.example.net/.well-known/openid-configuration" },
    domainFacts: ["openshiftBaseDomain"],
    authInfoFact: "kubeconfigAuthInfo",
    allowExec: ["kubelogin"],
    exclusions: "own",
    ca: "ca.crt",
    via: "bastion",
  }]);
  assert.deepEqual(said, []);
  assert.deepEqual([value?.[0]?.refresh, value?.[0]?.ca, value?.[0]?.exclusions], [
    86_400_000,
    "/etc/postern/ca.crt",
    "own",
  ]);
});

const wrong: { readonly name: string; readonly value: unknown; readonly says: RegExp }[] = [
  { name: "no address", value: [{ name: "x" }], says: /^\[0\]\.lieutenant is missing/ },
  { name: "a mapping instead of a list", value: { lieutenant: "https://a" }, says: /must be a list/ },
  {
    name: "an address without TLS",
    value: [{ lieutenant: "http://api.example.net" }],
    says: /^\[0\]\.lieutenant must begin with https:\/\//,
  },
  {
    name: "another scheme",
    value: [{ lieutenant: "ftp://api.example.net" }],
    says: /must be a URL that begins with https:\/\/ or http/,
  },
  {
    name: "an unknown key",
    value: [{ lieutenant: "https://a", refesh: "1h" }],
    says: /did you mean "refresh"\?/,
  },
  {
    name: "two catalogues with one name",
    value: [{ lieutenant: "https://a" }, { lieutenant: "https://b" }],
    says: /^\[1\]\.name must be unique: another catalogue is named "main"/,
  },
  {
    name: "a name with a slash",
    value: [{ lieutenant: "https://a", name: "a/b" }],
    says: /^\[0\]\.name must be a name of letters/,
  },
  {
    name: "a refresh every second",
    value: [{ lieutenant: "https://a", refresh: "1s" }],
    says: /must be a duration of at least 1m/,
  },
  {
    name: "a program with a path",
    value: [{ lieutenant: "https://a", allowExec: ["/tmp/evil"] }],
    says: /^\[0\]\.allowExec\[0\] must be the name of a program without a path/,
  },
  {
    name: "an unknown value for exclusions",
    value: [{ lieutenant: "https://a", exclusions: "none" }],
    says: /must be global or own/,
  },
];
for (const { name, value, says } of wrong) {
  Deno.test(`cataloguesSchema() refuses ${name}`, () => {
    const { value: found, said } = parsed(cataloguesSchema(), value);
    assert.equal(found, undefined);
    assert.equal(said.length, 1, said.join("\n"));
    assert.match(said.join(), says);
  });
}

const environments: {
  readonly name: string;
  readonly env: Record<string, string>;
  readonly gives: unknown;
}[] = [
  { name: "nothing", env: {}, gives: undefined },
  { name: "an empty variable", env: { LIEUTENANT_URL: "" }, gives: undefined },
  {
    name: "LIEUTENANT_URL before COMMODORE_API_URL",
    env: { LIEUTENANT_URL: "https://a.example.net", COMMODORE_API_URL: "https://b.example.net" },
    gives: ["https://a.example.net/", {}],
  },
  {
    name: "COMMODORE_API_URL with its sign-in",
    env: {
      COMMODORE_API_URL: "https://b.example.net",
      COMMODORE_OIDC_CLIENT: "c",
      COMMODORE_OIDC_DISCOVERY_URL: "https://id.example.net/x",
    },
    gives: ["https://b.example.net/", { clientId: "c", discoveryUrl: new URL("https://id.example.net/x") }],
  },
  {
    name: "one half of the sign-in",
    env: { LIEUTENANT_URL: "https://a.example.net", COMMODORE_OIDC_CLIENT: "c" },
    gives: ["https://a.example.net/", { clientId: "c" }],
  },
];
for (const { name, env, gives } of environments) {
  Deno.test(`catalogueOfEnvironment() reads ${name}`, () => {
    const found = catalogueOfEnvironment((name) => env[name]);
    assert.deepEqual(found && [found.lieutenant.href, found.oidc], gives);
  });
}

Deno.test("catalogueOfEnvironment() names the invalid variable", () => {
  const env: Record<string, string> = {
    COMMODORE_API_URL: "api.example.net",
    COMMODORE_OIDC_DISCOVERY_URL: "x",
  };
  assert.throws(() => catalogueOfEnvironment((name) => env[name]), (error) => {
    assert.ok(error instanceof PosternError);
    assert.equal(error.code, "config");
    assert.match(
      error.message,
      /^Cannot use the environment: 2 problems\nCOMMODORE_API_URL: must be a URL.*\nCOMMODORE_OIDC_DISCOVERY_URL: must be a URL/,
    );
    assert.equal(
      error.hint,
      "correct the variables, or run: unset COMMODORE_API_URL COMMODORE_OIDC_DISCOVERY_URL",
    );
    return true;
  });
});

Deno.test("catalogueOfEnvironment() names an invalid option instead of the variable", () => {
  const env: Record<string, string> = { LIEUTENANT_URL: "https://a.example.net" };
  for (const address of ["api.example.net", ""]) {
    assert.throws(() => catalogueOfEnvironment((name) => env[name], address), (error) => {
      assert.ok(error instanceof PosternError);
      assert.match(error.message, /^Cannot use these options: 1 problem\n--lieutenant-url: must be a URL/);
      assert.equal(error.hint, "show the options: postern update --help");
      return true;
    });
  }
});
