import assert from "node:assert/strict";
import {
  amzDate,
  awsAuthorization,
  emptyHash,
  encodeAws,
  sha256Hex,
  type SignableRequest,
} from "../../../src/emergency/aws_signature.ts";

const host = ["Host", "examplebucket.s3.amazonaws.com"] as const;
const today = ["x-amz-date", "20130524T000000Z"] as const;
const empty = ["x-amz-content-sha256", emptyHash] as const;
const welcome = "Welcome to Amazon S3.";

/** The examples of the S3 API Reference, "Signature Calculations: Transferring Payload in a Single Chunk". */
const published: readonly { name: string; request: SignableRequest; signature: string }[] = [
  {
    name: "GET Object",
    request: {
      method: "GET",
      path: "/test.txt",
      fields: [host, ["Range", "bytes=0-9"], empty, today],
      bodyHash: emptyHash,
    },
    signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
  },
  {
    name: "PUT Object",
    request: {
      method: "PUT",
      path: `/${encodeAws("test$file.text")}`,
      fields: [
        ["Date", "Fri, 24 May 2013 00:00:00 GMT"],
        host,
        today,
        ["x-amz-storage-class", "REDUCED_REDUNDANCY"],
        ["x-amz-content-sha256", await sha256Hex(welcome)],
      ],
      bodyHash: await sha256Hex(welcome),
    },
    signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
  },
  {
    name: "GET Bucket Lifecycle",
    request: {
      method: "GET",
      path: "/",
      query: [["lifecycle", ""]],
      fields: [host, today, empty],
      bodyHash: emptyHash,
    },
    signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
  },
  {
    name: "List Objects",
    request: {
      method: "GET",
      path: "/",
      query: [["prefix", "J"], ["max-keys", "2"]],
      fields: [host, today, empty],
      bodyHash: emptyHash,
    },
    signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
  },
];

for (const { name, request, signature } of published) {
  Deno.test(`awsAuthorization() signs the published example ${name}`, async () => {
    const authorization = await awsAuthorization(request, {
      accessKey: "AKIAIOSFODNN7EXAMPLE",
      secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      region: "us-east-1",
      service: "s3",
      date: "20130524T000000Z",
    });
    assert.match(
      authorization,
      /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/20130524\/us-east-1\/s3\/aws4_request, /,
    );
    assert.equal(authorization.split("Signature=")[1], signature);
  });
}

const suiteFields = [["Host", "example.amazonaws.com"], ["X-Amz-Date", "20150830T123600Z"]] as const;

/** Of the AWS Signature Version 4 test suite. */
const suite: readonly { name: string; request: Partial<SignableRequest>; signature: string }[] = [
  {
    name: "get-vanilla",
    request: {},
    signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
  },
  {
    name: "get-vanilla-query-order-key-case",
    request: { query: [["Param2", "value2"], ["Param1", "value1"]] },
    signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
  },
  {
    name: "get-utf8",
    request: { path: `/${encodeAws("ሴ")}` },
    signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
  },
  {
    name: "get-header-value-trim",
    request: { fields: [...suiteFields, ["My-Header1", " value1"], ["My-Header2", ' "a   b   c"']] },
    signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
  },
];

for (const { name, request, signature } of suite) {
  Deno.test(`awsAuthorization() signs ${name} of the test suite`, async () => {
    const authorization = await awsAuthorization(
      { method: "GET", path: "/", fields: suiteFields, bodyHash: emptyHash, ...request },
      {
        accessKey: "AKIDEXAMPLE",
        secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        region: "us-east-1",
        service: "service",
        date: "20150830T123600Z",
      },
    );
    assert.equal(authorization.split("Signature=")[1], signature);
  });
}

Deno.test("amzDate() writes seconds without separators", () => {
  assert.equal(amzDate(new Date("2013-05-24T01:02:03.456Z")), "20130524T010203Z");
});

Deno.test("encodeAws() leaves letters, digits and -._~ alone", () => {
  assert.equal(encodeAws("aZ0-._~"), "aZ0-._~");
  assert.equal(encodeAws("a/b c+d(e)*'!é"), "a%2Fb%20c%2Bd%28e%29%2A%27%21%C3%A9");
});
