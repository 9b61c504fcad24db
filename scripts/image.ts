import settings from "../deno.json" with { type: "json" };
import { imageProgram, imageRoot, imageUser } from "./image_root.ts";
import { writeOciLayout } from "./oci_layout.ts";

const usage = "deno task image [--program FILE] [--system DIRECTORY] [--output DIRECTORY] [--revision TEXT]";

/** Builds a container image of the compiled program in `dist/image`, without a daemon. */
if (import.meta.main) Deno.exit(await runImage(Deno.args));

export interface ImageOptions {
  readonly program: string;
  /** The root directory of the system that provides the libraries. */
  readonly system: string;
  /** The directory of the layout; an existing one is replaced. */
  readonly output: string;
  readonly revision?: string;
  /** The creation time in seconds; the same program, libraries and time give the same image. */
  readonly time?: number;
}

async function runImage(args: readonly string[]): Promise<number> {
  const root = decodeURIComponent(new URL("../", import.meta.url).pathname);
  const given = new Map<string, string>();
  for (let at = 0; at < args.length; at += 2) {
    const [option = "", value] = args.slice(at, at + 2);
    if (!["--program", "--system", "--output", "--revision"].includes(option) || value === undefined) {
      console.error(`usage: ${usage}`);
      return 2;
    }
    given.set(option, value);
  }
  const output = given.get("--output") ?? `${root}dist/image`;
  const revision = given.get("--revision");
  try {
    const digest = await makeImage({
      program: given.get("--program") ?? `${root}dist/postern`,
      system: given.get("--system") ?? "/",
      output,
      ...revision !== undefined && { revision },
      time: Number(Deno.env.get("SOURCE_DATE_EPOCH") ?? 0),
    });
    console.log(`image: ${output.replace(root, "")}:${settings.version}: ${digest}`);
    return 0;
  } catch (error) {
    console.error(`image: error: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

/** Builds an image of a compiled program and returns the digest of its manifest. */
async function makeImage(
  { program, system, output, revision, time = 0 }: ImageOptions,
): Promise<string> {
  const { machine, base, program: ours } = await imageRoot({
    program: await readProgram(program),
    system,
    license: await Deno.readTextFile(new URL("../LICENSE", import.meta.url)),
  });
  await Deno.remove(output, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  return await writeOciLayout(output, {
    machine,
    tag: settings.version,
    time,
    layers: [
      { about: "libraries, authorities, and the user postern", entries: base },
      { about: `postern ${settings.version}`, entries: ours },
    ],
    config: {
      User: `${imageUser}:${imageUser}`,
      Env: ["PATH=/usr/bin", "HOME=/home/postern"],
      Entrypoint: [`/${imageProgram}`],
      Cmd: ["help"],
      WorkingDir: "/",
    },
    annotations: {
      "org.opencontainers.image.title": "postern",
      "org.opencontainers.image.description": "One local door into every private cluster",
      "org.opencontainers.image.licenses": settings.license,
      "org.opencontainers.image.version": settings.version,
      ...revision !== undefined && { "org.opencontainers.image.revision": revision },
    },
  });
}

async function readProgram(path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error(`Cannot find ${path}: run deno task compile`, { cause: error });
  }
}
