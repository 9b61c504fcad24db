import type { WatchStatus } from "./cluster_view.ts";

/** What a watch is about: one kind of objects, in a namespace or (undefined) in the whole cluster. */
export interface WatchSubject {
  readonly resource: WatchStatus["resource"];
  readonly namespace: string | undefined;
}

const roots: Readonly<Record<WatchStatus["resource"], string>> = {
  services: "/api/v1",
  endpointslices: "/apis/discovery.k8s.io/v1",
};

const pageSize = 500;

/** As messages name it. */
export function subjectText({ resource, namespace }: WatchSubject): string {
  return `${resource} ${namespace === undefined ? "in all namespaces" : `in the namespace "${namespace}"`}`;
}

/** A page of the list; `next` is what the page before it gave. */
export function listPath(subject: WatchSubject, next: string | undefined): string {
  return pathOf(subject, { limit: String(pageSize), ...(next !== undefined && { continue: next }) });
}

/** A watch from a version on, or (WatchList) one that begins with all there is. */
export function watchPath(
  subject: WatchSubject,
  { seconds, from }: { readonly seconds: number; readonly from: string | undefined },
): string {
  return pathOf(subject, {
    watch: "1",
    allowWatchBookmarks: "true",
    timeoutSeconds: String(seconds),
    ...(from === undefined
      ? { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" }
      : { resourceVersion: from }),
  });
}

function pathOf({ resource, namespace }: WatchSubject, query: Readonly<Record<string, string>>): string {
  const where = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${roots[resource]}${where}/${resource}?${new URLSearchParams(query)}`;
}
