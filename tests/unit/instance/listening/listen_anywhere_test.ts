import assert from "node:assert/strict";
import { listenAnywhere } from "../../../../src/instance/mod.ts";
import { type Endpoint, PosternError } from "../../../../src/words/mod.ts";
import type { Listening } from "../../../../src/world/mod.ts";

function listened(endpoint: Endpoint, { hosts }: { hosts: readonly string[] }): string[] {
  const asked: string[] = [];
  const listen = (endpoint: Endpoint): Listening => {
    const host = "path" in endpoint ? endpoint.path : endpoint.host;
    asked.push(host);
    const why = { detail: hosts.length > 0 ? "network" : "in_use" } as const;
    if (!hosts.includes(host)) throw new PosternError("config", `Cannot listen on ${host}`, why);
    return {} as Partial<Listening> as Listening;
  };
  try {
    listenAnywhere({ listen }, endpoint);
  } catch (error) {
    asked.push(`failed: ${(error as Error).message}`);
  }
  return asked;
}

const cases = [
  { name: "both address families with one socket", host: "", hosts: ["::"], asked: ["::"] },
  { name: "IPv4 without IPv6", host: "", hosts: ["0.0.0.0"], asked: ["::", "0.0.0.0"] },
  {
    name: "no other address when the port is in use",
    host: "",
    hosts: [],
    asked: ["::", "failed: Cannot listen on ::"],
  },
  { name: "a given address", host: "127.0.0.1", hosts: ["127.0.0.1"], asked: ["127.0.0.1"] },
];
for (const { name, host, hosts, asked } of cases) {
  Deno.test(`listenAnywhere() uses ${name}`, () => {
    assert.deepEqual(listened({ host, port: 80 }, { hosts }), asked);
  });
}

Deno.test("listenAnywhere() uses a socket file", () => {
  assert.deepEqual(listened({ path: "/run/s" }, { hosts: ["/run/s"] }), ["/run/s"]);
});
