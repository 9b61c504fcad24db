import assert from "node:assert/strict";
import { describe } from "../../src/words/mod.ts";
import { isLongRun } from "../support/long_runs.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { FaultLedger } from "./fault_ledger.ts";
import { narrowed, planSchedule, scheduleText } from "./fault_schedule.ts";
import { logOf, outcomesOf } from "./instance_outcomes.ts";
import { PatternStreams } from "./pattern_streams.ts";
import { type PlayedStream, playSchedule, type Stage, untilItWorks } from "./play_schedule.ts";
import { accountOf, liveOf, type ProcessAccount, statusOf } from "./process_accounts.ts";
import { type WayName, wayNames, WholeWorld, worldPeers } from "./whole_world.ts";

// Seconds of faults; with the start of the world and the idle time at the end the test takes two minutes, or
// half an hour.
const seconds = Number(asked("POSTERN_FAULT_SECONDS") ?? (isLongRun() ? 1700 : 70));
const seed = Number(asked("POSTERN_FAULT_SEED") ?? (isLongRun() ? Date.now() % 1_000_000 : 1));
const only = asked("POSTERN_FAULT_ONLY")?.split(",").map((word) => word.trim()) ?? [];

/** The allowed growth of a process between the start and the idle time at the end. */
const margin = { memory: 150_000_000, descriptors: 16, channels: 8 };
/** The time limit for becoming idle in ms: both sides must drop frozen connections. */
const untilQuiet = 120_000;

peerTest(
  "no fault corrupts data, makes a stream hang or breaks another route",
  worldPeers,
  async (paths, t) => {
    await using streams = new PatternStreams();
    const targets = Object.fromEntries(wayNames.map((way) => [way, streams.listen(way)])) as Record<
      WayName,
      number
    >;
    await using world = await WholeWorld.start(paths, targets);
    const { instance, home, parts, ways } = world;
    const schedule = narrowed(planSchedule({ seed, lasts: seconds * 1000, parts, ways }), only);
    const ledger = new FaultLedger();
    const stage: Stage = { instance: await instance.address(), ways, parts, streams, ledger, carried: [] };
    const processes = () => [instance, ...world.others()];
    const accounts = () => Promise.all(processes().map(({ pid }) => accountOf(paths.sh, pid)));

    await t.step("every route works at the start", async () => {
      for (const { name } of ways) await untilItWorks(name, stage);
    });
    const before = await accounts();
    const { channels: usual = 0 } = liveOf(await statusOf(home));
    // The error contains the schedule, because the output of a test is hidden. Steps after a failure would be
    // meaningless.
    const step = async (name: string, work: () => Promise<void>) => {
      const isDone = await t.step(name, async () => {
        try {
          await work();
        } catch (error) {
          throw new Error(`${describe(error)}\n${scheduleText(schedule)}\nrepeat: ${repeating()}`, {
            cause: error,
          });
        }
      });
      if (!isDone) throw new Error(`skipped the remaining steps after: ${name}`);
    };
    await step(
      `seed ${seed}: ${schedule.faults.length} faults, ${schedule.streams.length} streams`,
      async () => {
        const start = performance.now();
        const played = await playSchedule(schedule, stage);
        // A client may reuse a port, also of a probe that checks a route.
        const outcomes = await outcomesOf(instance, stage.carried);
        const outcomeOf = (stream: PlayedStream) => outcomes[stage.carried.indexOf(stream)];
        const broken = played.flatMap((stream) =>
          ledger.broken({ ...stream, outcome: outcomeOf(stream) }).map((law) =>
            `${stream.plan.way} ${stream.plan.id}, begun at ${
              Math.round(stream.begunAt - start)
            } ms, ended at ` +
            `${Math.round(stream.endedAt - start)} ms: ${law}; ${logOf(instance, stream)}`
          )
        );
        assert.deepEqual(broken, []);
        assert.deepEqual(streams.strange, []);
        // Most streams must succeed, otherwise the test proves nothing.
        const whole = played.filter(({ plan, up, down }) => up === plan.up && down === plan.down);
        assert.ok(whole.length > played.length / 2, `${whole.length} of ${played.length} succeeded`);
      },
    );
    await step("every route works again", async () => {
      for (const { name } of ways) await untilItWorks(name, stage);
    });
    await step("no connections remain", async () => {
      await eventually("the instance is idle", async () => {
        // The cluster behind an ssh host keeps channels for its API.
        const { channels = 0, ...live } = liveOf(await statusOf(home));
        return Object.values(live).every((count) => count === 0) && channels <= usual + margin.channels;
      }, untilQuiet);
      const left = async () => {
        const forgotten = await forgottenWays(world);
        return streams.open.filter(({ way }) => !forgotten.includes(way));
      };
      const areLeft = async () => (await left()).length === 0;
      await eventually("no client holds a target", areLeft, untilQuiet).catch(async (error) => {
        const known = (await left()).map(({ way, id }) => {
          const stream = stage.carried.find(({ plan }) => plan.id === id);
          return `${way} ${id} (${stream ? logOf(instance, stream) : "unknown stream"})`;
        });
        const { transports } = await statusOf(home);
        throw new Error(`still open: ${known.join("; ")}; ${JSON.stringify(transports)}`, { cause: error });
      });
      await eventually(
        "descriptors have returned to their initial number",
        async () =>
          (await accounts()).every(({ descriptors }, at) =>
            descriptors <= (before[at]?.descriptors ?? 0) + margin.descriptors
          ),
        untilQuiet,
      );
    });
    const now = await accounts();
    // The name of this step contains the numbers of the run, which --verbose prints.
    const held = now.map((one, at) => told(before[at], one)).join("; ");
    const forgotten = streams.open.map(({ way }) => way).join(", ") || "none";
    await step(`resources: ${held}; leaked by upstream: ${forgotten}`, () => {
      for (const [at, { memory }] of now.entries()) {
        const grown = memory - (before[at]?.memory ?? 0);
        assert.ok(grown <= margin.memory, `process ${at} has grown by ${grown} bytes`);
      }
      return Promise.resolve();
    });
  },
);

/**
 * Returns the routes whose upstream server may leak a connection to a target. Upstream's Konnectivity server
 * leaks a connection whose dial is canceled at the moment of success. Upstream's kubelet leaks the streams of
 * a session that ends while new streams are pending: its loop ends, spdystream waits forever for a reader of
 * the next stream, and never reports the end to other streams. The kubelet counts no session then, which
 * proves that neither postern nor the API server holds one.
 */
async function forgottenWays({ cluster }: WholeWorld): Promise<readonly string[]> {
  const { openSessions } = await cluster.forwards();
  return openSessions === 0 ? ["hosted", "lab", "behind"] : ["hosted"];
}

/** Returns the command that repeats this run. */
function repeating(): string {
  const narrow = only.length > 0 ? `POSTERN_FAULT_ONLY='${only.join(",")}' ` : "";
  return `POSTERN_FAULT_SEED=${seed} POSTERN_FAULT_SECONDS=${seconds} ${narrow}deno task test tests/faults`;
}

function told(before: ProcessAccount | undefined, now: ProcessAccount): string {
  const mb = (bytes = 0) => `${Math.round(bytes / 1e6)} MB`;
  return `${mb(before?.memory)} → ${mb(now.memory)}, ${before?.descriptors} → ${now.descriptors} descriptors`;
}

function asked(name: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? Deno.env.get(name) || undefined : undefined;
}
