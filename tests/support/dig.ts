import { runPeer } from "./peer_program.ts";

/** What dig said of one question. */
export interface Dug {
  /** `NOERROR`, `NXDOMAIN`; empty where it got no answer. */
  readonly status: string;
  /** `qr aa rd`. */
  readonly flags: readonly string[];
  /** `NAME TTL CLASS TYPE DATA`, a line each. */
  readonly answers: readonly string[];
  readonly authorities: readonly string[];
  readonly additionals: readonly string[];
  /** Everything it said. */
  readonly text: string;
}

/** Asks a server on 127.0.0.1 by the real dig; `args` are the question and its options. */
export async function dig(path: string, port: number, ...args: readonly string[]): Promise<Dug> {
  // One try that may take long: a second one would be counted by the server.
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
