import { isMapping } from "../../config/mod.ts";
import { jsonIn } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { jsonBody } from "../../http/mod.ts";

/** An answer that is not what was asked for. */
export interface Refusal {
  readonly status: number;
  /** The begin of the body: a `Status` of Kubernetes, or anything. */
  readonly text: string;
  /** What we wanted: `list services in the namespace "shop"`. */
  readonly what: string;
  /** How messages name the cluster. */
  readonly cluster: string;
}

/** What an API server's refusal means, with the right that is missing where it says so. */
export function refusalError({ status, text, what, cluster }: Refusal): PosternError {
  const says = statusMessage(text);
  const begin = `Cannot ${what} of the cluster "${cluster}"`;
  if (status === 401) {
    return new PosternError(
      "auth",
      `Cannot sign in to the cluster "${cluster}": its API server answers 401`,
      {
        hint:
          "the credentials in the kubeconfig are wrong or have ended: sign in again; to http:// none are sent",
      },
    );
  }
  if (status === 403) {
    const right = missingRight(says);
    return right
      ? new PosternError("not_allowed", `${begin}: ${right.user} may not ${right.right}`, {
        hint: `ask for a Role that allows it: ${right.rule}`,
      })
      : new PosternError("not_allowed", `${begin}: ${says || "its API server answers 403"}`, {
        hint: "ask who runs the cluster for the right to do this",
      });
  }
  const why = says || `its API server answers ${status}`;
  if (status === 404) return new PosternError("name_not_found", `${begin}: ${why}`);
  if (status === 429 || status >= 500) {
    return new PosternError("unreachable", `${begin}: ${why}`, {
      hint: "its API server has trouble: try later",
    });
  }
  return new PosternError("protocol", `${begin}: ${why}`);
}

/** The value of an answer; throws its refusal where it is none. */
export function valueOf(answer: Refusal): unknown {
  const { status, text, what, cluster } = answer;
  if (status < 200 || status > 299) throw refusalError(answer);
  return jsonBody(text, `Cannot ${what} of the cluster "${cluster}"`);
}

/** What a `Status` says, or else the begin of a plain text; on one line and short. */
export function statusMessage(text: string): string {
  const message = messageIn(text) ?? (/^\s*[<{]/.test(text) ? "" : text);
  return message.replace(/\p{C}+/gu, " ").trim().slice(0, 500);
}

function messageIn(text: string): string | undefined {
  // A proxy on the way answers with a page or a sentence.
  const status = jsonIn(text);
  return isMapping(status) && typeof status["message"] === "string" ? status["message"] : undefined;
}

/** How the API server writes what is missing (`k8s.io/apiserver`, `forbiddenMessage`). */
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
    // Whoever watches lists too, and would be told of that next.
    rule: `apiGroups: ["${group}"], resources: ["${resource}"], verbs: [${
      verb === "watch" ? '"list", "watch"' : `"${verb}"`
    }]`,
  };
}
