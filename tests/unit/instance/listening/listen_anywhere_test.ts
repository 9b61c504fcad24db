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
  { name: "both families at once", host: "", hosts: ["::"], asked: ["::"] },
  { name: "IPv4 where there is no IPv6", host: "", hosts: ["0.0.0.0"], asked: ["::", "0.0.0.0"] },
  {
    name: "nothing else where the port is taken",
    host: "",
    hosts: [],
    asked: ["::", "failed: Cannot listen on ::"],
  },
  { name: "an address that is given", host: "127.0.0.1", hosts: ["127.0.0.1"], asked: ["127.0.0.1"] },
];
for (const { name, host, hosts, asked } of cases) {
  Deno.test(`listenAnywhere() takes ${name}`, () => {
    assert.deepEqual(listened({ host, port: 80 }, { hosts }), asked);
  });
}

Deno.test("listenAnywhere() takes a socket file", () => {
  assert.deepEqual(listened({ path: "/run/s" }, { hosts: ["/run/s"] }), ["/run/s"]);
});
