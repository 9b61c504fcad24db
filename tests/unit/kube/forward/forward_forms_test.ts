import assert from "node:assert/strict";
import { PosternError } from "../../../../src/words/mod.ts";
import { neverReachedPod } from "../../../../src/kube/forward/forward_failure.ts";
import { ForwardForms } from "../../../../src/kube/forward/forward_forms.ts";
import { ForwardPool } from "../../../../src/kube/forward/forward_pool.ts";
import { Fields } from "../../../../src/wire/mod.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { ForwardStandIn, type ForwardStandInOptions, PodEnds } from "../../../support/forward_stand_in.ts";
import { readAll } from "../../../support/memory_conn.ts";

const { signal } = new AbortController();
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);
const web = { namespace: "shop", pod: "web-0", port: 80 };
const path = "/api/v1/namespaces/shop/pods/web-0/portforward";
const asked = {
  websocket: `GET ${path} SPDY/3.1+portforward.k8s.io`,
  spdy: `POST ${path} SPDY/3.1`,
  v4: `GET ${path}?ports=80 v4.channel.k8s.io`,
};

function lab(options: Partial<ForwardStandInOptions>) {
  const pod = new PodEnds();
  const api = new ForwardStandIn({ connect: pod.connect, ...options });
  const notes: string[] = [];
  const pool = new ForwardPool({
    clock: new FakeClock(),
    api,
    halfClose: "pass",
    onNote: (text) => notes.push(text),
    limits: { connections: 2 },
  });
  return {
    pod,
    api,
    pool,
    notes,
    open: (target = web) => pool.open(target, { signal }),
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      for (const connection of api.connections) {
        connection.close();
        await connection.done;
      }
    },
  };
}

const status = (code: number, message: string, reason = "") =>
  JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message, reason, code });

Deno.test("ForwardForms uses the best form that a server supports, and remembers refused ones", async () => {
  const cases = [
    { forms: ["websocket", "spdy", "v4"], taken: "websocket", first: [asked.websocket] },
    { forms: ["spdy", "v4"], taken: "spdy", first: [asked.websocket, asked.spdy] },
    { forms: ["v4"], taken: "v4", first: [asked.websocket, asked.spdy, asked.v4] },
  ] as const;
  for (const { forms, taken, first } of cases) {
    await using all = lab({ forms });
    (await all.open()).abort();
    assert.deepEqual(all.api.requests, first);
    assert.equal(all.pool.status().form, taken);
    (await all.open({ ...web, pod: "web-1" })).abort();
    assert.equal(all.api.requests.length, first.length + 1);
  }
});

Deno.test("ForwardForms notes a missing half-close once", async () => {
  await using all = lab({ forms: ["v4"] });
  (await all.open()).abort();
  (await all.open()).abort();
  assert.equal(all.notes.filter((note) => note.includes("no half-close")).length, 1);
  assert.equal(all.notes.length, 3);
});

Deno.test("A forward over v4.channel.k8s.io carries bytes both ways and ends with the pod", async () => {
  await using all = lab({ forms: ["v4"] });
  const conn = await all.open();
  assert.equal(conn.carriesHalfClose, false);
  await conn.write(bytes("question"));
  const into = new Uint8Array(20);
  assert.equal(await all.pod.last.read(into), 8);
  await conn.closeWrite();
  await all.pod.last.write(bytes("answer"));
  await all.pod.last.closeWrite();
  assert.equal(text(await readAll(conn)), "answer");
  await settle();
  assert.equal(all.pool.status().streams, 0);
});

Deno.test("A forward over v4.channel.k8s.io fails with the kubelet's reason", async () => {
  await using all = lab({
    forms: ["v4"],
    connect: () => "error forwarding port 80 to pod a, uid b: failed to connect: connection refused",
  });
  const conn = await all.open();
  await assert.rejects(conn.read(new Uint8Array(1)), { code: "refused" });
});

Deno.test("A forward over v4.channel.k8s.io makes a pod wait for a slow reader", async () => {
  await using all = lab({ forms: ["v4"] });
  const conn = await all.open();
  let written = 0;
  const flooding = (async () => {
    while (true) {
      await all.pod.last.write(new Uint8Array(64 * 1024));
      written += 64 * 1024;
    }
  })().catch(() => {});
  let before = -1;
  while (before !== written) {
    before = written;
    for (let turn = 0; turn < 50; turn++) await settle();
  }
  assert.ok(written < 4 * 1024 * 1024, `${written} bytes were taken without a reader`);
  conn.abort();
  await flooding;
});

