import assert from "node:assert/strict";
import { ClusterTables } from "../../../src/app/cluster_tables.ts";
import { type FarTable, type FarTables, PosternError } from "../../../src/core/mod.ts";
import { parseRouteLines, Router } from "../../../src/routing/mod.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";
import { recordingLog } from "../../support/recording_log.ts";

const { signal } = new AbortController();
const { rules } = parseRouteLines("<services> lab\n<clusterips> lab\n", { name: "list" });

/** A cluster whose table comes when a test says so. */
class LateTable implements FarTables {
  current: FarTable | undefined;
  asked = 0;
  #answer = Promise.withResolvers<void>();
  #changed = () => {};

  follow(): Promise<void> {
    this.asked++;
    return this.#answer.promise;
  }

  onChange(changed: () => void): Disposable {
    this.#changed = changed;
    return { [Symbol.dispose]() {} };
  }

  has(...services: string[]): void {
    this.current = { services: new Set(services), addresses: new Set(["10.96.0.7"]) };
    this.#changed();
    this.#answer.resolve();
  }

  fails(error: PosternError): void {
    const answer = this.#answer;
    this.#answer = Promise.withResolvers();
    answer.reject(error);
  }
}

function parts() {
  const table = new LateTable();
  const clock = new FakeClock();
  const log = recordingLog();
  let router = new Router({ rules, fallback: "direct" });
  const tables = new ClusterTables({ clock, log, changed: (tables) => router = router.withTables(tables) });
  const follow = (table: LateTable) => {
    const transport = { name: "lab", tables: table } as never;
    const byName = new Map([["lab", { name: "lab", type: "kubernetes", settings: {}, transport }]]);
    tables.follow(router, { byName });
  };
  follow(table);
  const goesTo = (host: string) => router.route({ host, port: 80 }).transport;
  return { table, clock, log, tables, follow, goesTo };
}

Deno.test("ClusterTables waits for the cluster of a reload that comes while it waits", async () => {
  const { table, tables, follow } = parts();
  await using _tables = tables;
  let isKnown = false;
  const known = tables.known({ signal }).then(() => isKnown = true);
  await settle();
  const later = new LateTable();
  follow(later);
  table.has("web.shop");
  await settle();
  assert.deepEqual([isKnown, later.asked], [false, 1]);
  later.has("web.shop");
  await known;
});

Deno.test("ClusterTables asks a cluster only for what its table could decide, and waits for it", async () => {
  const { table, tables, goesTo } = parts();
  await using _tables = tables;
  assert.deepEqual(
    ["web", "web.shop", "10.96.0.7", "web.shop.svc", "www.example.com"].map((host) =>
      tables.mayDecide({ host, port: 80 })
    ),
    [true, true, true, false, false],
  );
  assert.equal(table.asked, 0);
  const known = tables.known({ signal });
  await settle();
  table.has("web", "web.shop");
  await known;
  assert.deepEqual(["web.shop", "10.96.0.7", "other.shop"].map(goesTo), ["lab", "lab", "direct"]);
  assert.equal(tables.mayDecide({ host: "web", port: 80 }), false);
  table.has("other.shop");
  assert.deepEqual(["web.shop", "other.shop"].map(goesTo), ["direct", "lab"]);
});

Deno.test("ClusterTables keeps nobody waiting for a cluster that fails or is slow, and says so once", async () => {
  const { table, tables, clock, log, goesTo } = parts();
  await using _tables = tables;
  const first = tables.known({ signal });
  await settle();
  table.fails(new PosternError("unreachable", "Cannot reach lab"));
  await first;
  assert.equal(goesTo("web"), "direct");
  // For a while nobody asks again.
  await tables.known({ signal });
  assert.equal(table.asked, 1);
  await clock.advance(5_000);
  const late = tables.known({ signal });
  await clock.advance(6_000);
  await late;
  assert.equal(table.asked, 2);
  await tables.known({ signal });
  table.has("web");
  await settle();
  assert.equal(goesTo("web"), "lab");
  assert.equal(log.lines.filter(({ event }) => event === "routes.no_table").length, 1);
});
