import assert from "node:assert/strict";
import { signIn } from "../../../src/signin/mod.ts";
import { exitCode, isPosternError, PosternError } from "../../../src/words/mod.ts";
import { passTime, SignInWorld } from "../../support/sign_in_world.ts";
import { jsonAnswer } from "../../support/web_server.ts";

const { signal } = new AbortController();
const pending = jsonAnswer({ error: "authorization_pending" }, 400);
const slowDown = jsonAnswer({ error: "slow_down" }, 400);

/**
 * The time before each request, in whole steps of five seconds; hashing and signing take additional real
 * time.
 */
function waits({ server: { tokenTimes } }: SignInWorld): number[] {
  return tokenTimes.map((time, index) => Math.floor((time - (tokenTimes[index - 1] ?? 0)) / 5000) * 5);
}

async function signInWithCode(signing: SignInWorld, options: { asksAnyway?: boolean } = {}) {
  const { clock } = signing.memory;
  const asked = signIn({ ...signing.options, method: "device", ...options }, signing.parts, { signal });
  await passTime(clock, asked);
  return await asked;
}

Deno.test("signIn() by device shows a code and polls until the user has signed in", async () => {
  await using signing = new SignInWorld();
  signing.server.lies.deviceAnswers = [pending, pending];
  const signedIn = await signInWithCode(signing);
  assert.deepEqual([signedIn.from, signedIn.name], ["person", "alice@example.com"]);
  assert.equal(
    signing.said,
    `postern: sign in on any device: open ${signing.server.issuer}/activate and type WDJB-MJHT\n`,
  );
  assert.deepEqual(waits(signing), [5, 5, 5]);
  assert.deepEqual(signing.opened, []);
  assert.doesNotMatch(signing.shown, /-secret/);
  assert.equal((await signIn(signing.options, signing.parts, { signal })).from, "cache");
});

Deno.test("signIn() by device polls less often when the provider requires it", async () => {
  await using signing = new SignInWorld();
  signing.server.lies.deviceAnswers = [slowDown, pending];
  await signInWithCode(signing);
  assert.deepEqual(waits(signing), [5, 10, 10]);
});

Deno.test("signIn() by device shows the URL with the code", async () => {
  await using signing = new SignInWorld();
  const { issuer } = signing.server;
  signing.server.lies.deviceAnswer = {
    device_code: "device-secret",
    user_code: "AB CD".replace(" ", "-"),
    verification_uri: `${issuer}/activate`,
    verification_uri_complete: `${issuer}/activate?code=AB-CD`,
    expires_in: 60,
  };
  await signInWithCode(signing);
  assert.match(signing.said, /type AB-CD\nor open this address: http:\/\/.*\/activate\?code=AB-CD\n$/);
});

const ends = [
  {
    name: "is refused",
    answer: jsonAnswer({ error: "access_denied" }, 400),
    code: "auth",
    says: /: access_denied$/,
  },
  {
    name: "has an expired code",
    answer: jsonAnswer({ error: "expired_token" }, 400),
    code: "auth",
    says: /expired_token/,
  },
  {
    name: "gets an invalid response",
    answer: { body: "<html>device-secret" },
    code: "protocol",
    says: /not OpenID Connect/,
  },
] as const;
for (const { name, answer, code, says } of ends) {
  Deno.test(`signIn() by device ends when it ${name}`, async () => {
    await using signing = new SignInWorld();
    signing.server.lies.deviceAnswers = [pending, answer];
    await assert.rejects(signInWithCode(signing), (error) => {
      assert.ok(isPosternError(error, code), String(error));
      assert.match(error.message, says);
      return true;
    });
    assert.equal(signing.server.tokenRequests.length, 2);
    assert.doesNotMatch(signing.shown, /-secret/);
  });
}

Deno.test("signIn() by device stops polling when the code has expired", async () => {
  await using signing = new SignInWorld();
  signing.server.lies.deviceAnswers = Array.from({ length: 100 }, () => pending);
  await assert.rejects(signInWithCode(signing), (error) => {
    assert.ok(isPosternError(error, "timeout"));
    assert.equal(exitCode(error), 5);
    return true;
  });
  assert.ok(signing.server.tokenRequests.length <= 12);
  assert.equal(signing.memory.clock.waiting, 0);
});

Deno.test("signIn() by device continues after a network failure", async () => {
  await using signing = new SignInWorld();
  const { network } = signing.memory;
  const away = new PosternError("unreachable", "Cannot reach 127.0.0.1: no route");
  signing.server.lies.deviceAnswers = [pending];
  const asked = signIn({ ...signing.options, method: "device" }, signing.parts, { signal });
  while (signing.said === "") await new Promise((resolve) => setTimeout(resolve, 0));
  network.faults.set("127.0.0.1", away);
  await signing.memory.clock.advance(5000);
  network.faults.clear();
  await passTime(signing.memory.clock, asked);
  assert.equal((await asked).from, "person");
  // The first request was lost; the next pause is twice as long.
  assert.deepEqual(waits(signing), [15, 10]);
});

Deno.test("signIn() by device continues after a short failure of the provider", async () => {
  await using signing = new SignInWorld();
  signing.server.lies.deviceAnswers = [{ status: 503, body: "<html>" }];
  assert.equal((await signInWithCode(signing)).from, "person");
  assert.deepEqual(waits(signing), [5, 10]);
});

const codes = [
  {
    name: "a code with terminal control characters",
    answer: { user_code: "\u001b[2J" },
    says: /contains invalid characters/,
  },
  {
    name: "a page without https",
    answer: { verification_uri: "http://example.net/" },
    says: /without https/,
  },
  {
    name: "a page with a program as its URL",
    answer: { verification_uri_complete: "javascript:alert(1)" },
    says: /without https/,
  },
];
for (const { name, answer, says } of codes) {
  Deno.test(`signIn() by device does not show ${name}`, async () => {
    await using signing = new SignInWorld();
    const usual = {
      device_code: "d",
      user_code: "A",
      verification_uri: "https://example.net/",
      expires_in: 60,
    };
    signing.server.lies.deviceAnswer = { ...usual, ...answer };
    await assert.rejects(signInWithCode(signing), says);
    assert.equal(signing.said, "");
  });
}

Deno.test("signIn() by device reports a provider without device flow", async () => {
  await using signing = new SignInWorld();
  signing.server.lies.metadata = { device_authorization_endpoint: undefined };
  await assert.rejects(signInWithCode(signing), /offers no device flow/);
});

Deno.test("signIn() by device retries without offline access if the provider refuses it", async () => {
  await using signing = new SignInWorld();
  signing.server.lies.deviceAnswers = [pending, jsonAnswer({ error: "not_allowed" }, 400), pending];
  assert.equal((await signInWithCode(signing)).from, "person");
  assert.equal(signing.said.match(/type WDJB-MJHT/g)?.length, 2);
});
