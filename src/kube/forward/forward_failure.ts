import { jsonIn } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { podName, type PodPort } from "./forward_api.ts";

/** What an API server says that does not forward: the message of its Status object, or the begin of a plain text. */
export interface UpgradeRefusal {
  readonly status: number;
  readonly text: string;
}

/** The error for an API server's answer that is no 101. */
export function upgradeFailure(api: string, target: PodPort, refusal: UpgradeRefusal): PosternError {
  const { status } = refusal;
  const said = statusMessage(refusal.text) ?? (refusal.text.trim().slice(0, 300) || `status ${status}`);
  const message = `Cannot forward to the pod "${podName(target)}" of ${api}: ${said}`;
  switch (status) {
    case 401:
      return new PosternError("auth", message, { hint: "sign in to the cluster again" });
    case 403:
      return new PosternError("not_allowed", message, {
        hint:
          `ask for a Role in the namespace "${target.namespace}" with the verbs get and create on pods/portforward`,
      });
    case 404:
    case 410:
      return new PosternError("unreachable", message, { detail: "vanished" });
    case 429:
    case 503:
      return new PosternError("unreachable", message, {
        detail: "overloaded",
        hint: "try again in a moment",
      });
    case 504:
      return new PosternError("timeout", message);
    default:
      return new PosternError("unreachable", message, { detail: isGone.test(said) ? "vanished" : "host" });
  }
}

/** Whether a server that gave this answer may still forward in another form. */
export function mayKnowOtherForm({ status, text }: UpgradeRefusal): boolean {
  // A Status object comes from the API server itself, which knew what it was asked for; a WebSocket needs one right
  // more than a POST, and is refused for want of it only.
  if (status === 403) return true;
  if (status === 404) return statusMessage(text) === undefined;
  return [200, 204, 400, 405, 406, 415, 426, 501].includes(status);
}

/** The error for what was said on the error stream of a forward. */
export function forwardFailure(
  target: PodPort,
  text: string,
  { hasBegun }: { hasBegun: boolean },
): PosternError {
  const at = `port ${target.port} of the pod "${podName(target)}"`;
  // The head of the sentence says again which port of which pod it was.
  const reason = text.replace(/^error forwarding port \d+ to pod [^:]*: */, "").trim() ||
    "no reason was given";
  const message = `Cannot ${hasBegun ? "go on with" : "reach"} ${at}: ${reason}`;
  if (hasBegun) return new PosternError("unreachable", message, { detail: "reset" });
  if (isRefused.test(reason)) {
    return new PosternError("refused", message, {
      hint: "check that something listens on that port in the pod",
    });
  }
  if (isGone.test(reason)) return new PosternError("unreachable", message, { detail: "vanished" });
  if (isTimeout.test(reason)) return new PosternError("timeout", message);
  return new PosternError("unreachable", message, { detail: "host" });
}

/** Why another pod may be tried, if so: this one was never connected to, so no byte of a client can have reached it. */
export function neverReachedPod(error: unknown): "refused" | "vanished" | undefined {
  if (!(error instanceof PosternError)) return undefined;
  if (error.detail === "vanished") return "vanished";
  return error.code === "refused" ? "refused" : undefined;
}

/** The message of a Status object (`kind: Status`); undefined where it is none. */
function statusMessage(text: string): string | undefined {
  const status = jsonIn(text);
  if (typeof status !== "object" || status === null) return undefined;
  if (!("kind" in status && status.kind === "Status" && "message" in status)) return undefined;
  return typeof status.message === "string" ? status.message.slice(0, 500) : undefined;
}

const isRefused = /connection refused/i;
const isTimeout = /timed? ?out|deadline exceeded/i;
/** What kubelets and container runtimes say of a pod that has ended. */
const isGone =
  /not found|no such (container|process|file or directory)|does ?n.t exist|does not exist|not running|is closed|terminat/i;
