import {
  type SshOption,
  sshOptions,
  sshStructureWords,
} from "../src/ssh/config/language/ssh_config_options.ts";
import { table } from "./reference_page.ts";

/** Every option of the ssh configuration by its class, then the limits of some and the values without effect. */
export function sshOptionsPart(): string {
  const structure = sshStructureWords.map((name) => ({ name, class: "honoured" as const }));
  const options: SshOption[] = [...structure, ...sshOptions.values()]
    .sort((one, other) => one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1);
  const classes = ["honoured", "harmless", "blocking"] as const;
  const lists = classes.map((name) => {
    const names = options.filter((option) => option.class === name).map((option) => `\`${option.name}\``);
    return wrapped(`**${name}**: ${names.join(", ")}`);
  });
  const remarked = options.filter(({ note, unless }) => note !== undefined || unless !== undefined)
    .map(({ name, note = "", unless = [] }) => [
      `\`${name}\``,
      note,
      unless.map((value) => `\`${value}\``).join(", "),
    ]);
  return [...lists, table(["option", "remark", "no effect with"], remarked)].join("\n\n");
}

/** A paragraph of Markdown as `deno fmt` wraps it. */
function wrapped(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= 110) {
      lines[lines.length - 1] = `${line} ${word}`;
    } else lines.push(word);
  }
  return lines.join("\n");
}
