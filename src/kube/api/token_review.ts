import { isMapping } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { KubeApi } from "./kube_api.ts";

export interface TokenQuestion {
  readonly token: string;
  /** The audience that the token must have. */
  readonly audience: string;
}

/**
 * The owner of a token, from the API server (`TokenReview`); throws `auth` if the token is unknown or has
 * another audience.
 */
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
    throw new PosternError("auth", "Cannot accept the token: the API server rejects it", {
      hint:
        "give the agent a token file that its kubelet renews; this token has expired or belongs to another cluster",
    });
  }
  // A server that ignores audiences returns none; then the token might have any audience.
  if (Array.isArray(audiences) && audiences.includes(audience)) return name;
  throw new PosternError("auth", `Cannot accept the token: its audience is not "${audience}"`, {
    hint: "give the agent's token the audience in --authentication-audience",
  });
}

/** Timeout of one review in ms; the agent that waits for it has a deadline too. */
const patience = 8_000;
