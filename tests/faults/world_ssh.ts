import { freezing, lineFaults, type LivePart, restarting, type WorldSection } from "./live_parts.ts";
import type { PeerPaths } from "../support/peers.ts";
import { RoughLine } from "../support/rough_line.ts";
import { sshHostLines, writeSshConfig } from "../support/ssh_household.ts";
import { SshLab, type sshPeers } from "../support/sshd.ts";

/** Starts two servers; `one` is the jump host of `two`. */
export async function startSsh(
  paths: PeerPaths<typeof sshPeers[number]>,
  started: AsyncDisposableStack,
): Promise<WorldSection & { readonly config: string }> {
  const lab = started.use(await SshLab.create(paths));
  let [one, two] = [await lab.start("one"), await lab.start("two")];
  const lines = [started.use(new RoughLine(() => one.port)), started.use(new RoughLine(() => two.port))];
  const [toOne, toTwo] = lines as [RoughLine, RoughLine];
  for (const [line, server] of [[toOne, one], [toTwo, two]] as const) {
    await lab.know(`[127.0.0.1]:${line.port}`, `${server.keys[0]}.pub`);
  }
  const config = await writeSshConfig(lab, [
    ...sshHostLines("one", toOne),
    ...sshHostLines("two", toTwo, "ProxyJump one"),
  ]);
  const sessions = (server: () => typeof one) => ({
    kill: (signal: "SIGSTOP" | "SIGCONT") => server().signalSessions(signal === "SIGSTOP" ? "STOP" : "CONT"),
  });
  const faults = (server: () => typeof one, replace: (again: typeof one) => void, line: RoughLine) => [
    ...lineFaults(line),
    freezing(() => sessions(server)),
    { kind: "kill", lasts: [0, 0] as const, run: () => server().signalSessions("KILL") },
    restarting(async (lasts) => replace(await lab.restart(server(), { pause: lasts }))),
  ];
  const parts: LivePart[] = [
    {
      name: "one",
      ways: ["one", "chain", "behind"],
      kinds: faults(() => one, (again) => one = again, toOne),
    },
    { name: "two", ways: ["chain"], kinds: faults(() => two, (again) => two = again, toTwo) },
  ];
  return { config, parts, transports: ["  one: { ssh: one }", "  chain: { ssh: two }"] };
}
