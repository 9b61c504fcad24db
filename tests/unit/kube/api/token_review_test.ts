import assert from "node:assert/strict";
import { reviewToken } from "../../../../src/kube/api/token_review.ts";
import { kubeWorld } from "../../../support/kube_world.ts";

const { signal } = new AbortController();
const question = { token: "its-token", audience: "konnectivity" };
const known = { authenticated: true, user: { username: "system:serviceaccount:a:b" } };

Deno.test("reviewToken() requests the user of a token for an audience", async () => {
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
  { name: "an unknown token", status: { error: "no" }, says: /the API server rejects it/ },
  { name: "an empty response", status: undefined, says: /the API server rejects it/ },
  {
    name: "a token for another audience",
    status: { ...known, audiences: ["api"] },
    says: /its audience is not "konnectivity"/,
  },
  { name: "a response without an audience", status: known, says: /its audience is not "konnectivity"/ },
];
for (const { name, status, says } of refusals) {
  Deno.test(`reviewToken() refuses ${name} without showing the token`, async () => {
    await using world = await kubeWorld({ answer: () => ({ status: 201, body: { status } }) });
    const error = await reviewToken(world.client, question, { signal }).catch((error) => error);
    assert.equal(error.code, "auth");
    assert.match(error.message, says);
    assert.doesNotMatch(error.message, /its-token/);
  });
}
