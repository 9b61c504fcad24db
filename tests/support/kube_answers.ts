import type { FakeAnswer, FakeRequest } from "./fake_kube_api.ts";
import { FakeWatch } from "./fake_kube_api.ts";

/** A Service as an API server writes it, as far as anybody reads it. */
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

/** The bookmark that ends the first events of a WatchList, or any other. */
export function bookmark(version: number, isEnd = false): unknown {
  const annotations = isEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
  return { type: "BOOKMARK", object: { metadata: { resourceVersion: String(version), ...annotations } } };
}

/** A watch that begins with these Services. */
export function listed(version: number, ...objects: readonly unknown[]): FakeWatch {
  return new FakeWatch(...objects.map((object) => event("ADDED", object)), bookmark(version, true));
}

/** Answers for EndpointSlices with none, and hands on what is asked about Services. */
export function onlyServices(
  answer: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>,
): (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer> {
  return (request) => request.path.endsWith("/endpointslices") ? listed(1) : answer(request);
}
