import { formatPath, isError, isMapping, rootContext } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { ForwardSettings } from "./forward_settings.ts";
import { listenSettings } from "./listen_settings.ts";

/** Checks a request for forwards as a configuration is checked; throws `usage` for a wrong one. */
export function checkedForwards(asked: unknown): readonly ForwardSettings[] {
  const { forwards: forward, allowOpen } = isMapping(asked) ? asked : {};
  const context = rootContext({ base: "/" });
  const settings = listenSettings.parse({ forward, allowOpen: allowOpen === true }, context);
  const problem = context.problems.find(isError);
  if (settings?.forward && settings.forward.length > 0 && !problem) return settings.forward;
  const reason = problem ? `${formatPath(problem.path)} ${problem.message}` : "the request has no forward";
  throw new PosternError("usage", `Cannot forward: ${reason}`, { hint: "see: postern forward --help" });
}
