import { type Files, PosternError } from "../core/mod.ts";
import type { ListenerSettings, ListenSettings, User } from "../listeners/mod.ts";

const longestPassword = 255;

/** The users of one listener with their passwords; empty where nobody is asked. */
export async function readUsers(
  files: Files,
  { auth }: ListenerSettings,
  settings: ListenSettings,
): Promise<readonly User[]> {
  const users: User[] = [];
  for (const { name, passwordFile } of (auth ?? settings.auth)?.users ?? []) {
    const password = (await files.readText(passwordFile, { limit: 4096 })).replace(/\r?\n$/, "");
    if (password === "" || new TextEncoder().encode(password).length > longestPassword) {
      throw new PosternError(
        "config",
        `Cannot use the password of "${name}": ${passwordFile} has ${
          password === "" ? "none" : `more than ${longestPassword} bytes`
        }`,
        { hint: "write the password alone into it, in one line" },
      );
    }
    users.push({ name, password });
  }
  return users;
}
