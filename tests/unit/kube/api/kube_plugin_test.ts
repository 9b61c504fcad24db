import assert from "node:assert/strict";
import { pause } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import type { RunOptions, RunResult } from "../../../../src/world/mod.ts";
import { settle } from "../../../support/fake_clock.ts";
import { type FakeAnswer, type FakeRequest } from "../../../support/fake_kube_api.ts";
import { kubeWorld } from "../../../support/kube_world.ts";

const { signal } = new AbortController();
const v1 = "client.authentication.k8s.io/v1";
const plugin = {
  apiVersion: v1,
  command: "kubelogin",
  args: ["get-token"],
  env: [{ name: "REALM", value: "lab" }],
  interactiveMode: "IfAvailable",
};

/** The output of a plugin. */
const printed = (status: unknown, { apiVersion = v1, kind = "ExecCredential" } = {}): RunResult => ({
  code: 0,
  stdout: JSON.stringify({ apiVersion, kind, status }),
  stderr: "",
});

const ok: FakeAnswer = { status: 200, body: {} };
const shown = ({ fields }: FakeRequest) => fields.get("authorization");

function worldOf(
  run: (options: RunOptions) => Promise<RunResult>,
  { exec = plugin, answer = () => ok, ...more }: {
    exec?: Readonly<Record<string, unknown>>;
    cluster?: Readonly<Record<string, unknown>>;
    files?: Readonly<Record<string, string>>;
    answer?: (request: FakeRequest) => FakeAnswer;
  } = {},
) {
  return kubeWorld({ answer, user: { exec }, run, ...more });
}

Deno.test("a credential plugin runs once for all requests, and its token is kept until it expires", async () => {
  let times = 0;
  await using world = await worldOf(() => {
    const expirationTimestamp = new Date(world.clock.date().getTime() + 60_000).toISOString();
    return Promise.resolve(printed({ token: `token-${++times}`, expirationTimestamp }));
  });
  const ask = () => world.client.json({ path: "/" }, { signal });
  await Promise.all([ask(), ask(), ask()]);
  assert.equal(times, 1);
  assert.equal(world.api.requests.map(shown).join(" "), "Bearer token-1 Bearer token-1 Bearer token-1");
  await world.clock.advance(54_000);
  await ask();
  assert.equal(times, 1);
  await world.clock.advance(1_000);
  await ask();
  assert.equal(shown(world.api.requests.at(-1) ?? assert.fail()), "Bearer token-2");
  const { command, options } = world.runs[0] ?? assert.fail();
  assert.deepEqual(command, ["kubelogin", "get-token"]);
  assert.equal(options.env?.["REALM"], "lab");
  assert.deepEqual(JSON.parse(options.env?.["KUBERNETES_EXEC_INFO"] ?? ""), {
    apiVersion: v1,
    kind: "ExecCredential",
    spec: { interactive: false },
  });
});

Deno.test("a credential plugin gets the cluster if it requests it", async () => {
  await using world = await worldOf(() => Promise.resolve(printed({ token: "t" })), {
    exec: { ...plugin, provideClusterInfo: true },
  });
  await world.client.json({ path: "/" }, { signal });
  const info = JSON.parse(world.runs[0]?.options.env?.["KUBERNETES_EXEC_INFO"] ?? "");
  assert.deepEqual(info.spec, { cluster: { server: "http://kube.localhost" }, interactive: false });
});

Deno.test("a credential plugin gets an authority whose file has comments in any script", async () => {
  const pem = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
  await using world = await worldOf(() => Promise.resolve(printed({ token: "t" })), {
    exec: { ...plugin, provideClusterInfo: true },
    cluster: { "certificate-authority": "/pki/ca.crt" },
    files: { "/pki/ca.crt": `# NetLock Arany (Class Gold) Főtanúsítvány\n${pem}` },
  });
  await world.client.json({ path: "/" }, { signal });
  const { spec } = JSON.parse(world.runs[0]?.options.env?.["KUBERNETES_EXEC_INFO"] ?? "");
  assert.ok(atob(spec.cluster["certificate-authority-data"]).endsWith(pem));
});

Deno.test("a credential plugin runs again once when the server rejects previously accepted credentials", async () => {
  let times = 0;
  let accepted = "Bearer token-1";
  await using world = await worldOf(() => Promise.resolve(printed({ token: `token-${++times}` })), {
    answer: (request) => shown(request) === accepted ? ok : { status: 401 },
  });
  const ask = () => world.client.json({ path: "/" }, { signal });
  await ask();
  accepted = "Bearer token-2";
  await Promise.all([ask(), ask(), ask(), ask()]);
  assert.equal(times, 2);
});

