import assert from "node:assert/strict";
import { type Cluster, endpointsOf } from "../../../src/clusters/mod.ts";

const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const noApi = "api: no fact contains an API URL that begins with https://";
const noConsole = "console: the fact openshiftConsoleURL has no URL";
const noOAuth = "oauth: the fact openshiftOAuthRoute has no URL";

const cases: readonly {
  readonly name: string;
  readonly facts: Cluster["facts"];
  readonly found: readonly string[];
}[] = [
  {
    name: "a complete OpenShift cluster",
    facts: {
      openshiftApiURL: "https://api.a.example:6443",
      openshiftConsoleURL: "https://console.a.example",
      openshiftOAuthRoute: "oauth.a.example",
    },
    found: [
      "api https://api.a.example:6443/",
      "console https://console.a.example/",
      "oauth https://oauth.a.example/",
    ],
  },
  {
    name: "an OAuth server given as a URL",
    facts: {
      openshiftApiURL: "https://api.a.example",
      openshiftOAuthRoute: " https://oauth.a.example:8443/x ",
    },
    found: ["api https://api.a.example/", noConsole, "oauth https://oauth.a.example:8443/x"],
  },
  {
    name: "Talos, which has only an API",
    facts: { talosApiURL: "https://b.example" },
    found: ["api https://b.example/"],
  },
  {
    name: "Talos with its certificates",
    facts: { talosApiURL: "https://b.example", talosAPICertificateAuthorityData: btoa(pem) },
    found: [`api https://b.example/ ${pem}`],
  },
  { name: "a cluster without facts", facts: {}, found: [noApi, noConsole, noOAuth] },
  {
    name: "addresses that must not get credentials",
    facts: {
      openshiftApiURL: "http://api.a.example",
      openshiftConsoleURL: "https://me:secret@console.a.example",
      openshiftOAuthRoute: "http://oauth.a.example",
    },
    found: [noApi, noConsole, noOAuth],
  },
  {
    name: "facts of other kinds",
    facts: {
      openshiftApiURL: 5,
      openshiftConsoleURL: ["https://a.example"],
      openshiftOAuthRoute: { host: "a" },
    },
    found: [noApi, noConsole, noOAuth],
  },
];

for (const { name, facts, found } of cases) {
  Deno.test(`endpointsOf() knows ${name}`, () => {
    const endpoints = endpointsOf({ id: "c-a", displayName: "A", facts: {}, dynamicFacts: facts });
    const texts = endpoints.map((one) =>
      "missing" in one
        ? `${one.kind}: ${one.missing}`
        : `${one.kind} ${one.url.href}${one.ca ? ` ${one.ca}` : ""}`
    );
    assert.deepEqual(texts, found);
  });
}
