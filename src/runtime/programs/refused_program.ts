import { PosternError } from "../../words/mod.ts";
import { mayRun, type Rights } from "../permissions.ts";

/** Why a program is not even tried: the right to start it was given up. */
export function refusedProgram(program: string, rights: Rights): PosternError | undefined {
  if (!rights.gaveUp(program) || mayRun(program)) return undefined;
  const why = "this instance gave up the right to start it, because its configuration did not need it";
  return new PosternError("not_allowed", `Cannot run "${program}": ${why}`, { hint: "restart the instance" });
}