Deno.test("a hanging credential plugin ends after a minute, and callers can abort before", async () => {
  const ended: unknown[] = [];
  await using world = await worldOf(async ({ signal }) => {
    await pause(world.clock, 1e9, { signal }).catch((reason) => {
      ended.push(reason);
      throw reason;
    });
    return assert.fail("the request continued");
  });
  const asked = assert.rejects(world.client.json({ path: "/" }, { signal }), (error: PosternError) => {
    assert.equal(error.code, "timeout");
    assert.match(error.message, /the credential plugin "kubelogin" is still running after 20 s$/);
    assert.equal(world.client.status().signingInWith, "kubelogin");
    return true;
  });
  await world.clock.advance(20_000);
  await asked;
  assert.equal(ended.length, 0);
  const later = assert.rejects(
    world.client.json({ path: "/", timeout: 50_000 }, { signal }),
    /Cannot sign in with the credential plugin "kubelogin": no answer within 60 s/,
  );
  await world.clock.advance(40_000);
  await later;
  assert.equal(world.runs.length, 1);
  assert.equal(ended.length, 1);
});

Deno.test("disposing a cluster stops its credential plugin", async () => {
  let isEnded = false;
  const world = await worldOf(({ signal }) => {
    signal.addEventListener("abort", () => isEnded = true);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  const asked = assert.rejects(world.client.json({ path: "/" }, { signal }));
  await settle();
  await world[Symbol.asyncDispose]();
  await asked;
  assert.equal(isEnded, true);
});

const failures: readonly {
  name: string;
  run?: RunResult;
  exec?: Readonly<Record<string, unknown>>;
  message: RegExp;
}[] = [
  {
    name: "fails, with its last line of output",
    run: { code: 3, stdout: "", stderr: "warning\nno session: \u001b[31mlog in\n" },
    message: /it exited with status 3: no session: \?\[31mlog in$/,
  },
  {
    name: "prints nothing",
    run: { code: 0, stdout: "", stderr: "" },
    message: /output is not an ExecCredential$/,
  },
  {
    name: "prints something else",
    run: printed({ token: "t" }, { kind: "Pod" }),
    message: /not an ExecCredential$/,
  },
  {
    name: "prints another version",
    run: printed({ token: "t" }, { apiVersion: "client.authentication.k8s.io/v1beta1" }),
    message: /a different apiVersion than the kubeconfig/,
  },
  { name: "prints no credentials", run: printed({}), message: /neither a token nor a certificate$/ },
  {
    name: "prints half a certificate",
    run: printed({ clientCertificateData: "x" }),
    message: /only one of certificate and key$/,
  },
  {
    name: "prints a token of two lines",
    run: printed({ token: "a\nb" }),
    message: /its token is not a single word$/,
  },
  {
    name: "prints an invalid expiry",
    run: printed({ token: "a", expirationTimestamp: "soon" }),
    message: /expirationTimestamp is not a valid time$/,
  },
  {
    name: "requires a terminal",
    exec: { ...plugin, interactiveMode: "Always" },
    message: /it requires a terminal$/,
  },
];
for (const { name, run = printed({ token: "t" }), exec = plugin, message } of failures) {
  Deno.test(`a credential plugin that ${name} causes an exact error`, async () => {
    await using world = await worldOf(() => Promise.resolve(run), { exec });
    await assert.rejects(world.client.json({ path: "/" }, { signal }), (error: PosternError) => {
      assert.equal(error.code, "auth");
      assert.match(error.message, message);
      return true;
    });
    assert.equal(world.api.requests.length, 0);
  });
}

Deno.test("a missing credential plugin shows the kubeconfig's install hint", async () => {
  const missing = new PosternError("config", 'Cannot run "kubelogin": no such program', {
    detail: "no_program",
  });
  await using world = await worldOf(() => Promise.reject(missing), {
    exec: { ...plugin, installHint: "get it from the shop" },
  });
  await assert.rejects(world.client.json({ path: "/" }, { signal }), (error: PosternError) => {
    assert.equal(error.code, "config");
    assert.match(error.message, /no such program; the kubeconfig uses it to sign in/);
    assert.equal(error.hint, "get it from the shop");
    return true;
  });
});

Deno.test("a forbidden credential plugin shows how to allow it, not how to install it", async () => {
  const refusal = new PosternError("not_allowed", 'Cannot run "kubelogin": refused', { hint: "restart" });
  await using world = await kubeWorld({
    answer: () => ok,
    user: { exec: { ...plugin, installHint: "get it from the shop" } },
    run: () => Promise.reject(refusal),
  });
  await assert.rejects(world.client.json({ path: "/" }, { signal }), {
    code: "not_allowed",
    message: 'Cannot run "kubelogin": refused; the kubeconfig uses it to sign in',
    hint: "restart",
  });
});
