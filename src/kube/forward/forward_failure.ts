import { jsonIn } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { podName, type PodPort } from "./forward_api.ts";

/**
 * An API server's refusal of a forward: the message of its Status object, or the beginning of a plain text.
 */
export interface UpgradeRefusal {
  readonly status: number;
  readonly text: string;
}

/** The error for a response of an API server other than 101. */
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

/** Whether a server with this response may support another form. */
export function mayKnowOtherForm({ status, text }: UpgradeRefusal): boolean {
  // A Status object comes from the API server itself, which understood the request. A WebSocket needs one
  // more right than a POST; a 403 may concern only that right.
  if (status === 403) return true;
  if (status === 404) return statusMessage(text) === undefined;
  return [200, 204, 400, 405, 406, 415, 426, 501].includes(status);
}

/** The error for a text on the error stream of a forward. */
export function forwardFailure(
  target: PodPort,
  text: string,
  { hasBegun }: { hasBegun: boolean },
): PosternError {
  const at = `port ${target.port} of the pod "${podName(target)}"`;
  // The prefix repeats port and pod, which the message already names.
  const reason = text.replace(/^error forwarding port \d+ to pod [^:]*: */, "").trim() ||
    "the API server gives no reason";
  const message = `Cannot ${hasBegun ? "keep the connection to" : "reach"} ${at}: ${reason}`;
  if (hasBegun) return new PosternError("unreachable", message, { detail: "reset" });
  if (isRefused.test(reason)) {
    return new PosternError("refused", message, {
      hint: "check that a process in the pod listens on that port",
    });
  }
  if (isGone.test(reason)) return new PosternError("unreachable", message, { detail: "vanished" });
  if (isTimeout.test(reason)) return new PosternError("timeout", message);
  return new PosternError("unreachable", message, { detail: "host" });
}

/**
 * Why another pod may be tried: postern never connected to this one, so it received no byte of the client.
 */
export function neverReachedPod(error: unknown): "refused" | "vanished" | undefined {
  if (!(error instanceof PosternError)) return undefined;
  if (error.detail === "vanished") return "vanished";
  return error.code === "refused" ? "refused" : undefined;
}

/** The message of a Status object (`kind: Status`); undefined for any other text. */
function statusMessage(text: string): string | undefined {
  const status = jsonIn(text);
  if (typeof status !== "object" || status === null) return undefined;
  if (!("kind" in status && status.kind === "Status" && "message" in status)) return undefined;
  return typeof status.message === "string" ? status.message.slice(0, 500) : undefined;
}

const isRefused = /connection refused/i;
const isTimeout = /timed? ?out|deadline exceeded/i;
/** The wordings of kubelets and container runtimes for a pod that has ended. */
const isGone =
  /not found|no such (container|process|file or directory)|does ?n.t exist|does not exist|not running|is closed|terminat/i;
