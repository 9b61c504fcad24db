import { PosternError } from "../../words/mod.ts";
import { mayRun, type Rights } from "../permissions.ts";

/** Returns the error for a program whose permission was dropped; undefined for others. */
export function refusedProgram(program: string, rights: Rights): PosternError | undefined {
  if (!rights.gaveUp(program) || mayRun(program)) return undefined;
  const why = "this instance gave up the permission to start it, because its configuration did not need it";
  return new PosternError("not_allowed", `Cannot run "${program}": ${why}`, { hint: "restart the instance" });
}
