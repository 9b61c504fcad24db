import {
  type SshOption,
  sshOptions,
  sshStructureWords,
} from "../src/ssh/config/language/ssh_config_options.ts";
import { paragraph, table } from "./reference_page.ts";

/** Every option of the ssh configuration by its class, then the limits of some and the values without effect. */
export function sshOptionsTable(): string {
  const structure = sshStructureWords.map((name) => ({ name, class: "supported" as const }));
  const options: SshOption[] = [...structure, ...sshOptions.values()]
    .sort((one, other) => one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1);
  const classes = ["supported", "harmless", "blocking"] as const;
  const lists = classes.map((name) => {
    const names = options.filter((option) => option.class === name).map((option) => `\`${option.name}\``);
    return paragraph(`**${name}**: ${names.join(", ")}`);
  });
  const remarked = options.filter(({ note, unless }) => note !== undefined || unless !== undefined)
    .map(({ name, note = "", unless = [] }) => [
      `\`${name}\``,
      note,
      unless.map((value) => `\`${value}\``).join(", "),
    ]);
  return [...lists, table(["option", "remark", "no effect with"], remarked)].join("\n\n");
}
