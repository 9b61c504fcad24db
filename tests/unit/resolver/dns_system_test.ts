import assert from "node:assert/strict";
import { type DnsDelegation, dnsSystemFiles, nrptCommands } from "../../../src/resolver/mod.ts";

const server = { host: "127.0.0.1", port: 53 };
const domains = ["corp.example.net"];

const hostile: readonly (DnsDelegation & { readonly why: RegExp })[] = [
  ...[
    "../zshenv",
    "..",
    ".",
    "",
    "a/b",
    "a\nDNS=203.0.113.9",
    "a b",
    'a"; Remove-Item x; "',
    "$(id)",
    `${"a".repeat(64)}.net`,
    "a.".repeat(127) + "net",
    "ü.example",
  ].map((domain) => ({
    server,
    domains: [...domains, domain],
    why: /^Cannot configure the system resolver: ".*" is not a domain$/,
  })),
  ...["203.0.113.9", "localhost", "127.0.0.1\nport 1", "0.0.0.0", "::", ""].map((host) => ({
    server: { host, port: 53 },
    domains,
    why: /^Cannot configure the system resolver: ".*" with port 53 is not a valid loopback address$/,
  })),
  ...[0, 65_536, -1, 1.5].map((port) => ({
    server: { host: "127.0.0.1", port },
    domains,
    why: /not a valid loopback address$/,
  })),
];

for (const { server, domains, why } of hostile) {
  const asked = JSON.stringify([server.host, server.port, domains.at(-1)?.slice(0, 40)]);
  Deno.test(`dnsSystemFiles() creates neither files nor commands for ${asked}`, () => {
    const delegation = { server, domains };
    for (const system of ["macos", "systemd-resolved"] as const) {
      assert.throws(() => dnsSystemFiles(system, delegation), { code: "config", message: why });
    }
    assert.throws(() => nrptCommands(delegation), { code: "config", message: why });
  });
}

Deno.test("dnsSystemFiles() names a macOS file after its domain", () => {
  const [file] = dnsSystemFiles("macos", {
    server: { host: "::1", port: 1053 },
    domains: ["_x.corp-1.example"],
  });
  assert.equal(file?.path, "/etc/resolver/_x.corp-1.example");
  assert.match(file?.content ?? "", /\nnameserver ::1\nport 1053\n$/);
});
