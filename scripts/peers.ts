import { unpackMaven } from "./maven_peer.ts";
import { findPeer, findProgram, peersDirectory } from "./find_peers.ts";
import { type Peer, peerList, type PeerName } from "./peer_table.ts";

/** Installs the missing programs that the tests use: `deno task peers [NAME…]`. */
if (import.meta.main) Deno.exit(await installPeers(Deno.args) ? 0 : 1);

type Wanted = readonly [PeerName, Peer];

async function installPeers(names: readonly string[]): Promise<boolean> {
  const known = peerList.map(([name]) => name as string);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`peers: error: unknown: ${unknown.join(", ")}; known peers are ${known.join(", ")}`);
    return false;
  }
  const asked = peerList.filter(([name]) => names.length === 0 || names.includes(name));
  await Deno.mkdir(peersDirectory(), { recursive: true });
  const reasons = new Map<PeerName, string>();
  await installDebian(await missingOf(asked.filter(([, peer]) => peer.debian)), reasons);
  // Always build: Go detects changes itself, and is fast without changes.
  await buildGo(asked.filter(([, peer]) => peer.go), reasons);
  await installPython(await withoutPackages(asked.filter(([, peer]) => peer.python)), reasons);
  await installNpm(await missingOf(asked.filter(([, peer]) => peer.npm)), reasons);
  await installMaven(await missingOf(asked.filter(([, peer]) => peer.maven)), reasons);
  return await report(asked, reasons);
}

async function missingOf(wanted: readonly Wanted[]): Promise<Wanted[]> {
  const missing: Wanted[] = [];
  for (const [name, peer] of wanted) if ("missing" in await findPeer(peer)) missing.push([name, peer]);
  return missing;
}

/** Returns the Python peers that are missing or have other packages. */
async function withoutPackages(wanted: readonly Wanted[]): Promise<Wanted[]> {
  const installed = await Deno.readTextFile(packagesFile()).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  });
  return wanted.filter(([, { python = [] }]) => python.join("\n") !== installed);
}

/** The list of the packages in the virtual environment, written when all are installed. */
function packagesFile(): string {
  return `${peersDirectory()}/python/packages.txt`;
}

async function installDebian(wanted: readonly Wanted[], reasons: Map<PeerName, string>): Promise<void> {
  if (wanted.length === 0) return;
  const apt = await findProgram("apt-get");
  const refusal = apt === undefined
    ? "apt-get is not installed"
    : Deno.uid() === 0
    ? undefined
    : "apt-get needs root";
  if (apt === undefined || refusal !== undefined) {
    for (const [name] of wanted) reasons.set(name, refusal ?? "");
    return;
  }
  for (const [, { before }] of wanted) if (before) await writeBefore(before);
  const packages = wanted.flatMap(([, peer]) => peer.debian ?? []);
  const install = [apt, "install", "--yes", "--no-install-recommends"];
  const quiet = { DEBIAN_FRONTEND: "noninteractive" };
  await run([apt, "update"], { env: quiet });
  if (await run([...install, ...packages], { env: quiet }) === undefined) return;
  // A package that fails must not prevent the others.
  for (const [name, peer] of wanted) {
    const failure = await run([...install, ...[peer.debian ?? []].flat()], { env: quiet });
    if (failure !== undefined) reasons.set(name, failure);
  }
}

async function writeBefore({ path, text }: NonNullable<Peer["before"]>): Promise<void> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(path, text);
}

async function buildGo(wanted: readonly Wanted[], reasons: Map<PeerName, string>): Promise<void> {
  if (wanted.length === 0) return;
  const go = await findProgram("go");
  const source = decodeURIComponent(new URL("../tests/peers", import.meta.url).pathname);
  const bin = `${peersDirectory()}/bin`;
  await Deno.mkdir(bin, { recursive: true });
  for (const [name, peer] of wanted) {
    const [cwd, path] = placeOf(peer, source);
    const failure = go === undefined
      ? "Go is not installed"
      : await run([go, "build", "-trimpath", "-o", `${bin}/${peer.program}`, path], { cwd });
    if (failure !== undefined) reasons.set(name, failure);
  }
}

