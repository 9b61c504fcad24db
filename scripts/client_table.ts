import { foundPeersVariable } from "./peer_table.ts";
import { findPeers } from "./find_peers.ts";

/** Runs the clients of the guide's table and writes what they did: `deno task clients`. */
if (import.meta.main) await main();

async function main(): Promise<void> {
  // The modules of the tests search for the programs in this variable.
  Deno.env.set(foundPeersVariable, JSON.stringify(await findPeers()));
  const { matrixClients } = await import("../tests/support/client_matrix.ts");
  const { measureClients } = await import("../tests/support/client_matrix_run.ts");
  const { clientTable, withTable } = await import("../tests/support/client_table.ts");
  const { inNamespace } = await import("../tests/support/namespaces.ts");
  const { missingReason } = await import("../tests/support/peers.ts");
  const namespace = inNamespace("--net --mount");
  if ("missing" in namespace) throw new Error(namespace.missing);
  const present = matrixClients.filter(({ name, peers }) => {
    const reason = peers.map(missingReason).find((reason) => reason !== undefined);
    if (reason !== undefined) console.error(`${name}: kept as expected: ${reason}`);
    return reason === undefined;
  });
  const rows = await measureClients(present, namespace.wrap);
  for (const { client: { name }, routed, direct, leaks, ms } of rows) {
    console.error(`${name}: ${routed.join(", ")}; direct: ${direct}${leaks ? "; leaks" : ""}; ${ms} ms`);
  }
  const path = new URL("../docs/guide/languages.md", import.meta.url);
  await Deno.writeTextFile(path, withTable(await Deno.readTextFile(path), clientTable(matrixClients, rows)));
  const { success } = await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", path.pathname] })
    .output();
  if (!success) throw new Error("deno fmt failed");
}
