import assert from "node:assert/strict";
import { readBucketList } from "../../../src/emergency/bucket_list.ts";
import { emergencyObjectName } from "../../../src/emergency/mod.ts";
import { isPosternError } from "../../../src/words/mod.ts";

const bucket = {
  endpoint: "objects.rma1.example.net",
  bucket: "emergency",
  accessKeyId: "KEY-ID",
  secretAccessKey: "SECRET-KEY",
};

Deno.test("readBucketList() reads the list of other tools", async () => {
  const { buckets: [first, second], problems } = await readBucketList(`
buckets:
  - endpoint: objects.rma1.example.net
    bucket: emergency
    accessKeyId: KEY-ID
    secretAccessKey: SECRET-KEY
    addedLater: [1]
  - { endpoint: "127.0.0.1:9000", bucket: other, accessKeyId: a, secretAccessKey: b, region: rma1, insecure: true }
more: 1
`);
  assert.deepEqual(problems, []);
  assert.deepEqual(
    [first?.endpoint.href, first?.region, first?.accessKey, first?.secretKey],
    ["https://objects.rma1.example.net/", "us-east-1", "KEY-ID", "SECRET-KEY"],
  );
  assert.deepEqual([second?.endpoint.href, second?.region], ["http://127.0.0.1:9000/", "rma1"]);
  assert.equal(await first?.objectName("c-lab"), await emergencyObjectName("c-lab"));
});

const hash = (await emergencyObjectName("c-lab")).slice("em-".length);
const templates = [
  { template: "em-{{ .ClusterId | sha256sum }}", object: `em-${hash}` },
  { template: "em-{{.Context.ClusterId|sha256sum}}.json", object: `em-${hash}.json` },
  { template: "{{- .ClusterId -}}", object: "c-lab" },
  { template: "one-for-all", object: "one-for-all" },
  { template: "{{ .ClusterId | b64enc }}", object: undefined },
  { template: '{{ env "HOME" }}', object: undefined },
  { template: "{{ .ClusterId", object: undefined },
];
for (const { template, object } of templates) {
  Deno.test(`readBucketList() ${object === undefined ? "refuses" : "understands"} ${template}`, async () => {
    const list = readBucketList(JSON.stringify({ buckets: [{ ...bucket, objectNameTemplate: template }] }));
    if (object === undefined) await assert.rejects(list, /objectNameTemplate must contain \.ClusterId/);
    else assert.equal(await (await list).buckets[0]?.objectName("c-lab"), object);
  });
}

Deno.test("readBucketList() leaves out an invalid bucket with the reason", async () => {
  const list = [
    { ...bucket, endpoint: "999.1.1.1" },
    { ...bucket, objectNameTemplate: "{{ .Name }}" },
    bucket,
  ];
  const { buckets, problems } = await readBucketList(JSON.stringify({ buckets: list }));
  assert.equal(buckets.length, 1);
  assert.deepEqual(problems, [
    "buckets[0].endpoint must be a host, optionally with a port",
    "buckets[1].objectNameTemplate must contain .ClusterId, optionally with | sha256sum, and no other template code",
  ]);
});

const wrong = [
  { name: "invalid YAML", list: "buckets: [{ SECRET-KEY" },
  { name: "a list alone", list: JSON.stringify([bucket]) },
  { name: "a secret instead of a bucket", list: JSON.stringify({ buckets: ["SECRET-KEY"] }) },
  {
    name: "a secret as the endpoint",
    list: JSON.stringify({ buckets: [{ ...bucket, endpoint: "SECRET-KEY=" }] }),
  },
  {
    name: "a secret as the region",
    list: JSON.stringify({ buckets: [{ ...bucket, region: "SECRET-KEY=" }] }),
  },
  {
    name: "a secret of two words",
    list: JSON.stringify({ buckets: [{ ...bucket, secretAccessKey: "SECRET-KEY and" }] }),
  },
  { name: "too many", list: JSON.stringify({ buckets: Array(101).fill(bucket) }) },
];
for (const { name, list } of wrong) {
  Deno.test(`readBucketList() refuses ${name} without showing values`, async () => {
    await assert.rejects(readBucketList(list), (error: Error) => {
      assert.ok(isPosternError(error, "config"));
      assert.ok(!error.message.includes("SECRET-KEY"), error.message);
      return true;
    });
  });
}
