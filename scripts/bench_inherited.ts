import { placesFor } from "../src/runtime/files/places.ts";
import { type Contender, startOnPort } from "./bench_contenders.ts";
import { type BenchPlace, field, generate, measure, type Measurement } from "./bench_measure.ts";
import type { Verdict } from "./bench_table.ts";
import { findPeer } from "./find_peers.ts";
import { peers } from "./peer_table.ts";
import { sourceCommand } from "./postern.ts";

/**
 * Compares an instance on a socket from systemd with one that opened its own socket. Both run from source:
 * the Deno version in `POSTERN_BIN` may not support inherited sockets.
 */
export async function measureInherited({ directory, generator, isSmoke }: BenchPlace): Promise<Verdict[]> {
  const activate = await findPeer(peers.systemd_socket_activate);
  if ("missing" in activate) {
    console.log(`skipped: systemd-socket-activate: ${activate.missing}`);
    return [];
  }
  const size = isSmoke ? { rounds: 1, megabytes: 50 } : { rounds: 7, megabytes: 1000 };
  await using normal = await startFromSource("a normal instance", directory);
  await using inherited = await startFromSource("postern", directory, [
    ...[activate.path, "--fdname=postern.socket"],
    // systemd-socket-activate passes only the variables that `-E` names.
    ...["HOME", "XDG_RUNTIME_DIR", "TMPDIR", "DENO_DIR", "PATH"].flatMap((name) => ["-E", name]),
  ]);
  const contenders = [inherited, normal];
  for (const contender of contenders) {
    await generate(generator, contender, { mode: "rate", options: ["-n", "300"] });
  }
  const verdicts: Verdict[] = [];
  for (const measurement of measurements(size.megabytes)) {
    verdicts.push(...await measure(measurement, contenders, { generator, rounds: size.rounds }));
  }
  return verdicts;
}

function measurements(megabytes: number): Measurement[] {
  const demand = { atLeast: 0.55, of: "a normal instance" } as const;
  const value = field("MB_per_s");
  const options = ["-mb", `${megabytes}`];
  return [
    { mode: "bulk", options, wants: [{ name: "inherited: one stream down, MB/s", demand, value }] },
    {
      mode: "bulk",
      options: [...options, "-up"],
      wants: [{ name: "inherited: one stream up, MB/s", demand, value }],
    },
  ];
}

/** Starts an instance on its own port, or under a program that passes it a socket. */
async function startFromSource(
  name: string,
  directory: string,
  under: readonly string[] = [],
): Promise<Contender> {
  const home = await Deno.makeTempDir({ dir: directory });
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const env: Record<string, string> = {
    HOME: home,
    XDG_RUNTIME_DIR: `${home}/run`,
    TMPDIR: home,
    PATH: Deno.env.get("PATH") ?? "",
    DENO_DIR: JSON.parse(new TextDecoder().decode(stdout)).denoDir,
  };
  await Deno.mkdir(`${home}/run`, { mode: 0o700 });
  await Deno.writeTextFile(`${home}/config.yaml`, "default: direct\n");
  const places = placesFor({ platform: "linux", env: (name) => env[name], uid: Deno.uid() ?? undefined });
  const main = new URL("../main.ts", import.meta.url).href;
  return await startOnPort(name, (port) => {
    const own = under.length === 0
      ? ["--listen", `127.0.0.1:${port}`]
      : ["--on-demand", "systemd=postern.socket"];
    const args = ["proxy", "--config", `${home}/config.yaml`, ...own, "--idle-exit", "0"];
    const [first, ...rest] = under;
    return [
      ...first === undefined ? [] : [first, "-l", `127.0.0.1:${port}`, ...rest],
      ...[Deno.execPath(), ...sourceCommand(args, places), main, ...args],
    ];
  }, env);
}
