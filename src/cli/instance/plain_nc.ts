import { type CommandLine, optionNames } from "../../permissions/mod.ts";
import { isPosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { reportError } from "../output/report_error.ts";
import { ncTarget } from "./nc_target.ts";
import { type NcRequest, relayStdio, streamOfInstance, withPatience } from "./nc_stream.ts";

/**
 * Runs `postern nc` with a running instance, without loading the parser: ssh waits for it at each connection. Returns
 * undefined for the full command: without an instance, for a line with an error, and for other options.
 */
export async function runPlainNc(line: CommandLine, world: World): Promise<number | undefined> {
  const request = plainRequest(line);
  if (!request) return undefined;
  try {
    const conn = await withPatience(request, world, (options) => streamOfInstance(world, request, options));
    if (!conn) return undefined;
    world.process.keepOnly("nothing");
    await relayStdio(world, conn, { request, halfCloseLinger: 1000 });
    return 0;
  } catch (error) {
    return await reportError(error, world, { showStack: false });
  }
}

/** The request of a line that consists of a target and the options of `nc`; undefined for any other line. */
function plainRequest({ words, options, rest, awaitsValue }: CommandLine): NcRequest | undefined {
  if (rest.length > 0 || awaitsValue) return undefined;
  const known = [optionNames.id, "-w", "-q", "-N", "-z"];
  for (const [name, values] of options) if (!known.includes(name) || values.length > 1) return undefined;
  const number = (name: string) => options.get(name)?.[0];
  const numbers = [number("-w"), number("-q")];
  if (numbers.some((text) => text !== undefined && !/^[0-9]{1,6}$/.test(text))) return undefined;
  const [wait, quit] = numbers.map((text) => text === undefined ? undefined : Number(text));
  try {
    const target = ncTarget(words);
    return { target, id: options.get(optionNames.id)?.[0], wait, quit, isProbe: options.has("-z") };
  } catch (error) {
    if (isPosternError(error, "usage")) return undefined;
    throw error;
  }
}
