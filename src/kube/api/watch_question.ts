/** The objects of a watch: one kind, in a namespace or (undefined) in the whole cluster. */
export interface WatchSubject {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string;
  /** The plural of the kind, as in paths: `services`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  /** A label selector: `a=b,c=d`. */
  readonly labels?: string;
  /** A field selector: `metadata.name=cluster`. */
  readonly fields?: string;
  /** Maximum number of objects on one page of a list; default: 500. Use less for large objects. */
  readonly page?: number;
}

const usualPage = 500;

/** The subject's name in messages. */
export function subjectText({ resource, namespace }: WatchSubject): string {
  return `${resource} ${namespace === undefined ? "in all namespaces" : `in the namespace "${namespace}"`}`;
}

/** The path of one page of the list; `next` comes from the page before. */
export function listPath(subject: WatchSubject, next: string | undefined): string {
  const { page = usualPage } = subject;
  return pathOf(subject, { limit: String(page), ...(next !== undefined && { continue: next }) });
}

/** The path of a watch from a version on, or of a WatchList, which starts with all objects. */
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

/** The root path of an API group: `/api/v1`, `/apis/apps/v1`. */
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
