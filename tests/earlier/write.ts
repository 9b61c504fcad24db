import { DistantCompany, known, live } from "../support/lived_home.ts";
import { freePort } from "../support/peer_program.ts";
import { Household } from "../support/postern_process.ts";

const usage = "write.ts NAME PROGRAM [ARGUMENT…]";

/**
 * The files of a home directory to keep. A later version needs no sockets, locks or logs; the test writes the
 * configuration.
 */
const kept = /^(?:(?:cache|state)\/postern\/.*|\.kube\/config)$/, left = /\.lock$|\/lock$|\.log$/;

/** Writes the home directory of a version to `tests/earlier/NAME`: see README.md there. */
if (import.meta.main) Deno.exit(await write(Deno.args));

async function write([name, ...program]: readonly string[]): Promise<number> {
  if (name === undefined || program.length === 0) {
    console.error(`usage: ${usage}`);
    return 2;
  }
  const target = decodeURIComponent(new URL(name, import.meta.url).pathname);
  await using company = await DistantCompany.open();
  await using home = await Household.open();
  const postern = home.with(program);
  const ports = { port: freePort(), dns: freePort() };
  const instance = await live(home, postern, { company, ports });
  const told = await known(postern, ports);
  await postern.run(["stop"]);
  await instance.ended;
  await Deno.mkdir(target);
  for await (const path of filesBelow(home.directory)) {
    if (!kept.test(path) || left.test(path)) continue;
    await Deno.mkdir(`${target}/${path.replace(/\/[^/]*$/, "")}`, { recursive: true });
    if (path.endsWith(".kv")) await Deno.copyFile(`${home.directory}/${path}`, `${target}/${path}`);
    else {
      const text = await Deno.readTextFile(`${home.directory}/${path}`);
      await Deno.writeTextFile(`${target}/${path}`, anywhere(text, home, program));
    }
  }
  await Deno.writeTextFile(`${target}/known.json`, `${JSON.stringify(told, undefined, 2)}\n`);
  console.log(`written: tests/earlier/${name}`);
  return 0;
}

/** Removes paths of this machine; writes the sign-in command as a compiled program would. */
function anywhere(text: string, { directory }: Household, [program = ""]: readonly string[]): string {
  return text.replaceAll(directory, "@HOME@").replaceAll(program, "@PROGRAM@")
    .replaceAll(/^ +- "run"\n(?: +- ".*"\n)*? +- "file:.*\/main\.ts"\n/gm, "");
}

async function* filesBelow(directory: string, below = ""): AsyncGenerator<string> {
  for await (const { name, isDirectory, isFile } of Deno.readDir(`${directory}/${below}`)) {
    if (isDirectory) yield* filesBelow(directory, `${below}${name}/`);
    else if (isFile) yield `${below}${name}`;
  }
}
