import assert from "node:assert/strict";
import { createMessage, encrypt, generateKey, readKey } from "openpgp";
import { readConfig } from "../../../src/plan/mod.ts";
import { fetchEmergencyCredentials } from "../../../src/programs/mod.ts";
import { showConfig } from "../../../src/instance/mod.ts";
import { emergencyObjectName } from "../../../src/emergency/mod.ts";
import { type ErrorCode, PosternError } from "../../../src/words/mod.ts";
import type { Question } from "../../../src/world/mod.ts";
import { silentLog as log } from "../../../src/core/mod.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { type WebAnswer, WebServer } from "../../support/web_server.ts";

const passphrase = "PASS-PHRASE";
const alice = await generateKey({ userIDs: [{ name: "alice" }], passphrase });
const message = String(
  await encrypt({
    message: await createMessage({ text: "THE-TOKEN" }),
    encryptionKeys: await readKey({ armoredKey: alice.publicKey }),
  }),
);
const found: WebAnswer = { body: JSON.stringify({ secrets: [{ data: message }] }) };
const missing: WebAnswer = { status: 404, body: "<Error><Code>NoSuchKey</Code></Error>" };
const denied: WebAnswer = { status: 403, body: "<Error><Code>AccessDenied</Code></Error>" };

const bucket = (name: string) =>
  `{ endpoint: "http://127.0.0.1:9000", bucket: ${name}, accessKeyFile: /access, secretKeyFile: /secret }`;

interface Lab {
  /** The responses of each bucket. */
  readonly buckets: Readonly<Record<string, WebAnswer>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: string;
  readonly files?: Readonly<Record<string, string>>;
  /** The modes of files that other users can read. */
  readonly modes?: Readonly<Record<string, number>>;
  /** The user's inputs, in order. */
  readonly typed?: readonly string[];
}

/** Searches in an in-memory world; records the requests. */
async function search({ buckets, env = {}, config = "", files = {}, modes = {}, typed = [] }: Lab) {
  const world = new MemoryWorld({
    files: {
      "/config/config.yaml": `emergency:\n  buckets: [${
        Object.keys(buckets).map(bucket).join(", ")
      }]\n${config}`,
      "/access": "ACCESS-KEY\n",
      "/secret": "SECRET-KEY\n",
      "/alice.asc": alice.privateKey,
      "/pass": `${passphrase}\n`,
      ...files,
    },
    env,
  });
  for (const [path, mode] of Object.entries(modes)) {
    world.files.put(path, await world.files.readText(path), mode);
  }
  const answers = [...typed];
  const asked: Question[] = [];
  world.terminal.ask = (question) => {
    asked.push(question);
    return Promise.resolve(answers.shift());
  };
  const listening = world.network.listen({ host: "127.0.0.1", port: 9000 });
  await using server = new WebServer(
    listening,
    ({ url }) => buckets[url.pathname.split("/")[1] ?? ""] ?? { status: 500 },
  );
  const { signal } = new AbortController();
  const written: string[] = [];
  for (const way of ["put", "replace", "create", "append"] as const) {
    world.files[way] = (path: string) => assert.fail(`${way} ${written.push(path)} ${path}`);
  }
  const said: string[] = [];
  const say = (note: string) => Promise.resolve(void said.push(note));
  const outcome = await fetchEmergencyCredentials(world, { clusterId: "c-lab", log, say }, { signal }).then(
    ({ text, notes }) => ({ text, notes }),
    (error: unknown) => error instanceof PosternError ? error : assert.fail(String(error)),
  );
  assert.deepEqual(written, []);
  return { outcome, asked, said, requests: server.requests.map(({ url }) => url.pathname) };
}

const byEnvironment = { KHARON_PASSBOLT_KEY: alice.privateKey, KHARON_PASSBOLT_PASSPHRASE: passphrase };

Deno.test("fetchEmergencyCredentials() searches one bucket after the other, and reports failures", async () => {
  const { outcome, requests } = await search({
    buckets: { first: denied, second: missing, third: found, fourth: found },
    env: byEnvironment,
  });
  const object = await emergencyObjectName("c-lab");
  assert.deepEqual(requests, [`/first/${object}`, `/second/${object}`, `/third/${object}`]);
  assert.ok("text" in outcome, String(outcome));
  assert.equal(outcome.text, "THE-TOKEN");
  assert.match(
    outcome.notes.join("\n"),
    /^"second" at .* has no credentials of c-lab\n.*"first" at .* denies access/,
  );
});

