import { isMapping } from "../../config/mod.ts";
import { jsonIn } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { jsonBody } from "../../http/mod.ts";

/** A response of an API server, with the words that errors need. */
export interface KubeReply {
  readonly status: number;
  /** The body, or the beginning of a refusal's body: a Kubernetes `Status`, or any text. */
  readonly text: string;
  /** The request in words: `list services in the namespace "shop"`. */
  readonly what: string;
  /** The cluster's name in messages. */
  readonly cluster: string;
}

/** The JSON value of a response; throws on a refusal and on responses that some proxy sent instead. */
export function kubeValue(answer: KubeReply): unknown {
  const { status, text, what, cluster } = answer;
  if (status < 200 || status > 299) throw refusalError(answer);
  return jsonBody(text, `Cannot ${what} of the cluster "${cluster}"`);
}

/** Converts an API server's refusal into an error that names the missing right, if the server states it. */
export function refusalError({ status, text, what, cluster }: KubeReply): PosternError {
  const says = statusMessage(text);
  const begin = `Cannot ${what} of the cluster "${cluster}"`;
  if (status === 401) {
    return new PosternError(
      "auth",
      `Cannot sign in to the cluster "${cluster}": its API server returned 401`,
      {
        hint:
          "sign in again, or correct the credentials in the kubeconfig; postern sends none to http:// servers",
      },
    );
  }
  if (status === 403) {
    const right = missingRight(says);
    return right
      ? new PosternError("not_allowed", `${begin}: ${right.user} may not ${right.right}`, {
        hint: `ask for a Role with: ${right.rule}`,
      })
      : new PosternError("not_allowed", `${begin}: ${says || "its API server returned 403"}`, {
        hint: "ask the cluster's administrator for this right",
      });
  }
  const why = says || `its API server returned ${status}`;
  if (status === 404) return new PosternError("name_not_found", `${begin}: ${why}`);
  if (status === 429 || status >= 500) {
    return new PosternError("unreachable", `${begin}: ${why}`, {
      hint: "try again later: the API server has problems",
    });
  }
  return new PosternError("protocol", `${begin}: ${why}`);
}

/** The message of a `Status`, otherwise the beginning of a plain text; one short line. */
export function statusMessage(text: string): string {
  const message = messageIn(text) ?? (/^\s*[<{]/.test(text) ? "" : text);
  return message.replace(/\p{C}+/gu, " ").trim().slice(0, 500);
}

function messageIn(text: string): string | undefined {
  // A proxy on the path answers with a page or a sentence instead.
  const status = jsonIn(text);
  return isMapping(status) && typeof status["message"] === "string" ? status["message"] : undefined;
}

/** The wording of the API server for a missing right (`k8s.io/apiserver`, `forbiddenMessage`). */
const forbidden =
  /User "([^"]*)" cannot ([a-z*]+) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)"| at the cluster scope)?/;

function missingRight(message: string): { user: string; right: string; rule: string } | undefined {
  const found = forbidden.exec(message);
  if (!found) return undefined;
  const [, user = "", verb = "", resource = "", group = "", namespace] = found;
  const full = group === "" ? resource : `${resource}.${group}`;
  const where = namespace === undefined ? "in all namespaces" : `in the namespace "${namespace}"`;
  return {
    user: user === "" ? "this user" : `"${user}"`,
    right: `${verb} ${full} ${where}`,
    // A watch starts with a list, so the Role needs both verbs.
    rule: `apiGroups: ["${group}"], resources: ["${resource}"], verbs: [${
      verb === "watch" ? '"list", "watch"' : `"${verb}"`
    }]`,
  };
}
