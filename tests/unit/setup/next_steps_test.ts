import assert from "node:assert/strict";
import { nextSteps } from "../../../src/setup/next_steps.ts";
import type { Proposal } from "../../../src/setup/proposal.ts";
import { MemoryWorld, type MemoryWorldOptions } from "../../support/memory_world.ts";

const route = { to: [".svc.lab"], via: "lab", reason: "" };
const catalogue = { url: new URL("https://api.example"), name: "main", reason: "" };

const cases: {
  readonly name: string;
  readonly machine?: MemoryWorldOptions;
  readonly config?: string;
  readonly listen?: string;
  readonly proposal?: Partial<Proposal>;
  readonly steps: readonly string[];
}[] = [
  {
    name: "a machine without systemd and desktop",
    proposal: { routes: [route] },
    steps: [
      "start postern: postern proxy --background",
      'in this shell: eval "$(postern env)"; in a browser, set the PAC file http://127.0.0.1:12000/proxy.pac',
      "see the path to a host: postern explain --dial SERVICE.NAMESPACE.svc.lab:PORT",
    ],
  },
  {
    name: "a desktop with systemd, a catalogue and another file",
    machine: { files: { "/run/systemd/system/x": "" }, env: { XDG_CURRENT_DESKTOP: "GNOME" } },
    config: "work.yaml",
    listen: "listen: { mixed: 127.0.0.1:12001 }",
    proposal: { routes: [{ ...route, example: { host: "db.example", port: 22 } }], catalogues: [catalogue] },
    steps: [
      "fetch the clusters of the catalogue: postern --config work.yaml update",
      "start postern whenever a program needs it: postern --config work.yaml service install",
      'in this shell: eval "$(postern env)"; in browsers: postern system-proxy on',
    ],
  },
  {
    name: "a listener without a PAC file",
    machine: { platform: "windows" },
    listen: "listen: { socks: 127.0.0.1:1080 }",
    steps: ["start postern: postern proxy --background"],
  },
];

for (const { name, machine, config, listen = "", proposal, steps } of cases) {
  Deno.test(`nextSteps() suits ${name}`, async () => {
    const plan = {
      path: "/config/config.yaml",
      isNew: true,
      before: "",
      after: `${listen}\n`,
      notes: [],
      checks: [],
      proposal: { transports: [], routes: [], catalogues: [], secrets: [], notes: [], ...proposal },
    };
    const { signal } = new AbortController();
    assert.deepEqual(await nextSteps(new MemoryWorld(machine), plan, { config, signal }), steps);
  });
}
