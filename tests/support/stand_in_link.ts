import type { KubeApi } from "../../src/kube/mod.ts";
import type { Clock } from "../../src/core/mod.ts";
import type { Dialer } from "../../src/world/mod.ts";
import { ClusterLink } from "../../src/kube/forward/cluster_link.ts";
import type { UpgradeRequest } from "../../src/kube/forward/forward_api.ts";
import { FakeClock } from "./fake_clock.ts";
import { type FakeClusterParts, FakeClusterView } from "./fake_cluster_view.ts";
import { ForwardStandIn, type PodAnswer } from "./forward_stand_in.ts";
import { recordingLog } from "./recording_log.ts";

export interface StandInLinkOptions {
  readonly parts: FakeClusterParts;
  /** The result for a pod's port: the pod's end, or the kubelet's error. */
  readonly connect: (pod: string, port: number) => PodAnswer;
  /** Whether the API server has removed a pod. */
  readonly isGone?: (pod: string) => boolean;
  readonly outside?: Dialer;
  readonly name?: string;
  readonly suffix?: string;
  /** Records the pods of forward requests. */
  readonly asked?: string[];
  /** A clock for its timers instead of the fake clock. */
  readonly realClock?: Clock;
}

export interface StandInLink extends AsyncDisposable {
  readonly link: ClusterLink;
  readonly view: FakeClusterView;
  readonly clock: FakeClock;
  readonly log: ReturnType<typeof recordingLog>;
  /** The pods of forward requests, in order. */
  readonly asked: string[];
}

/**
 * Creates a cluster's link with stand-ins in memory: the test defines the view and the ends of forwards. It
 * chooses the first of several endpoints.
 */
export function standInLink(
  { parts, connect, isGone = () => false, outside, name = "lab", suffix, asked = [], realClock }:
    StandInLinkOptions,
): StandInLink {
  const clock = new FakeClock();
  const log = recordingLog();
  const view = new FakeClusterView(parts);
  const pods = new Map<string, ForwardStandIn>();
  const standIn = (pod: string) => {
    const known = pods.get(pod) ?? new ForwardStandIn({ connect: (port) => connect(pod, port) });
    pods.set(pod, known);
    return known;
  };
  const none = () => Promise.reject(new Error("the link sends no other requests to its API server"));
  const api: KubeApi = {
    name,
    request: none,
    json: none,
    stream: none,
    upgrade: async (request: UpgradeRequest, options) => {
      const pod = /\/pods\/([^/]+)\/portforward/.exec(request.path)?.[1] ?? "";
      asked.push(pod);
      if (!isGone(pod)) return await standIn(pod).upgrade(request, options);
      const text = JSON.stringify({ kind: "Status", message: `pods "${pod}" not found` });
      const { fields } = await standIn(pod).upgrade({ ...request, fields: [] }, options);
      return { status: 404, fields, text };
    },
    askVersion: () => Promise.resolve("v1.35.4"),
    allowSignIn: () => {},
    check: () => {},
    status: () => ({ server: "192.0.2.1:6443", requests: asked.length, connections: 0 }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const link = new ClusterLink({
    clock: realClock ?? clock,
    log,
    api,
    view,
    names: { namespace: "shop", clusterDomain: "cluster.local", suffix },
    halfClose: "pass",
    outside,
    random: () => 0,
  });
  return { link, view, clock, log, asked, [Symbol.asyncDispose]: () => link[Symbol.asyncDispose]() };
}
