import assert from "node:assert/strict";
import type { KubeAnswer } from "../../../../src/kube/api/kube_api.ts";
import type { KubeApi, KubeRequest, Leadership } from "../../../../src/kube/mod.ts";
import { LeaderElection } from "../../../../src/kube/api/leader_election.ts";
import { Leases } from "../../../../src/kube/api/leases.ts";
import { pause, Tasks } from "../../../../src/core/mod.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const times = { lease: 15_000, renew: 10_000, retry: 2_000 };

/** One Lease as an API server stores it. */
class OneLease {
  object: Record<string, unknown> | undefined;
  version = 0;
  /** The holders whose requests get no response. */
  readonly silent = new Set<string>();

  api(who: string): KubeApi {
    const request = async (asked: KubeRequest, { signal }: { signal: AbortSignal }): Promise<KubeAnswer> => {
      if (this.silent.has(who)) await pause(new FakeClock(), 1, { signal });
      const [status, body] = this.#answer(asked);
      const bytes = new TextEncoder().encode(JSON.stringify(body));
      return { status, fields: new Map() as unknown as KubeAnswer["fields"], body: bytes };
    };
    return { name: "lab", request } as unknown as KubeApi;
  }

  #answer({ method = "GET", body }: KubeRequest): [number, unknown] {
    if (method === "GET") return this.object ? [200, this.object] : [404, {}];
    const given = body as { metadata: { name: string; resourceVersion?: string }; spec: unknown };
    if (method === "POST" && this.object) return [409, {}];
    if (method === "PUT" && given.metadata.resourceVersion !== String(this.version)) return [409, {}];
    const metadata = { ...given.metadata, name: "l", resourceVersion: String(++this.version) };
    this.object = { ...given, metadata };
    return [200, this.object];
  }
}

function elector(lease: OneLease, identity: string, clock: FakeClock): LeaderElection {
  const leases = new Leases(lease.api(identity), "ns");
  return new LeaderElection({
    leases,
    name: "l",
    identity,
    clock,
    log: recordingLog(),
    random: () => 0.5,
    times,
  });
}

/** Leads until the leadership ends, and records it. */
function leading(lines: string[], who: string) {
  return async ({ signal }: Leadership): Promise<void> => {
    lines.push(`${who} leads`);
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    lines.push(`${who} ends`);
  };
}

async function passing(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    await clock.advance(Math.min(500, left));
    await settle();
  }
}

Deno.test("LeaderElection lets one of two lead, and the other one at once when the first stops", async () => {
  const [lease, clock, lines] = [new OneLease(), new FakeClock(), [] as string[]];
  await using second = new Tasks(undefined, () => {});
  {
    await using first = new Tasks(undefined, () => {});
    first.spawn((signal) => elector(lease, "a", clock).run(leading(lines, "a"), { signal }));
    await passing(clock, 500);
    second.spawn((signal) => elector(lease, "b", clock).run(leading(lines, "b"), { signal }));
    await passing(clock, 60_000);
    assert.deepEqual(lines, ["a leads"]);
  }
  assert.deepEqual(lines, ["a leads", "a ends"]);
  await passing(clock, 4_000);
  assert.deepEqual(lines, ["a leads", "a ends", "b leads"]);
});

Deno.test("LeaderElection stops a leader that cannot renew before another one takes over", async () => {
  const [lease, clock, lines] = [new OneLease(), new FakeClock(), [] as string[]];
  await using tasks = new Tasks(undefined, () => {});
  const first = elector(lease, "a", clock);
  tasks.spawn((signal) => first.run(leading(lines, "a"), { signal }));
  await passing(clock, 500);
  tasks.spawn((signal) => elector(lease, "b", clock).run(leading(lines, "b"), { signal }));
  await passing(clock, 10_000);
  lease.silent.add("a");
  await passing(clock, 9_000);
  assert.equal(first.isLeading, true);
  await passing(clock, 1_500);
  assert.deepEqual(lines, ["a leads", "a ends"]);
  assert.equal(first.isLeading, false);
  await passing(clock, 10_000);
  assert.deepEqual(lines, ["a leads", "a ends", "b leads"]);
  // A returning replica is a follower.
  lease.silent.clear();
  await passing(clock, 30_000);
  assert.deepEqual(lines, ["a leads", "a ends", "b leads"]);
});

Deno.test("Leadership.remaining() is 0 in a process that was suspended, even if its timers are late", async () => {
  const [lease, clock] = [new OneLease(), new FakeClock()];
  let held: Leadership | undefined;
  await using tasks = new Tasks(undefined, () => {});
  tasks.spawn((signal) =>
    elector(lease, "a", clock).run(async (leadership) => {
      held = leadership;
      await new Promise<void>((resolve) => leadership.signal.addEventListener("abort", () => resolve()));
    }, { signal })
  );
  await passing(clock, 500);
  assert.equal(held && held.remaining() > 5_000, true);
  lease.silent.add("a");
  await passing(clock, 12_000);
  assert.equal(held?.remaining(), 0);
});
