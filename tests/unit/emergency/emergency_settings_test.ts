import assert from "node:assert/strict";
import { emergencySchema } from "../../../src/emergency/mod.ts";
import { parsed } from "../config/schema_cases.ts";

const bucket = {
  endpoint: "https://s3.example.net",
  bucket: "emergency",
  accessKeyFile: "access",
  secretKeyFile: "secret",
};
const passbolt = { url: "https://pass.example.net/tenant" };

Deno.test("emergencySchema() accepts buckets and a Passbolt", () => {
  const { value, said } = parsed(emergencySchema(), {
    buckets: [bucket],
    passbolt,
    privateKeyFile: "~/key.asc",
  });
  assert.deepEqual(said, []);
  assert.equal(value?.buckets[0]?.region, "us-east-1");
  assert.equal(value?.buckets[0]?.accessKeyFile, "/etc/postern/access");
  assert.equal(value?.passbolt?.resource, "emergency-cedentials-buckets");
  assert.match(value?.privateKeyFile ?? "", /\/key\.asc$/);
});

const wrong: { readonly name: string; readonly value: unknown; readonly says: RegExp }[] = [
  { name: "nothing", value: {}, says: /^must contain buckets or passbolt/ },
  { name: "no bucket", value: { buckets: [] }, says: /^must contain buckets or passbolt/ },
  {
    name: "another scheme",
    value: { buckets: [{ ...bucket, endpoint: "ftp://s3.example.net" }] },
    says: /^buckets\[0\]\.endpoint must be a URL that begins with https:\/\/ or http:\/\//,
  },
  {
    name: "an endpoint with a path",
    value: { buckets: [{ ...bucket, endpoint: "https://s3.example.net/emergency" }] },
    says: /^buckets\[0\]\.endpoint must end after the port/,
  },
  {
    name: "an endpoint with a key",
    value: { buckets: [{ ...bucket, endpoint: "https://KEY@s3.example.net" }] },
    says: /^buckets\[0\]\.endpoint must not contain a user/,
  },
  {
    name: "an endpoint without TLS, as a warning",
    value: { buckets: [{ ...bucket, endpoint: "http://s3.example.net" }] },
    says: /^warning: buckets\[0\]\.endpoint uses no TLS/,
  },
  {
    name: "an empty bucket",
    value: { buckets: [{ ...bucket, bucket: "" }] },
    says: /^buckets\[0\]\.bucket must be the name of a bucket/,
  },
  {
    name: "a bucket with a path",
    value: { buckets: [{ ...bucket, bucket: "a/../b" }] },
    says: /^buckets\[0\]\.bucket must be the name of a bucket/,
  },
  {
    name: "a region that is a host",
    value: { buckets: [{ ...bucket, region: "rma1.example.net" }] },
    says: /^buckets\[0\]\.region must be the name of a region/,
  },
  {
    name: "a key instead of its file",
    value: { buckets: [{ ...bucket, secretKey: "x" }] },
    says: /^buckets\[0\]\.secretKey is not a known key/,
  },
  {
    name: "a Passbolt without TLS",
    value: { passbolt: { url: "http://pass.example.net" } },
    says: /^passbolt\.url must begin with https:\/\//,
  },
  {
    name: "a truncated fingerprint",
    value: { passbolt: { ...passbolt, fingerprint: "99A6F2B1" } },
    says: /^passbolt\.fingerprint must be a fingerprint: 40 hexadecimal digits/,
  },
];
for (const { name, value, says } of wrong) {
  Deno.test(`emergencySchema() reports ${name}`, () => {
    const { said } = parsed(emergencySchema(), value);
    assert.ok(said.some((line) => says.test(line)), said.join("\n"));
  });
}
