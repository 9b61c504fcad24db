import {
  type SshOption,
  sshOptions,
  sshStructureWords,
} from "../src/ssh/config/language/ssh_config_options.ts";
import { table } from "./reference_page.ts";

/** Every option of the ssh configuration with its class. */
export function sshOptionsTable(): string {
  const structure = sshStructureWords.map((name) => ({ name, class: "honoured" as const }));
  const options: SshOption[] = [...structure, ...sshOptions.values()];
  const rows = options
    .sort((one, other) => one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1)
    .map((option) => [`\`${option.name}\``, option.class, remark(option)]);
  return table(["option", "class", "note"], rows);
}

function remark({ note, unless = [] }: SshOption): string {
  const values = unless.map((value) => `\`${value}\``).join(", ");
  const exception = values === "" ? [] : [`no warning for ${values}`];
  return [...(note === undefined ? [] : [note]), ...exception].join("; ");
}