/** Returns the build directory and the package path of a program. */
function placeOf({ go, program }: Peer, source: string): readonly [directory: string, path: string] {
  if (typeof go === "object") return [`${source}/${go.module}`, go.path];
  return go === "own" ? [`${source}/${program}`, "."] : [source, `./${program}`];
}

async function installPython(wanted: readonly Wanted[], reasons: Map<PeerName, string>): Promise<void> {
  for (const [name, peer] of wanted) {
    const failure = await makePython(peer.python ?? []);
    if (failure === undefined) reasons.delete(name);
    else reasons.set(name, failure);
  }
}

/** Creates the virtual environment; removes an incomplete one, so that it is never found. */
async function makePython(packages: readonly string[]): Promise<string | undefined> {
  const python = await findProgram("python3");
  if (python === undefined) return "python3 is not installed: apt-get install python3-venv";
  const directory = `${peersDirectory()}/python`;
  const failure = await run([python, "-m", "venv", "--clear", directory]) ??
    await run([`${directory}/bin/python3`, "-m", "pip", "install", "--quiet", ...packages]);
  if (failure !== undefined) await Deno.remove(directory, { recursive: true });
  else await Deno.writeTextFile(packagesFile(), packages.join("\n"));
  return failure;
}

async function installNpm(wanted: readonly Wanted[], reasons: Map<PeerName, string>): Promise<void> {
  const npm = await findProgram("npm");
  for (const [name, peer] of wanted) {
    const failure = npm === undefined ? "npm is not installed" : await unpackNpm(npm, peer);
    if (failure !== undefined) reasons.set(name, failure);
  }
}

/** Installs the packages of the lock file without running their code. */
async function unpackNpm(npm: string, { npm: source = "", program }: Peer): Promise<string | undefined> {
  const into = `${peersDirectory()}/${source}`;
  await Deno.mkdir(into, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) {
    await Deno.copyFile(new URL(`../tests/peers/${source}/${file}`, import.meta.url), `${into}/${file}`);
  }
  const failure = await run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: into });
  // Mark only a complete installation as executable, because findPeer() requires that.
  if (failure === undefined) await Deno.chmod(`${peersDirectory()}/${program}`, 0o755);
  return failure;
}

async function installMaven(wanted: readonly Wanted[], reasons: Map<PeerName, string>): Promise<void> {
  for (const [name, peer] of wanted) {
    const mvn = await findProgram("mvn");
    const timeout = await findProgram("timeout");
    const failure = mvn === undefined ? "mvn is not installed" : await unpackMaven(peer, {
      mvn: [...timeout === undefined ? [] : [timeout, "300"], mvn],
      into: peersDirectory(),
      // Try once: the peer is optional, and Maven waits long for an unreachable registry.
      run: (command, options = {}) => runOnce(command, options),
    });
    if (failure === undefined) reasons.delete(name);
    else reasons.set(name, failure);
  }
}

/**
 * Runs a program and repeats it after a failure, because a registry may be briefly unreachable; returns the
 * last failure.
 */
async function run(
  command: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string | undefined> {
  for (const pause of [5000, 20_000]) {
    const failure = await runOnce(command, options);
    if (failure === undefined) return undefined;
    console.error(`peers: ${failure}; retrying in ${pause / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return await runOnce(command, options);
}

async function runOnce(
  [program = "", ...args]: readonly string[],
  options: { cwd?: string; env?: Record<string, string> },
): Promise<string | undefined> {
  console.error(`peers: ${[program, ...args].join(" ")}`);
  const command = new Deno.Command(program, {
    ...options,
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  const { success, stderr, stdout } = await command.output();
  if (success) return undefined;
  const said = new TextDecoder().decode(stderr) || new TextDecoder().decode(stdout);
  return said.trim().split("\n").slice(-3).join(" | ") || "failed without output";
}

async function report(asked: readonly Wanted[], reasons: Map<PeerName, string>): Promise<boolean> {
  let isComplete = true;
  for (const [name, peer] of asked) {
    const found = await findPeer(peer);
    if ("path" in found && !reasons.has(name)) {
      console.log(`${name}: ${found.path}`);
      continue;
    }
    isComplete &&= peer.isOptional === true;
    const missing = peer.isOptional ? "missing, its tests are skipped" : "missing";
    console.log(`${name}: ${missing}: ${reasons.get(name) ?? "not found after it was installed"}`);
  }
  return isComplete;
}
