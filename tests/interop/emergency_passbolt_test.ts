import assert from "node:assert/strict";
import { GpgHome } from "../support/gpg_home.ts";
import { storeClusters } from "../support/lab_clusters.ts";
import { PassboltStandIn } from "../support/passbolt_stand_in.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { S3Server } from "../support/s3_server.ts";

const token = "TOKEN-OF-THE-EMERGENCY-ACCOUNT";
const id = "8bb80df5-700c-48ce-b568-85a60fc3c8f2";
const another = "11111111-700c-48ce-b568-85a60fc3c8f2";
const metadataKey = "22222222-700c-48ce-b568-85a60fc3c8f2";

peerTest(
  "postern emergency-credentials reads the list of buckets from a Passbolt test server",
  ["gpg", "versitygw"],
  async ({ gpg, versitygw }, t) => {
    await using home = await Household.open();
    const people = await GpgHome.open(gpg, `${home.directory}/g`);
    const alice = await people.key("alice", "rsa", "pass of alice");
    const stranger = await people.key("bob", "ecc", "");
    const shared = await people.key("shared", "ecc", "");
    const own = await people.key("passbolt", "ecc", "");
    await using s3 = await S3Server.start(versitygw, {
      directory: home.directory,
      region: "rma1",
      buckets: ["emergency"],
    });
    await s3.putSecrets("emergency", "c-lab", [await people.encrypt(token, [alice])]);
    await storeClusters(home, [{
      id: "c-lab",
      displayName: "Lab",
      facts: {},
      dynamicFacts: { openshiftApiURL: "https://api.c-lab.example.net:6443" },
    }]);
    const user = { key: alice, code: "123456" };
    await using passbolt = new PassboltStandIn(people, own, [user]);
    const list = (more = "") =>
      `buckets:
- endpoint: ${new URL(s3.endpoint).host}
  bucket: emergency
  region: rma1
  accessKeyId: ${S3Server.keys.access}
  secretAccessKey: ${S3Server.keys.secret}
  insecure: true
  addedLater: 1
${more}`;
    const json = JSON.stringify({
      password: list("  objectNameTemplate: em-{{ .Context.ClusterId | sha256sum }}\n"),
      description: "",
    });
    const configure = (more = "") =>
      home.configure(`listen: { mixed: 127.0.0.1:3132 }
emergency: { passbolt: { url: "${passbolt.url}"${more} } }
`);
    const env = {
      KHARON_PASSBOLT_KEY: alice.secret,
      KHARON_PASSBOLT_PASSPHRASE: alice.passphrase,
      KHARON_PASSBOLT_TOTP: "123456",
    };
    const get = async (more: Record<string, string> = {}) => {
      passbolt.asked.length = 0;
      // No log line may contain a secret.
      const args = ["clusters", "c-lab", "emergency-credentials", "--log-level", "debug"];
      const ended = await home.run(args, { env: { ...env, ...more } });
      for (const secret of [alice.passphrase, S3Server.keys.secret, "123456", token, "PRIVATE KEY"]) {
        assert.ok(!ended.stderr.includes(secret), ended.stderr);
      }
      assert.doesNotMatch(ended.stderr, /logout_failed/);
      assert.equal(passbolt.sessions, 0);
      return ended;
    };
    const succeeds = async (more?: Record<string, string>) => {
      const { code, stdout, stderr } = await get(more);
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`token: "${token}"`));
      assert.match(stderr, /emergency\.asked .*found=true/);
      return stderr;
    };

    await configure();
    await t.step("a resource by its default name, with a second factor", async () => {
      passbolt.resources.push(
        { id: another, name: "something else", secret: "-" },
        { id, name: "emergency-cedentials-buckets", secret: json },
      );
      await succeeds();
      assert.deepEqual(passbolt.asked, [
        "POST /auth/login.json",
        "POST /auth/login.json",
        "GET /resources.json",
        "GET /mfa/verify/error.json",
        "POST /mfa/verify/totp.json",
        "GET /resources.json",
        `GET /secrets/resource/${id}.json`,
        "POST /auth/logout.json",
      ]);
    });
    await t.step("a resource by its id, whose secret is only the list", async () => {
      await configure(`, resource: ${id}`);
      passbolt.resources.splice(0, 2, { id, secret: list("- bucket: b-2\n") });
      const stderr = await succeeds();
      assert.match(stderr, /note: the list of buckets in Passbolt: buckets\[1\]\.endpoint is missing/);
      assert.ok(!passbolt.asked.includes("GET /resources.json"));
    });
    await t.step("names that are encrypted for the user, and with a shared key", async () => {
      await configure(", resource: buckets of the fleet");
      const metadata = async (name: string, type: "user_key" | "shared_key") => ({
        data: await people.encrypt(
          JSON.stringify({ object_type: "PASSBOLT_RESOURCE_METADATA", name }),
          [type === "user_key" ? alice : shared],
        ),
        keyId: metadataKey,
        type,
      });
      const copy = {
        object_type: "PASSBOLT_METADATA_PRIVATE_KEY",
        armored_key: shared.secret,
        passphrase: "",
      };
      passbolt.metadataKeys.push({ id: metadataKey, copy: JSON.stringify(copy) });
      for (const type of ["user_key", "shared_key"] as const) {
        passbolt.resources.splice(
          0,
          2,
          { id: another, metadata: await metadata("something else", type), secret: "-" },
          { id, metadata: await metadata("buckets of the fleet", type), secret: json },
        );
        await succeeds();
      }
    });
    await t.step("a server with the right key, and one with another key", async () => {
      passbolt.resources.splice(0, 2, { id, name: "emergency-cedentials-buckets", secret: json });
      await configure(`, fingerprint: ${own.fingerprint}`);
      await succeeds();
      assert.equal(passbolt.asked[1], "POST /auth/verify.json");
      await configure(`, fingerprint: ${stranger.fingerprint}`);
      const { code, stderr } = await get();
      assert.equal(code, 5, stderr);
      assert.match(stderr, /its key does not match emergency\.passbolt\.fingerprint/);
    });

    await t.step("no request to Passbolt when a configured bucket has the credentials", async () => {
      await Deno.writeTextFile(`${home.places.config}/access`, S3Server.keys.access);
      await Deno.writeTextFile(`${home.places.config}/secret`, S3Server.keys.secret);
      const bucket =
        `{ endpoint: "${s3.endpoint}", region: rma1, bucket: emergency, accessKeyFile: access, ` +
        "secretKeyFile: secret }";
      await home.configure(`emergency: { buckets: [${bucket}], passbolt: { url: "${passbolt.url}" } }\n`);
      await succeeds({ KHARON_PASSBOLT_TOTP: "" });
      assert.deepEqual(passbolt.asked, []);
    });

    await configure();
    const failures: readonly Failure[] = [
      {
        name: "a wrong code",
        env: { KHARON_PASSBOLT_TOTP: "999999" },
        code: 5,
        says: /rejects the code in KHARON_PASSBOLT_TOTP/,
      },
      {
        name: "no code",
        env: { KHARON_PASSBOLT_TOTP: "" },
        code: 5,
        says: /it requires a one-time code\n.*KHARON_PASSBOLT_TOTP/,
      },
      {
        name: "a stranger's key",
        env: { KHARON_PASSBOLT_KEY: stranger.secret },
        code: 5,
        says: /no user has the key [0-9A-F]{40}/,
      },
      {
        name: "a challenge that is another secret",
        lies: { challenge: "something that was encrypted for alice" },
        code: 1,
        says: /its challenge is invalid/,
      },
      {
        name: "a web page",
        lies: { answer: { body: "<html>" } },
        code: 1,
        says: /it does not come from Passbolt \(status 200\)/,
      },
      {
        name: "a redirect to another server",
        lies: { answer: { status: 302, fields: [["Location", "https://sso.example.net/?secret"]] } },
        code: 1,
        says: /it does not come from Passbolt \(status 302\)/,
      },
      {
        name: "a missing resource",
        resources: [],
        code: 4,
        says: /no resource with this name is shared with you/,
      },
      {
        name: "a list without keys",
        resources: [{
          id,
          name: "emergency-cedentials-buckets",
          secret: "buckets: [{ endpoint: x.example, bucket: b-1 }]",
        }],
        code: 4,
        says: /buckets\[0\]\.accessKeyId is missing.*; buckets\[0\]\.secretAccessKey is missing/,
      },
    ];
    for (const { name, env, lies = {}, resources, code, says } of failures) {
      await t.step(`${name} fails with ${code}`, async () => {
        const kept = passbolt.resources.splice(0);
        passbolt.resources.push(...resources ?? kept);
        Object.assign(passbolt.lies, lies);
        const ended = await get(env);
        for (const key of Object.keys(passbolt.lies)) delete passbolt.lies[key as keyof typeof passbolt.lies];
        passbolt.resources.splice(0, 9, ...kept);
        assert.equal(ended.code, code, ended.stderr);
        assert.match(ended.stderr, says);
        assert.equal(ended.stdout, "");
      });
    }
  },
);

interface Failure {
  readonly name: string;
  readonly env?: Record<string, string>;
  readonly lies?: PassboltStandIn["lies"];
  readonly resources?: PassboltStandIn["resources"];
  readonly code: number;
  readonly says: RegExp;
}
