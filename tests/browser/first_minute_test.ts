import assert from "node:assert/strict";
import { terminalPicture, transcriptOf } from "../../scripts/pictures_terminal.ts";
import { surroundingPeers } from "../docs/surroundings.ts";
import { peerTest } from "../support/peers.ts";
import { recordMinute } from "./recorded_minute.ts";

const pictures = new URL("../../docs/pictures/", import.meta.url);
const isRecording = Deno.env.get("POSTERN_PICTURES") === "1";

peerTest(
  "the recording in README.md is what its commands print today",
  ["bash", "curl", "python", ...surroundingPeers],
  async (paths) => {
    const steps = await recordMinute({ paths, usesNamedPorts: isRecording });
    const transcript = transcriptOf(steps);
    if (isRecording) {
      const picture = terminalPicture("postern: the first minute", steps);
      await Deno.writeTextFile(new URL("first-minute.svg", pictures), picture);
      await Deno.writeTextFile(new URL("first-minute.txt", pictures), transcript);
    }
    const shown = await Deno.readTextFile(new URL("first-minute.txt", pictures));
    assert.deepEqual(masked(transcript), masked(shown));
  },
);

/** The commands with their output, without numbers, units, the plot, blanks and cut columns, which differ from run to run. */
function masked(transcript: string): string[] {
  return transcript.split(/^\$ /m).map((step) =>
    step.split("\n").map((line) =>
      line.replace(/^( {2}ID .{36}|.{40}(?=.*…$)).*$/, "$1…").replace(/[▁▂▃▄▅▆▇█]/g, "").replace(
        /\d+(\.\d+)?( ?(ms|s|B|kB|MB)\b)?/g,
        "0",
      )
        .replace(/\s+/g, "")
    ).join("")
  );
}
