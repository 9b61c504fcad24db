import type { Files } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { AuthSettings, ListenerSettings, ListenSettings, User } from "../listeners/mod.ts";

const longestPassword = 255;

/** Returns the users of one listener with their passwords; empty for an open listener. */
export async function readUsers(
  files: Files,
  { auth }: ListenerSettings,
  settings: ListenSettings,
): Promise<readonly User[]> {
  const users: User[] = [];
  for (const user of (auth ?? settings.auth)?.users ?? []) {
    users.push({ name: user.name, password: passwordIn(await readPasswordFile(files, user), user) });
  }
  return users;
}

export function readPasswordFile(
  files: Files,
  { passwordFile }: AuthSettings["users"][number],
): Promise<string> {
  return files.readText(passwordFile, { limit: 4096 });
}

/** Returns the password in the text of a user's file; throws `config` for one that no client could send. */
export function passwordIn(
  text: string,
  { name, passwordFile }: AuthSettings["users"][number],
): string {
  const password = text.replace(/\r?\n$/, "");
  if (password !== "" && new TextEncoder().encode(password).length <= longestPassword) return password;
  throw new PosternError(
    "config",
    `Cannot use the password of "${name}": ${passwordFile} has ${
      password === "" ? "no password" : `more than ${longestPassword} bytes`
    }`,
    { hint: "write only the password to the file, in one line" },
  );
}