Deno.test("Forwards with separate connections wait for each other at the limit", async () => {
  await using all = lab({ forms: ["v4"] });
  const first = await all.open();
  const second = await all.open();
  let isThird = false;
  const third = all.open().then((conn) => {
    isThird = true;
    return conn;
  });
  await settle();
  assert.equal(isThird, false);
  assert.equal(all.api.open, 2);
  first.abort();
  (await third).abort();
  second.abort();
});

Deno.test("ForwardForms falls back to POST if the right for the WebSocket is missing", async () => {
  const refuse: ForwardStandInOptions["refuse"] = ({ method }) =>
    method === "POST"
      ? undefined
      : { status: 403, text: status(403, 'cannot get resource "pods/portforward"') };
  await using all = lab({ refuse });
  (await all.open()).abort();
  assert.deepEqual(all.api.requests, [asked.websocket, asked.spdy]);
  // The user lacks a right in this namespace; the server does support the form.
  assert.equal(all.pool.status().form, "websocket");
});

const refusals = [
  {
    status: 403,
    text: status(403, 'pods "web-0" is forbidden: User "bob" cannot create resource "pods/portforward"'),
    code: "not_allowed",
    says: /of lab: pods "web-0" is forbidden: User "bob" cannot create/,
    hint: /namespace "shop" with the verbs get and create on pods\/portforward/,
    requests: 3,
  },
  { status: 401, text: status(401, "Unauthorized"), code: "auth", says: /Unauthorized/, requests: 1 },
  {
    status: 404,
    text: status(404, 'pods "web-0" not found'),
    code: "unreachable",
    again: "vanished",
    requests: 1,
  },
  { status: 404, text: "no such page", code: "unreachable", again: "vanished", requests: 3 },
  { status: 429, text: status(429, "too many requests"), code: "unreachable", requests: 1 },
  { status: 500, text: status(500, "error dialing backend"), code: "unreachable", requests: 1 },
  {
    status: 500,
    text: status(500, "unable to forward port because pod is not running"),
    code: "unreachable",
    again: "vanished",
    requests: 1,
  },
  { status: 503, text: "", code: "unreachable", says: /status 503/, requests: 1 },
  { status: 504, text: "", code: "timeout", requests: 1 },
  { status: 400, text: "what is that", code: "unreachable", says: /what is that/, requests: 3 },
];
for (const { status, text, code, says, hint, again, requests } of refusals) {
  Deno.test(`ForwardForms converts ${status} ${text.slice(0, 40)} into ${code}`, async () => {
    await using all = lab({ refuse: () => ({ status, text }) });
    await assert.rejects(all.open(), (error: PosternError) => {
      assert.equal(error.code, code);
      if (says) assert.match(error.message, says);
      if (hint) assert.match(error.hint ?? "", hint);
      assert.equal(neverReachedPod(error), again);
      return true;
    });
    assert.equal(all.api.requests.length, requests);
    assert.equal(all.pool.status().form, "websocket");
    assert.ok(all.pool.status().lastError);
  });
}

/**
 * Forms of an API server that closes a number of requests without a response, and then reports the pod as
 * gone.
 */
function closing(count: number): { forms: ForwardForms; asked: () => number } {
  let asked = 0;
  const upgrade = () => {
    if (asked++ < count) {
      return Promise.reject(new PosternError("unreachable", "it closed", { detail: "reset" }));
    }
    const text = '{"kind":"Status","message":"pods \\"web-0\\" not found"}';
    return Promise.resolve({ status: 404, fields: new Fields([]), text });
  };
  return {
    forms: new ForwardForms({ name: "lab", upgrade }, { onRefused: () => {} }),
    asked: () => asked,
  };
}

Deno.test("ForwardForms repeats a request that the server closed without a response, and gets the pod's state", async () => {
  const { forms, asked } = closing(1);
  await assert.rejects(forms.open(web, { signal }), { detail: "vanished" });
  assert.equal(asked(), 2);
});

Deno.test("ForwardForms stops after a server has closed two requests", async () => {
  const { forms, asked } = closing(2);
  await assert.rejects(forms.open(web, { signal }), { message: "it closed" });
  assert.equal(asked(), 2);
});
