import { isMapping } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { KubeApi } from "./kube_api.ts";

export interface TokenQuestion {
  readonly token: string;
  /** Whom the token must be meant for. */
  readonly audience: string;
}

/** Whose token it is, by the API server (`TokenReview`); `auth` where that does not know it or it is meant for others. */
export async function reviewToken(
  api: Pick<KubeApi, "json">,
  { token, audience }: TokenQuestion,
  { signal }: { readonly signal: AbortSignal },
): Promise<string> {
  const answer = await api.json({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/tokenreviews",
    body: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token, audiences: [audience] },
    },
    timeout: patience,
  }, { signal });
  const status = isMapping(answer) && isMapping(answer["status"]) ? answer["status"] : {};
  const { authenticated, user, audiences } = status;
  const name = isMapping(user) ? user["username"] : undefined;
  if (authenticated !== true || typeof name !== "string") {
    throw new PosternError("auth", "Cannot take the token: the API server does not know it", {
      hint: "it has ended, or is of another cluster: the agent's file has to be one that its kubelet renews",
    });
  }
  // A server that looks at no audiences says none, and the token may be meant for anybody.
  if (Array.isArray(audiences) && audiences.includes(audience)) return name;
  throw new PosternError("auth", `Cannot take the token: it is not meant for "${audience}"`, {
    hint: "the audience of the agent's token and --authentication-audience have to be the same",
  });
}

/** For one review, in ms: whoever waits for it has a deadline too. */
const patience = 8_000;
