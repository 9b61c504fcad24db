import assert from "node:assert/strict";
import { reviewToken } from "../../../../src/kube/api/token_review.ts";
import { kubeWorld } from "../../../support/kube_world.ts";

const { signal } = new AbortController();
const question = { token: "its-token", audience: "konnectivity" };
const known = { authenticated: true, user: { username: "system:serviceaccount:a:b" } };

Deno.test("reviewToken() asks whose token it is, and for whom", async () => {
  const status = { ...known, audiences: ["konnectivity"] };
  await using world = await kubeWorld({ answer: () => ({ status: 201, body: { status } }) });
  assert.equal(await reviewToken(world.client, question, { signal }), "system:serviceaccount:a:b");
  assert.deepEqual(world.api.asked, ["POST /apis/authentication.k8s.io/v1/tokenreviews"]);
  assert.deepEqual(world.api.requests[0]?.body, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token: "its-token", audiences: ["konnectivity"] },
  });
});

const refusals = [
  { name: "a token that nobody knows", status: { error: "no" }, says: /the API server rejects it/ },
  { name: "an answer without a word", status: undefined, says: /the API server rejects it/ },
  {
    name: "a token for others",
    status: { ...known, audiences: ["api"] },
    says: /its audience is not "konnectivity"/,
  },
  { name: "an answer that leaves open for whom", status: known, says: /its audience is not "konnectivity"/ },
];
for (const { name, status, says } of refusals) {
  Deno.test(`reviewToken() refuses ${name}, and does not repeat it`, async () => {
    await using world = await kubeWorld({ answer: () => ({ status: 201, body: { status } }) });
    const error = await reviewToken(world.client, question, { signal }).catch((error) => error);
    assert.equal(error.code, "auth");
    assert.match(error.message, says);
    assert.doesNotMatch(error.message, /its-token/);
  });
}
