import { type Files, PosternError } from "../core/mod.ts";
import type { AuthSettings, ListenerSettings, ListenSettings, User } from "../listeners/mod.ts";

const longestPassword = 255;

/** The users of one listener with their passwords; empty where nobody is asked. */
export async function readUsers(
  files: Files,
  { auth }: ListenerSettings,
  settings: ListenSettings,
): Promise<readonly User[]> {
  const users: User[] = [];
  for (const user of (auth ?? settings.auth)?.users ?? []) {
    users.push({ name: user.name, password: await readPassword(files, user) });
  }
  return users;
}

/** The password of a user; `config` where there is none that a client could send. */
export async function readPassword(
  files: Files,
  { name, passwordFile }: AuthSettings["users"][number],
): Promise<string> {
  const password = (await files.readText(passwordFile, { limit: 4096 })).replace(/\r?\n$/, "");
  if (password !== "" && new TextEncoder().encode(password).length <= longestPassword) return password;
  throw new PosternError(
    "config",
    `Cannot use the password of "${name}": ${passwordFile} has ${
      password === "" ? "none" : `more than ${longestPassword} bytes`
    }`,
    { hint: "write the password alone into it, in one line" },
  );
}
