/** What a watch is about: one kind of objects, in a namespace or (undefined) in the whole cluster. */
export interface WatchSubject {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string;
  /** Its plural, as paths have it: `services`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  /** Only those with these labels: `a=b,c=d`. */
  readonly labels?: string;
  /** Only those with these fields: `metadata.name=cluster`. */
  readonly fields?: string;
  /** The most objects of one page of a list; 500 unless told. Large ones want fewer. */
  readonly page?: number;
}

const usualPage = 500;

/** As messages name it. */
export function subjectText({ resource, namespace }: WatchSubject): string {
  return `${resource} ${namespace === undefined ? "in all namespaces" : `in the namespace "${namespace}"`}`;
}

/** A page of the list; `next` is what the page before it gave. */
export function listPath(subject: WatchSubject, next: string | undefined): string {
  const { page = usualPage } = subject;
  return pathOf(subject, { limit: String(page), ...(next !== undefined && { continue: next }) });
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

/** Where a group's kinds begin: `/api/v1`, `/apis/apps/v1`. */
export function apiRoot(apiVersion: string): string {
  return apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
}

function pathOf(
  { apiVersion, resource, namespace, labels, fields }: WatchSubject,
  query: Readonly<Record<string, string>>,
): string {
  const where = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  const asked = new URLSearchParams({
    ...(labels !== undefined && { labelSelector: labels }),
    ...(fields !== undefined && { fieldSelector: fields }),
    ...query,
  });
  return `${apiRoot(apiVersion)}${where}/${resource}?${asked}`;
}
