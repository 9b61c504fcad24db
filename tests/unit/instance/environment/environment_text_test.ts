import assert from "node:assert/strict";
import { dockerProxies, environmentOfProgram, environmentsOf } from "../../../../src/instance/mod.ts";
import type { ProxyEnvironment } from "../../../../src/control/mod.ts";
import type { ProgramKind } from "../../../../src/routing/mod.ts";

const process = { env: () => undefined, self: ["postern"], directory: "/work" };
const world = { process } as unknown as Parameters<typeof environmentOfProgram>[0];

const environment: ProxyEnvironment = {
  http: "http://127.0.0.1:12000",
  socks: "socks5h://127.0.0.1:12000",
  noProxy: ["::1", "[::1]", "10.0.0.0/8", "2001:db8::/32", "near.test"],
  notes: [],
  needsAuth: false,
};

const lists: { programs?: ProgramKind; list: string }[] = [
  { list: "::1,10.0.0.0/8,near.test" },
  { programs: "all", list: "::1,10.0.0.0/8,near.test" },
  { programs: "python", list: "::1,10.0.0.0/8,near.test" },
  { programs: "curl", list: "::1,[::1],10.0.0.0/8,2001:db8::/32,near.test" },
];
for (const { programs, list } of lists) {
  Deno.test(`environmentOfProgram() keeps what ${programs ?? "all programs"} can read of an older list`, () => {
    const set = environmentOfProgram(world, { portable: environment }, { programs });
    assert.equal(set["no_proxy"], list);
  });
}

const asks: { programs?: ProgramKind; clients: (string | undefined)[] }[] = [
  { clients: [undefined] },
  { programs: "node", clients: [undefined] },
  { programs: "ssh", clients: [undefined] },
  { programs: "git", clients: ["curl"] },
  { programs: "jdbc", clients: ["java"] },
  { programs: "all", clients: [undefined, "java"] },
];
for (const { programs, clients } of asks) {
  Deno.test(`environmentsOf() asks an older instance only for clients that it knows: ${programs ?? "none"}`, async () => {
    const asked: (string | undefined)[] = [];
    await environmentsOf(programs, (client) => {
      asked.push(client);
      return Promise.resolve(environment);
    });
    assert.deepEqual(asked, clients);
  });
}

const dockers: { http: string; proxy: string; notes: RegExp[] }[] = [
  { http: "http://127.0.0.1:12000", proxy: "http://host.docker.internal:12000", notes: [/--add-host=/] },
  {
    http: "http://me:a%40b@[::1]:12000",
    proxy: "http://me:a%40b@host.docker.internal:12000",
    notes: [/--add-host=/],
  },
  { http: "http://172.17.0.1:80", proxy: "http://172.17.0.1:80", notes: [] },
  { http: "socks5h://10.0.0.1:1080", proxy: "socks5h://10.0.0.1:1080", notes: [/SOCKS only/] },
];
for (const { http, proxy, notes } of dockers) {
  Deno.test(`dockerProxies() writes ${proxy} for ${http}`, () => {
    const said = dockerProxies({ ...environment, http, notes: ["omitted"] });
    const { httpProxy, noProxy } = JSON.parse(said.text).proxies.default;
    assert.deepEqual([httpProxy, noProxy], [proxy, "::1,10.0.0.0/8,near.test"]);
    const all = [/^omitted$/, ...notes];
    assert.equal(said.notes.length, all.length);
    for (const [index, note] of all.entries()) assert.match(said.notes[index] ?? "", note);
  });
}
