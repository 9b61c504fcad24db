import { formatTarget, PosternError, type Target } from "../../words/mod.ts";
import { plainText } from "../../core/mod.ts";

/** Translates the server's refusal of a channel into a failure of the target (RFC 4254, section 5.1). */
export function openFailure(
  { reason, description }: { readonly reason: number; readonly description: string },
  { target, through }: { readonly target: Target; readonly through: string },
): PosternError {
  const says = plainText(description);
  const sentence = `Cannot reach ${formatTarget(target)} through ${through}`;
  const make = (
    code: "refused" | "name_not_found" | "timeout" | "not_allowed" | "unreachable",
    options: ConstructorParameters<typeof PosternError>[2] = {},
  ) => new PosternError(code, `${sentence}: ${says || `refused with reason ${reason}`}`, options);
  switch (reason) {
    case reasons.prohibited:
      return make("not_allowed", {
        hint: "allow the target on the ssh server: AllowTcpForwarding, PermitOpen",
      });
    case reasons.unknownType:
      return make("not_allowed", { hint: "use an ssh server that supports TCP forwarding" });
    case reasons.shortage:
      return make("unreachable", { detail: "overloaded" });
  }
  // OpenSSH sends the error text of its C library.
  if (/refused/i.test(says)) return make("refused");
  if (unknownName.test(says)) return make("name_not_found");
  if (/timed out|timeout/i.test(says)) return make("timeout");
  if (/network is (unreachable|down)/i.test(says)) return make("unreachable", { detail: "network" });
  return make("unreachable", { detail: "host" });
}

/** Whether a failure means that this session has no room; another session may have room. */
export function isShortage(error: unknown): boolean {
  return error instanceof PosternError && error.detail === "overloaded";
}

const reasons = { prohibited: 1, connectFailed: 2, unknownType: 3, shortage: 4 } as const;

const unknownName =
  /name or service not known|nodename nor servname|no address associated|name resolution|unknown host|no such host|host not found|name does not resolve/i;
