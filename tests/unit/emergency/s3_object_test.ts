import assert from "node:assert/strict";
import { HttpClient } from "../../../src/http/mod.ts";
import { readObject } from "../../../src/emergency/mod.ts";
import { type ErrorCode, PosternError } from "../../../src/words/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { type WebAnswer, WebServer } from "../../support/web_server.ts";

const { signal } = new AbortController();
const secretKey = "SECRET-KEY";
const bucket = {
  endpoint: new URL("http://127.0.0.1:9000"),
  region: "rma1",
  bucket: "emergency",
  accessKey: "AKIA",
  secretKey,
};

class S3 implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly network = new MemoryNetwork();
  readonly server: WebServer;

  constructor(answer: WebAnswer) {
    this.server = new WebServer(this.network.listen({ host: "127.0.0.1", port: 9000 }), () => answer);
  }

  read(name = "em-1"): Promise<Uint8Array | undefined> {
    return readObject(bucket, name, { client: new HttpClient(this), clock: this.clock }, { signal });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server[Symbol.asyncDispose]();
  }
}

Deno.test("readObject() signs its request and follows no redirects", async () => {
  await using s3 = new S3({ body: "content" });
  assert.equal(new TextDecoder().decode(await s3.read("a b/ü")), "content");
  const [request] = s3.server.requests;
  assert.equal(request?.url.pathname, "/emergency/a%20b/%C3%BC");
  assert.equal(request?.fields.get("x-amz-date"), "20260101T000000Z");
  assert.match(
    request?.fields.get("authorization") ?? "",
    /^AWS4-HMAC-SHA256 Credential=AKIA\/20260101\/rma1\/s3\/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=[0-9a-f]{64}$/,
  );
});

Deno.test("readObject() refuses object names that escape the bucket", async () => {
  await using s3 = new S3({ body: "content" });
  await assert.rejects(s3.read("../other/object"), /Cannot read the object .*: the name is invalid/);
  assert.deepEqual(s3.server.requests, []);
});

const xml = (code: string, more = "") =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>told</Message>${more}</Error>`;

Deno.test("readObject() recognizes a missing object only by the S3 error code", async () => {
  await using s3 = new S3({ status: 404, body: xml("NoSuchKey") });
  assert.equal(await s3.read(), undefined);
});

const refusals: {
  readonly name: string;
  readonly answer: WebAnswer;
  readonly code: ErrorCode;
  readonly says: RegExp;
  readonly hint?: RegExp;
}[] = [
  {
    name: "access denied",
    answer: { status: 403, body: xml("AccessDenied") },
    code: "auth",
    says: /denies access \("AccessDenied", status 403\)/,
    hint: /a missing object looks the same/,
  },
  {
    name: "an unknown key",
    answer: { status: 403, body: xml("InvalidAccessKeyId") },
    code: "auth",
    says: /InvalidAccessKeyId/,
    hint: /check accessKeyFile/,
  },
  { name: "403 without a body", answer: { status: 403 }, code: "auth", says: /denies access \(status 403\)/ },
  {
    name: "a wrong clock",
    answer: {
      status: 403,
      body: xml("RequestTimeTooSkewed", "<ServerTime>2026-02-01T00:00:00Z</ServerTime>"),
    },
    code: "auth",
    says:
      /RequestTimeTooSkewed\): local time is "2026-01-01T00:00:00\.000Z", server time "2026-02-01T00:00:00Z"/,
    hint: /clock/,
  },
  {
    name: "a missing bucket",
    answer: { status: 404, body: xml("NoSuchBucket") },
    code: "config",
    says: /"emergency" at http:\/\/127\.0\.0\.1:9000: it does not exist/,
  },
  {
    name: "another region",
    answer: { status: 301, body: xml("PermanentRedirect", "<Region>lpg1</Region>") },
    code: "config",
    says: /the bucket is in the region "lpg1"/,
  },
  {
    name: "a redirect to a sign-in",
    answer: { status: 302, fields: [["Location", "https://sso.example.net/login?to=secret"]] },
    code: "config",
    says: /the server redirects to "https:\/\/sso\.example\.net\/login"$/,
    hint: /postern does not follow redirects/,
  },
  {
    name: "a web page instead of S3",
    answer: { status: 404, body: "<html>no</html>" },
    code: "protocol",
    says: /the server is not an S3 service/,
  },
  {
    name: "a server error",
    answer: { status: 503, body: xml("SlowDown") },
    code: "unreachable",
    says: /the service has failed/,
  },
  { name: "anything else", answer: { status: 418 }, code: "protocol", says: /status 418$/ },
  {
    name: "10 MB",
    answer: { body: " ".repeat(10_000_000) },
    code: "protocol",
    says: /more than 4194304 bytes/,
  },
  {
    name: "terminal escapes in the error",
    answer: { status: 403, body: xml("\u001b[2J\u0007") },
    code: "auth",
    says: /"\?\[2J\?"/,
  },
];
for (const { name, answer, code, says, hint } of refusals) {
  Deno.test(`readObject() reports ${name}`, async () => {
    await using s3 = new S3(answer);
    await assert.rejects(s3.read(), (error: Error) => {
      assert.ok(error instanceof PosternError);
      assert.deepEqual([error.code, says.test(error.message)], [code, true], error.message);
      if (hint) assert.match(error.hint ?? "", hint);
      assert.ok(!`${error.message}${error.hint}`.includes(secretKey));
      return true;
    });
    assert.equal(s3.server.requests.length, 1);
  });
}
