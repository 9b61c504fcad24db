import assert from "node:assert/strict";
import { matrixClients } from "../support/client_matrix.ts";
import { measureClients } from "../support/client_matrix_run.ts";
import { clientTable, tableIn } from "../support/client_table.ts";
import { namespaceTest } from "../support/namespaces.ts";
import { compiled } from "../support/postern_process.ts";
import { missingReason, skippedTest } from "../support/peers.ts";

// Every program runs in a namespace with only loopback, where the local resolver knows no routed name and
// reports each question.

const absent = new Map(
  matrixClients.flatMap((client) => {
    const [reason] = client.peers.flatMap((peer) => missingReason(peer) ?? []);
    return reason === undefined ? [] : [[client, reason]];
  }),
);
for (const [{ name }, reason] of absent) skippedTest(`${name} connects as the guide says`, reason);

const name = "with postern env, every program connects as docs/guide/languages.md says";
// The clients do not depend on how postern was built, and they take most of the time.
if (compiled()) skippedTest(name, "only on a run from source");
else {
  namespaceTest(name, "--net --mount", async (wrap) => {
    const rows = await measureClients(matrixClients.filter((client) => !absent.has(client)), wrap);
    for (const { client, routed, direct, leaks, said } of rows) {
      const { name, routed: expected = "postern", direct: expectedDirect = "direct" } = client;
      assert.deepEqual(
        { name, routed, direct, leaks },
        { name, routed: routed.map(() => expected), direct: expectedDirect, leaks: client.leaks ?? false },
        said,
      );
    }
    const page = await Deno.readTextFile(new URL("../../docs/guide/languages.md", import.meta.url));
    assert.deepEqual(tableIn(page), clientTable(matrixClients, rows), "run: deno task clients");
  });
}
