import assert from "node:assert/strict";
import { injectProxy, type ProxyStatus } from "../../../src/egress/mod.ts";

const status: ProxyStatus = { httpProxy: "http://p:1", httpsProxy: "http://s:2", noProxy: ".svc,a.test" };
const none: ProxyStatus = { httpProxy: "", httpsProxy: "", noProxy: "" };
const variables = [
  { name: "HTTP_PROXY", value: "http://p:1" },
  { name: "HTTPS_PROXY", value: "http://s:2" },
  { name: "NO_PROXY", value: ".svc,a.test" },
];

interface Container {
  readonly name: string;
  readonly image?: string;
  readonly env?: readonly unknown[];
}

function workload(
  asks: string | undefined,
  containers: readonly Container[],
  initContainers?: readonly Container[],
) {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name: "w",
      ...(asks !== undefined && { annotations: { "config.openshift.io/inject-proxy": asks } }),
    },
    spec: {
      replicas: 2,
      template: {
        metadata: { labels: { app: "w" } },
        spec: { containers, ...(initContainers && { initContainers }), hostNetwork: false },
      },
    },
  };
}

/** The variables of each container by name. */
function envs(object: unknown): Record<string, unknown> {
  const { spec } = (object as ReturnType<typeof workload>).spec.template;
  const all = [...spec.containers, ...(spec.initContainers ?? [])];
  return Object.fromEntries(all.map(({ name, env }, index) => [`${index}-${name}`, env ?? []]));
}

Deno.test("injectProxy() sets variables only in the named container", () => {
  const before = workload("foo", [{ name: "foo", image: "i" }, { name: "bar" }]);
  const { object, isChanged } = injectProxy(before, status);
  assert.ok(isChanged);
  assert.deepEqual(envs(object), { "0-foo": variables, "1-bar": [] });
  assert.deepEqual(envs(before), { "0-foo": [], "1-bar": [] }, "the input stays unchanged");
});

Deno.test("injectProxy() also sets them in an init container with that name", () => {
  const { object } = injectProxy(
    workload("foo", [{ name: "foo" }], [{ name: "foo" }, { name: "x" }]),
    status,
  );
  assert.deepEqual(envs(object), { "0-foo": variables, "1-foo": variables, "2-x": [] });
});

Deno.test("injectProxy() trims the names", () => {
  const { object, problems } = injectProxy(workload("foo, bar", [{ name: "foo" }, { name: "bar" }]), status);
  assert.deepEqual(problems, []);
  assert.deepEqual(envs(object), { "0-foo": variables, "1-bar": variables });
});

Deno.test("injectProxy() rejects an unknown container while there is a proxy, and changes nothing", () => {
  const before = workload("foo,nowhere", [{ name: "foo" }]);
  const { object, isChanged, problems } = injectProxy(before, status);
  assert.equal(object, before);
  assert.equal(isChanged, false);
  assert.match(problems.join(), /names "nowhere", but the pod has no such container/);
});

Deno.test("injectProxy() warns about an unknown container while there is no proxy", () => {
  const { isChanged, problems, warnings } = injectProxy(workload("nowhere", [{ name: "foo" }]), none);
  assert.equal(isChanged, false);
  assert.deepEqual(problems, []);
  assert.equal(warnings.length, 1);
});

Deno.test("injectProxy() replaces an existing variable once, at its position", () => {
  const env = [
    { name: "A", value: "$(HTTP_PROXY)" },
    { name: "HTTP_PROXY", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
    { name: "http_proxy", value: "left alone" },
    { name: "HTTP_PROXY", value: "http://old" },
  ];
  const { object } = injectProxy(workload("foo", [{ name: "foo", env }]), status);
  assert.deepEqual(envs(object)["0-foo"], [env[0], variables[0], env[2], variables[1], variables[2]]);
});

Deno.test("injectProxy() omits an empty variable", () => {
  const { object } = injectProxy(workload("foo", [{ name: "foo" }]), { ...status, httpProxy: "" });
  assert.deepEqual(envs(object)["0-foo"], variables.slice(1));
});

Deno.test("injectProxy() changes nothing the second time", () => {
  const first = injectProxy(workload("foo", [{ name: "foo" }]), status);
  const second = injectProxy(first.object, status);
  assert.equal(second.object, first.object);
  assert.equal(second.isChanged, false);
});

Deno.test("injectProxy() removes only its own variables", () => {
  const own = { name: "HTTP_PROXY", value: "their own" };
  const before = workload("foo", [{ name: "foo" }, { name: "bar", env: [own] }]);
  const { object: injected } = injectProxy(before, status);
  const { object } = injectProxy(injected, none);
  assert.deepEqual(envs(object), { "0-foo": [], "1-bar": [own] });
  assert.deepEqual(object, before);
});

Deno.test("injectProxy() removes variables from a container that is no longer named", () => {
  const { object: injected } = injectProxy(workload("foo,bar", [{ name: "foo" }, { name: "bar" }]), status);
  const mapping = injected as ReturnType<typeof workload>;
  const annotations = { ...mapping.metadata.annotations, "config.openshift.io/inject-proxy": "bar" };
  const { object } = injectProxy({ ...mapping, metadata: { ...mapping.metadata, annotations } }, status);
  assert.deepEqual(envs(object), { "0-foo": [], "1-bar": variables });
});

Deno.test("injectProxy() escapes dollars so that Kubernetes does not expand a password", () => {
  const { object } = injectProxy(workload("foo", [{ name: "foo" }]), {
    ...status,
    httpProxy: "http://u:$(A)$$b$c@p",
  });
  const [first] = envs(object)["0-foo"] as { value: string }[];
  assert.equal(first?.value, "http://u:$$(A)$$$$b$$c@p");
});

for (
  const value of [
    undefined,
    null,
    1,
    "x",
    [],
    {},
    { metadata: 1, spec: 2 },
    workload(undefined, [{ name: "foo" }]),
  ]
) {
  Deno.test(`injectProxy() leaves ${JSON.stringify(value)?.slice(0, 40)} alone`, () => {
    assert.deepEqual(injectProxy(value, status), {
      object: value,
      isChanged: false,
      problems: [],
      warnings: [],
    });
  });
}