const ways: readonly {
  readonly name: string;
  readonly lab: Omit<Lab, "buckets">;
  readonly asks: readonly RegExp[];
}[] = [
  {
    name: "files in the configuration",
    lab: {
      config: "  privateKeyFile: /alice.asc\n  passphraseFile: /pass\n",
      env: { KHARON_PASSBOLT_KEY: "other" },
    },
    asks: [],
  },
  { name: "the environment", lab: { env: byEnvironment }, asks: [] },
  {
    name: "kharon's file, with one mistyped passphrase",
    lab: { files: { "//io.vshn.kharon/passbolt_key": alice.privateKey }, typed: ["wrong", passphrase] },
    asks: [/^Passphrase of the private key of ".*passbolt_key": $/, /^Passphrase/],
  },
  {
    name: "the predecessor of kharon",
    lab: {
      files: {
        "/home/me/.config/emergency-credentials-receive/config.yaml": JSON.stringify({
          passbolt_key: alice.privateKey,
        }),
      },
      env: { KHARON_PASSBOLT_PASSPHRASE: passphrase },
    },
    asks: [],
  },
  {
    name: "a file on the command line",
    lab: { typed: ["/alice.asc", passphrase] },
    asks: [/^File of your OpenPGP private key: $/, /^Passphrase/],
  },
];
for (const { name, lab, asks } of ways) {
  Deno.test(`fetchEmergencyCredentials() unlocks the key from ${name}`, async () => {
    const { outcome, asked } = await search({ buckets: { one: found }, ...lab });
    assert.ok("text" in outcome, String(outcome));
    assert.equal(asked.length, asks.length);
    for (const [at, { text, echo }] of asked.entries()) {
      assert.match(text, asks[at] ?? /$^/);
      assert.equal(echo, !text.startsWith("Passphrase"));
    }
  });
}

Deno.test("fetchEmergencyCredentials() warns about secrets that other users can read, and continues", async () => {
  const { outcome, said } = await search({
    buckets: { one: found },
    config: "  privateKeyFile: /alice.asc\n  passphraseFile: /pass\n",
    modes: { "/pass": 0o640 },
  });
  assert.ok("text" in outcome, String(outcome));
  assert.deepEqual(said, ['other users may read "/pass": chmod 600 "/pass"']);
});

Deno.test("fetchEmergencyCredentials() asks for no passphrase if there is nothing to decrypt", async () => {
  const { outcome, asked } = await search({ buckets: { one: missing }, typed: ["/alice.asc", passphrase] });
  assert.ok(outcome instanceof PosternError);
  assert.deepEqual(asked, []);
});

const failures: readonly {
  readonly name: string;
  readonly lab: Lab;
  readonly code: ErrorCode;
  readonly says: RegExp;
}[] = [
  {
    name: "no section",
    lab: { buckets: {}, files: { "/config/config.yaml": "default: direct\n" } },
    code: "config",
    says: /no bucket is configured$/,
  },
  {
    name: "nothing in any bucket",
    lab: { buckets: { one: missing, two: missing } },
    code: "name_not_found",
    says: /they are not in "one" at .*, "two" at /,
  },
  {
    name: "one bucket that refuses and one without credentials",
    lab: { buckets: { one: missing, two: denied } },
    code: "auth",
    says: /2 places searched\n.*"two" .* denies access .*\nnothing in "one" at /,
  },
  {
    name: "one bucket that refuses",
    lab: { buckets: { two: denied } },
    code: "auth",
    says: /^Cannot read the bucket "two"/,
  },
  {
    name: "an access key of two words",
    lab: { buckets: { one: found }, files: { "/access": "KEY and more" } },
    code: "config",
    says: /^Cannot use "\/access": it is not a single word$/,
  },
  {
    name: "a missing access key",
    lab: { buckets: { one: found }, config: "", files: { "/secret": "" } },
    code: "config",
    says: /^Cannot use "\/secret": it is empty$/,
  },
  {
    name: "three wrong passphrases",
    lab: {
      buckets: { one: found },
      env: { KHARON_PASSBOLT_KEY: alice.privateKey },
      typed: ["a", "b", "c", passphrase],
    },
    code: "auth",
    says: /no passphrase is given$/,
  },
];
for (const { name, lab, code, says } of failures) {
  Deno.test(`fetchEmergencyCredentials() throws ${code} for ${name}`, async () => {
    const { outcome } = await search(lab);
    assert.ok(outcome instanceof PosternError);
    assert.equal(outcome.code, code, outcome.message);
    assert.match(outcome.message, says);
    for (const secret of [passphrase, "SECRET-KEY", "ACCESS-KEY"]) {
      assert.ok(!`${outcome.message}${outcome.hint}`.includes(secret));
    }
  });
}

Deno.test("readConfig() names the place of problems in emergency", async () => {
  const text = `emergency:
  buckets:
    - { endpoint: "ftp://s3.example.net", bucket: b-1, accessKeyFile: a, secretKeyFile: s }
    - { endpoint: "https://s3.example.net", bucket: "", accessKeyFile: a, secretKeyFile: s }
`;
  const { errors } = await readConfig(new MemoryWorld(), { text });
  assert.deepEqual(errors.map((line) => line.replace(/^.*?:(\d+:\d+): (\S+) .*$/s, "$1 $2")), [
    "3:19 emergency.buckets[0].endpoint:",
    "4:53 emergency.buckets[1].bucket:",
  ]);
});

Deno.test("showConfig() hides the passwords in emergency", async () => {
  const text = `emergency:
  passbolt: { url: "https://me:PASSWORD@pass.example.net", passphrase: SECRET }
`;
  const world = new MemoryWorld();
  const shown = await showConfig(world, { text: text.replace(", passphrase: SECRET", "") });
  assert.deepEqual(shown, { emergency: { passbolt: { url: "https://me:***@pass.example.net" } } });
});
