import assert from "node:assert/strict";
import { PosternError } from "../../../../src/core/mod.ts";
import { ForwardForms } from "../../../../src/transports/kubernetes/forward_forms.ts";
import { Fields } from "../../../../src/wire/mod.ts";

const { signal } = new AbortController();
const target = { namespace: "shop", pod: "web-1", port: 80 };

/** Forms of an API server that closes so many requests without an answer, and says of the others that the pod is gone. */
function closing(count: number): { forms: ForwardForms; asked: () => number } {
  let asked = 0;
  const upgrade = () => {
    if (asked++ < count) {
      return Promise.reject(new PosternError("unreachable", "it closed", { detail: "reset" }));
    }
    const text = '{"kind":"Status","message":"pods \\"web-1\\" not found"}';
    return Promise.resolve({ status: 404, fields: new Fields([]), text });
  };
  return {
    forms: new ForwardForms({ name: "lab", upgrade }, { onRefused: () => {} }),
    asked: () => asked,
  };
}

Deno.test("ForwardForms asks a server that closes without an answer once more, and hears what became of the pod", async () => {
  const { forms, asked } = closing(1);
  await assert.rejects(forms.open(target, { signal }), { detail: "vanished" });
  assert.equal(asked(), 2);
});

Deno.test("ForwardForms gives a server up that closes twice", async () => {
  const { forms, asked } = closing(2);
  await assert.rejects(forms.open(target, { signal }), { message: "it closed" });
  assert.equal(asked(), 2);
});
