import assert from "node:assert/strict";
import { HttpClient } from "../../../src/http/mod.ts";
import { readKubeConfig } from "../../../src/kube/api/kube_config.ts";
import { KubeLines } from "../../../src/kube/api/kube_lines.ts";
import { metaOf, podRecord, serviceRecord, sliceRecord } from "../../../src/kube/api/kube_records.ts";
import { refusalError } from "../../../src/kube/api/kube_refusal.ts";
import { describeWarning } from "../../../src/clusters/mod.ts";
import { discoverLieutenant, fetchCatalogue, routesOf } from "../../../src/catalogue/mod.ts";
import { WatchState } from "../../../src/kube/api/watch_state.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { catalogueRules, Router } from "../../../src/routing/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryFiles } from "../../support/memory_files.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { WebServer } from "../../support/web_server.ts";
import { type Bytes, type FuzzTarget, inPieces, refusedOr, textOf } from "../fuzz_target.ts";

const json = [
  '{"',
  '":',
  '",',
  '"}',
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  '"',
  "null",
  "true",
  "0",
  "1e9",
  "\\u0000",
];

/** Readers of API responses and kubeconfigs. */
export const clusterTargets: readonly FuzzTarget[] = [
  {
    name: "lieutenant",
    words: [
      ...json,
      ...['"id":"c-a"', '"tenant":"t-a"', '"facts":{', '"dynamicFacts":{', '"jumphost":"j"', '"oidc":{'],
      ...['"jumphostDomains":"a.b,c.d"', '"openshiftBaseDomain":"x.y"', '"apiVersion":"v0.12.2"'],
      ...['"openshiftApiURL":"https://api.x.y"', '"clientId":"c","discoveryUrl":"https://a"'],
    ],
    laws: lieutenantLaws,
  },
  {
    name: "kubernetes",
    words: [
      ...[...json, "\n", '{"type":"ADDED","object":', '{"type":"BOOKMARK","object":', '"type":"ERROR"'],
      ...['"metadata":{"name":"a","namespace":"b","resourceVersion":"5"}', '"code":410', '"kind":"Service"'],
      ...['"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}', '"endpoints":[', '"items":['],
      ...['"addresses":["10.0.0.1"]', '"podIPs":[{"ip":"10.0.0.1"}]', '"continue":"x"'],
    ],
    laws: kubernetesLaws,
  },
  {
    name: "kubeconfig",
    words: [
      ...[...json, "apiVersion: v1\n", "clusters:\n", "contexts:\n", "users:\n", "- name: a\n", "  - "],
      ...["  cluster:\n", "    server: https://a\n", "  user:\n", "    exec:\n", "    token: t\n", "&a "],
      ...["current-context: a\n", "proxy-url: socks5://a\n", "*a", "<<: *a\n"],
      ...["certificate-authority-data: AAAA\n", "\n"],
    ],
    laws: async (input) => {
      try {
        const read = await readKubeConfig(new MemoryFiles({ "/c": textOf(input) }), ["/c"]);
        for (const name of read.contextNames) read.context(name);
      } catch (error) {
        assert.ok(error instanceof PosternError && error.code === "config", String(error));
      }
    },
  },
];

/** A Lieutenant with a fixed response. */
class Api {
  readonly clock = new FakeClock();
  readonly network = new MemoryNetwork();
  readonly client = new HttpClient(this);
  readonly server: WebServer;
  answer = "";

  constructor() {
    const listening = this.network.listen({ host: "127.0.0.1", port: 8080 });
    this.server = new WebServer(listening, () => ({ body: this.answer }));
  }
}

let api: Api | undefined;

async function lieutenantLaws(input: Bytes): Promise<void> {
  api ??= new Api();
  api.answer = textOf(input);
  api.server.requests.length = 0;
  api.network.conns.length = 0;
  const { signal } = new AbortController();
  const lieutenant = new URL("http://127.0.0.1:8080/");
  const secret = "ey.SECRET.x";
  const failing = (error: unknown) => {
    assert.ok(error instanceof PosternError, String(error));
    assert.ok(!error.message.includes(secret) && error.message.length < 2000);
    return undefined;
  };
  await discoverLieutenant(lieutenant, api, { signal }).catch(failing);
  const fetched = await fetchCatalogue({ name: "main", lieutenant, token: secret }, api, { signal })
    .catch(failing);
  if (!fetched) return;
  const { catalogue, warnings } = fetched;
  const { routes, warnings: odd } = routesOf(catalogue);
  for (const warning of [...warnings, ...odd]) {
    // deno-lint-ignore no-control-regex -- output must not control a terminal
    assert.doesNotMatch(describeWarning(warning), /[\x00-\x1f\x7f-\x9f\u202e]/);
  }
  for (const { jumphost } of routes) assert.match(jumphost ?? "x", /^[^-\s'"`$();&|<>][^\s'"`$();&|<>]*$/);
  new Router({ rules: catalogueRules(routes, { exclusions: "own", transportOf: () => "way" }) });
}

function kubernetesLaws(input: Bytes): void {
  const whole = refusedOr(() => new KubeLines({ limit: 2000 }).push(input));
  const lines = new KubeLines({ limit: 2000 });
  const pieces = refusedOr(() => inPieces(input).flatMap((piece) => lines.push(piece)));
  if (whole && pieces) assert.deepEqual(pieces, whole);
  const held = new Map<string, string>();
  const state = new WatchState({
    put: (object, meta) => {
      held.set(`${meta.namespace}/${meta.name}`, meta.resourceVersion);
      serviceRecord(object, meta);
      sliceRecord(object);
      podRecord(object);
    },
    remove: ({ namespace, name }) => held.delete(`${namespace}/${name}`),
  });
  state.beginList();
  refusedOr(() => state.page({ metadata: { resourceVersion: "1" }, items: [] }));
  for (const value of whole ?? []) {
    metaOf(value);
    refusedOr(() => state.event(value));
  }
  assert.equal(state.objects, held.size);
  for (const value of whole ?? []) {
    state.beginList();
    refusedOr(() => state.page(value));
  }
  const error = refusalError({ status: 403, text: textOf(input), what: "read", cluster: "lab" });
  assert.ok(error instanceof PosternError && error.message.length < 5000);
}
