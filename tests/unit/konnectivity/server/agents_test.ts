import assert from "node:assert/strict";
import type { Conn } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { readIdentifiers } from "../../../../src/konnectivity/server/agent_identifiers.ts";
import { type AgentLink, Agents } from "../../../../src/konnectivity/server/agents.ts";
import type { AgentStrategy } from "../../../../src/konnectivity/mod.ts";
import type { PacketDialer } from "../../../../src/konnectivity/packet_dialer.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";

const { signal } = new AbortController();
const target = { host: "db.Example", port: 5432 };

type Says = Conn | PosternError | "nothing";

/** An agent with scripted dial results that counts its dials. */
function agent(id: string, says: Says, about = ""): AgentLink & { asked: number } {
  const link = {
    id,
    identifiers: readIdentifiers(about),
    peer: id,
    isDraining: false,
    asked: 0,
    dialer: {
      get isOver() {
        return says === lost;
      },
      dial: (_target: unknown, { signal }: { signal: AbortSignal }) => {
        link.asked++;
        if (says instanceof PosternError) return Promise.reject(says);
        if (says !== "nothing") return Promise.resolve(says);
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    } as unknown as PacketDialer,
  };
  return link;
}

function agentsOf(
  links: readonly AgentLink[],
  strategies: readonly AgentStrategy[] = ["default"],
  clock = new FakeClock(),
) {
  const agents = new Agents({ clock, strategies, dialTimeout: 1000, random: () => 0 });
  for (const link of links) agents.add(link);
  return { agents, clock };
}

const lost = new PosternError("unreachable", "gone", { detail: "reset" });
const refused = new PosternError("refused", "refused");

for (
  const { name, about, strategies, host, chosen } of [
    { name: "any agent", about: ["", ""], strategies: ["default"], host: "x", chosen: ["a0", "a1"] },
    {
      name: "the agent of a name, ignoring case",
      about: ["host=DB.example", ""],
      strategies: ["destHost"],
      host: "db.EXAMPLE",
      chosen: ["a0"],
    },
    {
      name: "the agent of an address",
      about: ["", "ipv4=10.0.0.1&ipv6=::1"],
      strategies: ["destHost"],
      host: "10.0.0.1",
      chosen: ["a1"],
    },
    {
      name: "the agent of an address in another spelling",
      about: ["", "ipv6=2001:DB8:0::1&host=Db.example."],
      strategies: ["destHost"],
      host: "2001:db8::1",
      chosen: ["a1"],
    },
    {
      name: "no agent for an unknown name",
      about: ["host=other", ""],
      strategies: ["destHost"],
      host: "x",
      chosen: [],
    },
    {
      name: "the agents with a default route",
      about: ["", "default-route=true"],
      strategies: ["defaultRoute"],
      host: "x",
      chosen: ["a1"],
    },
    {
      name: "by the first strategy with a match",
      about: ["host=x", "default-route=true"],
      strategies: ["destHost", "defaultRoute"],
      host: "y",
      chosen: ["a1"],
    },
    {
      name: "other agents than one with default-route=false",
      about: ["default-route=false", ""],
      strategies: ["defaultRoute", "default"],
      host: "y",
      chosen: ["a0", "a1"],
    },
  ] as const
) {
  Deno.test(`Agents chooses ${name}`, () => {
    const { agents } = agentsOf(about.map((text, at) => agent(`a${at}`, "nothing", text)), strategies);
    assert.deepEqual(agents.candidates(host).map(({ id }) => id).sort(), chosen);
  });
}

Deno.test("Agents prefers the newest connection of a reconnected agent", () => {
  const [old, young] = [agent("a", "nothing"), agent("a", "nothing")];
  const { agents } = agentsOf([old, young]);
  assert.deepEqual(agents.candidates("x"), [young, old]);
});

Deno.test("Agents puts draining agents last, and uses them when there are no others", () => {
  const [first, second] = [agent("a", "nothing"), agent("b", "nothing")];
  first.isDraining = true;
  const { agents } = agentsOf([first, second]);
  assert.deepEqual(agents.candidates("x"), [second, first]);
  second.isDraining = true;
  assert.equal(agents.candidates("x").length, 2);
});

Deno.test("Agents is ready when any strategy has an agent", () => {
  const { agents } = agentsOf([], ["destHost", "defaultRoute"]);
  assert.equal(agents.isReady, false);
  using _plain = agents.add(agent("a", "nothing"));
  assert.equal(agents.isReady, false);
  {
    using _route = agents.add(agent("b", "nothing", "default-route=true"));
    assert.equal(agents.isReady, true);
  }
  assert.equal(agents.isReady, false);
});

Deno.test("dial() retries with another agent after a loss, but not after a response about the target", async () => {
  const [conn] = memoryPair();
  const [gone, fine] = [agent("a", lost), agent("b", conn)];
  assert.equal(await agentsOf([gone, fine]).agents.dial(target, { signal }), conn);
  const [no, never] = [agent("a", refused), agent("b", conn)];
  await assert.rejects(agentsOf([no, never]).agents.dial(target, { signal }), { code: "refused" });
  assert.deepEqual([gone.asked, no.asked, never.asked], [1, 1, 0]);
});

Deno.test("dial() without agents throws", async () => {
  await assert.rejects(agentsOf([]).agents.dial(target, { signal }), /^PosternError: No agent available/);
});

Deno.test("dial() times out with a silent agent", async () => {
  const { agents, clock } = agentsOf([agent("a", "nothing")]);
  const late = assert.rejects(agents.dial(target, { signal }), { code: "timeout" });
  await clock.advance(1000);
  await late;
});

Deno.test("readIdentifiers() reads known identifiers from any text", () => {
  const found = readIdentifiers(
    "host=A.b&host=c&ipv4=10.0.0.1&cidr=10.0.0.0/8&uid=x&default-route=true&%%%=&host=",
  );
  assert.deepEqual([...found.hosts], ["a.b", "c", "10.0.0.1"]);
  assert.equal(found.isDefaultRoute, true);
});
