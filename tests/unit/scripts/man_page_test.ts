import assert from "node:assert/strict";
import { manualPages } from "../../../scripts/man.ts";
import { manPage, terms } from "../../../scripts/man_page.ts";
import { commandGroups } from "../../../src/cli/line/all_commands.ts";

const help = [
  "Open it.",
  "More about\nthat.",
  "Usage: postern open [--wide] [FILE]\n       postern open window [--id ID]",
  "  --wide  As wide as it goes.\n  FILE    .hidden or \\n 'that'",
  "Examples:\n  postern open -v\n      says what it does",
].join("\n\n");
const facts = { version: "1.2.3", date: "2026-01-02", related: ["postern", "postern-close"] };

Deno.test("manPage() has a section for each block of the help and escapes roff", () => {
  const forms = [["window", "Usage: postern open window [--id ID]\n\n  --id ID  Which one."]] as const;
  const page = manPage({ name: "open", summary: "Open it", help, forms }, facts);
  assert.equal(
    page,
    String.raw`.TH "POSTERN\-OPEN" 1 "2026\-01\-02" "postern 1.2.3" "postern"
.ad l
.nh
.SH NAME
postern\-open \- Open it
.SH SYNOPSIS
postern open [\-\-wide] [FILE]
.PP
postern open window [\-\-id ID]
.SH DESCRIPTION
Open it.
.PP
More about
that.
.SH OPTIONS
.TP
.B "\-\-wide"
As wide as it goes.
.TP
.B "FILE"
\&.hidden or \en \(aqthat\(aq
.SH "EXAMPLES"
.TP
.B "postern open \-v"
says what it does
.SH "WINDOW"
.TP
.B "\-\-id ID"
Which one.
.SH SEE ALSO
.BR postern (1) ,
.BR postern\-close (1)
`,
  );
});

Deno.test("terms() writes characters beyond ASCII as escapes", () => {
  assert.deepEqual(terms([["a é…", '"b"']]), [".TP", '.B "a \\[u00E9]..."', '"b"']);
});

Deno.test("manualPages() has a page for each command with all its options", () => {
  const pages = manualPages("2026-01-02");
  const commands = commandGroups.flatMap((group) => group.commands);
  assert.equal(pages.size, commands.length + 1);
  for (const command of commands) {
    const page = (pages.get(`postern-${command.name}`) ?? "").replaceAll("\\-", "-");
    const options = [...command.help(100).matchAll(/^ {2}(--?\w[\w-]*)/gm)].map(([, option = ""]) => option);
    assert.ok(options.length > 0, command.name);
    for (const option of options) assert.ok(page.includes(option), `${command.name} ${option}`);
  }
  assert.match(pages.get("postern") ?? "", /^\.SH "EXIT STATUS"$/m);
  assert.match(pages.get("postern-konnectivity") ?? "", /^\.SH "AGENT"$/m);
});
