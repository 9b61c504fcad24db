import type { FakeAnswer, FakeRequest } from "./fake_kube_api.ts";
import { FakeWatch } from "./fake_kube_api.ts";

/** Returns a Service like an API server, with the fields that postern reads. */
export function service(
  name: string,
  version: number,
  more: Readonly<Record<string, unknown>> = {},
): unknown {
  return {
    metadata: { namespace: "shop", name, resourceVersion: String(version) },
    spec: {
      type: "ClusterIP",
      clusterIP: `10.96.0.${version}`,
      clusterIPs: [`10.96.0.${version}`],
      selector: { app: name },
      ports: [{ port: 80, targetPort: "http", protocol: "TCP" }],
      ...more,
    },
  };
}

export const event = (type: string, object: unknown): unknown => ({ type, object });

/** Returns a bookmark; `isEnd` marks the end of a WatchList's initial events. */
export function bookmark(version: number, isEnd = false): unknown {
  const annotations = isEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
  return { type: "BOOKMARK", object: { metadata: { resourceVersion: String(version), ...annotations } } };
}

/** Returns a watch that begins with these Services. */
export function listed(version: number, ...objects: readonly unknown[]): FakeWatch {
  return new FakeWatch(...objects.map((object) => event("ADDED", object)), bookmark(version, true));
}

/** Answers requests for EndpointSlices with an empty list and forwards requests for Services. */
export function onlyServices(
  answer: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>,
): (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer> {
  return (request) => request.path.endsWith("/endpointslices") ? listed(1) : answer(request);
}
