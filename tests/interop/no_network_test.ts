import assert from "node:assert/strict";
import { namespaceTest } from "../support/namespaces.ts";
import { Household } from "../support/postern_process.ts";

/** Commands that need no network, with their exit codes when no instance runs. */
const commands: readonly { args: readonly string[]; code: number }[] = [
  { args: ["version"], code: 0 },
  { args: ["version", "-o", "json"], code: 0 },
  { args: ["--help"], code: 0 },
  { args: ["help", "proxy"], code: 0 },
  { args: ["config", "check"], code: 0 },
  { args: ["config", "show"], code: 0 },
  { args: ["config", "schema"], code: 0 },
  { args: ["explain", "web.lab.example:80"], code: 0 },
  { args: ["env", "--shell", "sh"], code: 0 },
  { args: ["pac"], code: 0 },
  { args: ["completion", "bash"], code: 0 },
  { args: ["clusters", "c-lab", "emergency-credentials"], code: 4 },
  { args: ["status"], code: 3 },
  { args: ["connections"], code: 3 },
  { args: ["reload"], code: 3 },
  { args: ["stop"], code: 3 },
];

const config = `
transports: { far: { proxy: { url: "socks5h://proxy.invalid:1080" } } }
routes: [{ to: lab.example, via: far }]
`;

namespaceTest(
  "commands without network access behave the same without any network",
  "--net",
  async (
    wrap,
  ) => {
    await using home = await Household.open();
    await home.configure(config);
    const run = async ({ args, code }: (typeof commands)[number], under: readonly string[]) => {
      const ended = await home.run(args, { under });
      assert.equal(ended.code, code, `${args.join(" ")}: ${ended.stderr}`);
      return ended;
    };
    for (const command of commands) assert.deepEqual(await run(command, wrap()), await run(command, []));
  },
);
