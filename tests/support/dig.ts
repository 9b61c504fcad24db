import { runPeer } from "./peer_program.ts";

/** dig's result for one question. */
export interface Dug {
  /** `NOERROR`, `NXDOMAIN`; empty without an answer. */
  readonly status: string;
  /** `qr aa rd`. */
  readonly flags: readonly string[];
  /** Lines `NAME TTL CLASS TYPE DATA`. */
  readonly answers: readonly string[];
  readonly authorities: readonly string[];
  readonly additionals: readonly string[];
  /** The whole output. */
  readonly text: string;
}

/** Queries a server on 127.0.0.1 with the real dig; `args` are the question and its options. */
export async function dig(path: string, port: number, ...args: readonly string[]): Promise<Dug> {
  // A single attempt with a long timeout: the server would count a second one.
  const given = ["-r", "@127.0.0.1", "-p", `${port}`, "+time=30", "+tries=1", "+nocookie", ...args];
  const { stdout: text } = await runPeer(path, given);
  return {
    status: /status: ([A-Z]+)/.exec(text)?.[1] ?? "",
    flags: (/flags: ([^;]*);/.exec(text)?.[1] ?? "").split(" ").filter((flag) => flag !== ""),
    answers: section(text, "ANSWER"),
    authorities: section(text, "AUTHORITY"),
    additionals: section(text, "ADDITIONAL"),
    text,
  };
}

function section(text: string, name: string): string[] {
  const lines = text.split(`;; ${name} SECTION:\n`)[1]?.split("\n\n")[0]?.split("\n") ?? [];
  return lines.filter((line) => line !== "").map((line) => line.replaceAll(/\s+/g, " "));
}
