import assert from "node:assert/strict";
import { pause } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import type { RunResult } from "../../../../src/world/mod.ts";
import type { FakeRequest } from "../../../support/fake_kube_api.ts";
import {
  kubeconfigOf,
  type KubeWorld,
  kubeWorld,
  type KubeWorldOptions,
} from "../../../support/kube_world.ts";

const { signal } = new AbortController();
const v1 = "client.authentication.k8s.io/v1";
const exec = { apiVersion: v1, command: "kubelogin", interactiveMode: "Never" };
const failed: RunResult = { code: 1, stdout: "", stderr: "the window was closed\n" };
const given = (token: string): RunResult => ({
  code: 0,
  stdout: JSON.stringify({ apiVersion: v1, kind: "ExecCredential", status: { token } }),
  stderr: "",
});
const ok = { status: 200, body: {} };
const shown = ({ fields }: FakeRequest) => fields.get("authorization");

function worldOf(options: Partial<KubeWorldOptions>): Promise<KubeWorld> {
  return kubeWorld({ answer: () => ok, user: { exec }, ...options });
}

/** The error of a request. */
async function failure({ client }: KubeWorld): Promise<PosternError> {
  const asked = client.json({ path: "/", timeout: 100_000 }, { signal });
  const error = await asked.then(() => undefined, (error) => error);
  return error instanceof PosternError ? error : assert.fail(`it did not fail as it should: ${error}`);
}

const failures: readonly {
  readonly name: string;
  readonly run: (world: () => KubeWorld) => KubeWorldOptions["run"];
  readonly answer?: KubeWorldOptions["answer"];
  readonly code: string;
  readonly message: RegExp;
  /** The time until it fails, in ms. */
  readonly after?: number;
}[] = [
  {
    name: "failed",
    run: () => () => Promise.resolve(failed),
    code: "auth",
    message:
      /^Cannot sign in with the credential plugin "kubelogin": it exited with status 1: the window was closed/,
  },
  {
    name: "printed unusable output",
    run: () => () => Promise.resolve({ code: 0, stdout: "hello", stderr: "" }),
    code: "auth",
    message: /its output is not an ExecCredential/,
  },
  {
    name: "printed endless output",
    run: () => () => Promise.reject(new PosternError("protocol", "Cannot take what the program says")),
    code: "auth",
    message: /its output exceeds 1048576 bytes/,
  },
  {
    name: "timed out",
    run: (world) => ({ signal }) => pause(world().clock, 1e9, { signal }).then(() => failed),
    code: "timeout",
    message: /no answer within 60 s/,
    after: 60_000,
  },
  {
    name: "printed rejected credentials",
    run: () => () => Promise.resolve(given("unknown")),
    answer: () => ({ status: 401 }),
    code: "auth",
    message:
      /^Cannot sign in to the cluster "lab": its API server rejects the credentials of the credential plugin "kubelogin" with 401/,
  },
];
for (const { name, run, answer, code, message, after = 0 } of failures) {
  Deno.test(`PluginSignIn does not rerun a plugin that ${name} until that is allowed`, async () => {
    const known: { world?: KubeWorld } = {};
    const plugin = run(() => known.world ?? assert.fail("no world yet"));
    await using world = await worldOf({ ...(plugin && { run: plugin }), ...(answer && { answer }) });
    known.world = world;
    const first = failure(world);
    if (after > 0) await world.clock.advance(after);
    const { code: firstCode, detail, message: said } = await first;
    assert.deepEqual([firstCode, detail, message.test(said)], [code, "sign_in", true], said);
    const sent = world.api.requests.length;
    for (let times = 0; times < 30; times++) assert.match((await failure(world)).message, /\(just now\)$/);
    await world.clock.advance(600_000);
    const later = await failure(world);
    assert.equal(later.message, `${said} (10m ago)`);
    assert.deepEqual([later.code, later.detail], [code, "sign_in"]);
    assert.equal(later.hint, "connect to this cluster again, or run: postern reload");
    assert.deepEqual([world.runs.length, world.api.requests.length], [1, sent]);
  });
}

Deno.test("PluginSignIn reruns a plugin when the user asks for the cluster, but not within 10 s", async () => {
  let result = failed;
  await using world = await worldOf({ run: () => Promise.resolve(result) });
  await failure(world);
  await world.clock.advance(9_999);
  world.client.allowSignIn();
  assert.match((await failure(world)).message, /\(9s ago\)$/);
  assert.equal(world.runs.length, 1);
  await world.clock.advance(1);
  world.client.allowSignIn();
  await failure(world);
  assert.equal(world.runs.length, 2);
  // The new failure counts for another 10 s.
  world.client.allowSignIn();
  await failure(world);
  assert.equal(world.runs.length, 2);
  result = given("good");
  world.client.allowSignIn({ atOnce: true });
  await world.client.json({ path: "/" }, { signal });
  assert.equal(world.runs.length, 3);
});

Deno.test("PluginSignIn shares one run and one failure among all waiting requests", async () => {
  const { promise, resolve } = Promise.withResolvers<RunResult>();
  await using world = await worldOf({ run: () => promise });
  const asked = Array.from({ length: 30 }, () => {
    world.client.allowSignIn();
    return failure(world);
  });
  resolve(failed);
  assert.ok((await Promise.all(asked)).every(({ detail }) => detail === "sign_in"));
  assert.equal(world.runs.length, 1);
});

Deno.test("PluginSignIn reruns a plugin when its credentials expire, until a failure", async () => {
  let result: () => RunResult = () => failed;
  await using world = await worldOf({ run: () => Promise.resolve(result()) });
  result = () => {
    const expirationTimestamp = new Date(world.clock.date().getTime() + 60_000).toISOString();
    const status = { token: "good", expirationTimestamp };
    return { ...given("good"), stdout: JSON.stringify({ apiVersion: v1, kind: "ExecCredential", status }) };
  };
  await world.client.json({ path: "/" }, { signal });
  await world.clock.advance(60_000);
  await world.client.json({ path: "/" }, { signal });
  assert.equal(world.runs.length, 2);
  result = () => failed;
  await world.clock.advance(60_000);
  for (let times = 0; times < 3; times++) await failure(world);
  assert.equal(world.runs.length, 3);
});

Deno.test("PluginSignIn forgets the failure of a former user of the kubeconfig", async () => {
  let accepted = "Bearer one";
  await using world = await worldOf({
    run: () => Promise.resolve(given("one")),
    answer: (request) => shown(request) === accepted ? ok : { status: 401 },
  });
  await world.client.json({ path: "/" }, { signal });
  accepted = "Bearer written";
  world.files.put(
    "/kube/config",
    kubeconfigOf({ server: "http://kube.localhost", user: { token: "written" } }),
  );
  await world.client.json({ path: "/" }, { signal });
  assert.equal(world.runs.length, 1);
});

for (const code of ["config", "not_allowed"] as const) {
  Deno.test(`PluginSignIn retries a program that could not be started without being asked: ${code}`, async () => {
    const missing = new PosternError(code, 'Cannot run "kubelogin": it is not there');
    let isThere = false;
    await using world = await worldOf({
      run: () => isThere ? Promise.resolve(given("good")) : Promise.reject(missing),
    });
    const { code: told, detail } = await failure(world);
    assert.deepEqual([told, detail], [code, undefined]);
    isThere = true;
    await world.client.json({ path: "/" }, { signal });
  });
}
