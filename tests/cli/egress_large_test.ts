import assert from "node:assert/strict";
import { Household } from "../support/postern_process.ts";
import { testTls } from "../support/tls_files.ts";

// The largest possible ConfigMap, and a very long list.

const mebibyte = 1024 * 1024;
const items = Array.from({ length: 10_000 }, (_, index) => `host-${index}.example.net`);

/** As many certificates with different serial numbers as fit into `size` bytes. */
function certificates(size: number): string {
  const base64 = testTls.ca.replace(/-----[^-]+-----|\s/g, "");
  const bytes = Uint8Array.fromBase64(base64);
  // The serial number follows the version (RFC 5280, 4.1): its type, its length, and its bytes.
  const version = [0xa0, 3, 2, 1, 2];
  const at = bytes.findIndex((_, index) => version.every((byte, offset) => bytes[index + offset] === byte));
  const serial = at + version.length + 2;
  const made: string[] = [];
  for (let length = 0;;) {
    new DataView(bytes.buffer).setUint32(serial + 1, made.length);
    const lines = bytes.toBase64().match(/.{1,64}/g) ?? [];
    const pem = `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
    length += pem.length;
    if (length > size) return made.join("");
    made.push(pem);
  }
}

/** Checks a JSON file with everything that a proxy depends on. */
async function check(home: Household, noProxy: readonly string[], bundle: string) {
  const path = `${home.directory}/proxy.json`;
  const named = (kind: string, more: object) => ({ kind, metadata: { name: "cluster" }, ...more });
  const spec = {
    httpProxy: "http://proxy.test:3128",
    noProxy: noProxy.join(","),
    trustedCA: { name: "mine" },
  };
  const list = [
    named("Proxy", { spec }),
    { kind: "ConfigMap", metadata: { name: "mine" }, data: { "ca-bundle.crt": bundle } },
    named("Infrastructure", { status: { apiServerInternalURI: "https://api-int.c.test:6443" } }),
    named("Network", {
      status: { serviceNetwork: ["172.30.0.0/16"], clusterNetwork: [{ cidr: "10.128.0.0/14" }] },
    }),
  ];
  await Deno.writeTextFile(path, list.map((object) => JSON.stringify(object)).join("\n---\n"));
  const { code, stdout, stderr } = await home.run(["egress", "check", path, "-o", "json"]);
  assert.equal(stderr, "");
  return { code, ...JSON.parse(stdout) };
}

Deno.test("postern egress check accepts 10,000 noProxy items and a bundle of at most 1 MiB", async () => {
  await using home = await Household.open();
  const bundle = certificates(mebibyte);
  assert.ok(bundle.length > mebibyte - 1000);
  const sound = await check(home, items, bundle);
  assert.equal(sound.code, 0, JSON.stringify(sound.problems).slice(0, 500));
  const accepted = new Set<string>(sound.status.noProxy.split(","));
  assert.deepEqual(items.filter((item) => !accepted.has(item)), []);

  const larger = await check(home, items, `${bundle}${"#".repeat(1000)}`);
  assert.deepEqual([larger.code, larger.problems.map(({ reason }: { reason: string }) => reason)], [7, [
    "TooLarge",
  ]]);

  const unsound = await check(home, items.map((item) => `${item}:80`), testTls.ca);
  assert.equal(unsound.code, 7);
  assert.ok(unsound.problems.length > 1 && JSON.stringify(unsound.problems).length < 100_000);
});
