import assert from "node:assert/strict";
import {
  handedOver,
  takeHandedOver,
  withHandedOver,
} from "../../../../src/instance/listening/handed_over.ts";
import type { OnDemand } from "../../../../src/instance/mod.ts";
import { parseListenAddress } from "../../../../src/config/mod.ts";
import type { ListenerSettings, ListenSettings } from "../../../../src/listeners/mod.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const mine: OnDemand = { by: "systemd", name: "postern.socket" };
const own = { LISTEN_PID: "4711", LISTEN_FDS: "1", LISTEN_FDNAMES: "postern.socket" };

const found: readonly {
  name: string;
  env: Record<string, string>;
  onDemand?: OnDemand;
  expected: readonly number[];
}[] = [
  { name: "the socket with this name", env: own, onDemand: mine, expected: [3] },
  {
    name: "all sockets with this name",
    env: { ...own, LISTEN_FDS: "4", LISTEN_FDNAMES: "a:postern.socket:b:postern.socket" },
    onDemand: mine,
    expected: [4, 6],
  },
  { name: "all sockets without a name", env: { ...own, LISTEN_FDS: "2" }, expected: [3, 4] },
  { name: "no socket of another process without a flag", env: { ...own, LISTEN_PID: "1" }, expected: [] },
  { name: "nothing when systemd passed nothing", env: {}, expected: [] },
  { name: "standard input for launchd", env: {}, onDemand: { by: "launchd", name: "Proxy" }, expected: [0] },
];

for (const { name, env, onDemand, expected } of found) {
  Deno.test(`handedOver() returns ${name}`, () => {
    assert.deepEqual(handedOver(processWith(env), onDemand), expected);
  });
}

const refused: readonly { name: string; env: Record<string, string>; message: RegExp }[] = [
  { name: "nothing", env: {}, message: /: systemd passed no socket$/ },
  {
    name: "sockets of another process",
    env: { ...own, LISTEN_PID: "1" },
    message: /to process 1, not to this process \(4711\)$/,
  },
  {
    name: "another name",
    env: { ...own, LISTEN_FDNAMES: "other" },
    message: /no socket "postern\.socket", only 1 named other$/,
  },
  {
    name: "no names",
    env: { LISTEN_PID: "4711", LISTEN_FDS: "1" },
    message: /no socket "postern\.socket", only 1 without names$/,
  },
  {
    name: "an invalid count",
    env: { ...own, LISTEN_FDS: "-1" },
    message: /LISTEN_FDS is not a count of sockets: "-1"$/,
  },
  {
    name: "a count above the limit",
    env: { ...own, LISTEN_FDS: "999" },
    message: /LISTEN_FDS is not a count of sockets: "999"$/,
  },
];

for (const { name, env, message } of refused) {
  Deno.test(`handedOver() refuses ${name}`, () => {
    assert.throws(() => handedOver(processWith(env), mine), { code: "config", exit: 1, message });
  });
}

function processWith(env: Record<string, string>) {
  return new MemoryWorld({ env }).process;
}

Deno.test("takeHandedOver() releases its sockets when one cannot be taken", async () => {
  const world = new MemoryWorld({ env: { ...own, LISTEN_FDS: "2" } });
  world.network.handedOver.set(3, { host: "127.0.0.1", port: 1 });
  await assert.rejects(takeHandedOver(world, undefined), /descriptor 4/);
  world.network.listen({ host: "127.0.0.1", port: 1 }).close();
});

function at(text: string, more: Partial<ListenerSettings> = {}): ListenerSettings {
  return { address: parseListenAddress(text), ...more };
}

function listen(listeners: Partial<ListenSettings>): ListenSettings {
  return { allowOpen: false, ...listeners };
}

const auth = { users: [{ name: "me", passwordFile: "/p" }] };
const here = { host: "127.0.0.1", port: 1 };
const there = { host: "192.0.2.1", port: 1 };

const places: readonly {
  name: string;
  settings: ListenSettings;
  endpoints: readonly { host: string; port: number }[];
  mixed: readonly (readonly [string, boolean])[];
}[] = [
  {
    name: "binds no mixed listener",
    settings: listen({ mixed: [at("localhost:12000")] }),
    endpoints: [here],
    mixed: [["127.0.0.1:1", false]],
  },
  {
    name: "keeps only the passed addresses of a listener",
    settings: listen({ mixed: [at("127.0.0.1:2"), at("localhost:1", { auth })] }),
    endpoints: [here],
    mixed: [["127.0.0.1:1", true]],
  },
  {
    name: "gives an unnamed socket the users of the first listener",
    settings: listen({ mixed: [at("127.0.0.1:2", { auth })] }),
    endpoints: [there],
    mixed: [["192.0.2.1:1", true]],
  },
  {
    name: "leaves a socket to another kind of listener that names it",
    settings: listen({ socks: [at("127.0.0.1:1")] }),
    endpoints: [here],
    mixed: [],
  },
  {
    name: "leaves a socket to a forward that names it",
    settings: listen({
      forward: [{ address: parseListenAddress("127.0.0.1:1"), target: { host: "a", port: 1 }, place: 0 }],
    }),
    endpoints: [here],
    mixed: [],
  },
  {
    name: "adds a mixed listener if the configuration has none",
    settings: listen({ socks: [at("127.0.0.1:2")] }),
    endpoints: [here],
    mixed: [["127.0.0.1:1", false]],
  },
];

for (const { name, settings, endpoints, mixed } of places) {
  Deno.test(`withHandedOver() ${name}`, () => {
    const told = withHandedOver(settings, endpoints).mixed ?? [];
    assert.deepEqual(
      told.flatMap(({ address, auth }) =>
        address.sockets.map(({ endpoint }) => [
          "port" in endpoint ? `${endpoint.host}:${endpoint.port}` : endpoint.path,
          auth !== undefined,
        ])
      ),
      mixed,
    );
  });
}

Deno.test("withHandedOver() refuses an open listener without allowOpen", () => {
  const open = listen({ mixed: [at("127.0.0.1:1")] });
  assert.throws(() => withHandedOver(open, [there]), /192\.0\.2\.1:1 is open to the network without auth/);
  withHandedOver({ ...open, allowOpen: true }, [there]);
  withHandedOver({ ...open, auth }, [there]);
});
