import { PosternError, type Process } from "../../core/mod.ts";

/**
 * The process as ssh hosts and clusters have it. A door that began without any of them has given up the right to start
 * programs; those that come with a catalogue or a reload work all the same, unless one of them needs a program: then it
 * says what helps.
 */
export function grantedProcess(process: Process): Process {
  if (process.mayRun("/bin/sh")) return process;
  const refuse = ([program = ""]: readonly string[]) =>
    Promise.reject(
      new PosternError(
        "not_allowed",
        `Cannot start "${program}": this door began without an ssh host or cluster, and gave up the right to start programs`,
        { hint: "restart the door" },
      ),
    );
  // Whoever asks first whether it may would have another reason to tell, which does not help here.
  const mayRun = { value: () => true };
  return Object.create(process, { run: { value: refuse }, pipe: { value: refuse }, mayRun });
}
