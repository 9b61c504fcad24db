import assert from "node:assert/strict";
import type { PosternError } from "../../../../src/words/mod.ts";
import { checkOwned, type OwnedKind } from "../../../../src/runtime/files/ownership.ts";
import { listenUnix } from "../../../../src/runtime/network/unix_listening.ts";
import { skippedTest } from "../../../support/peers.ts";

const isWindows = Deno.build.os === "windows";
/** Another user of this machine; only root can act as that user. */
const stranger = 65_534;
const isRoot = Deno.uid() === 0;

interface Case {
  readonly name: string;
  /** Creates the file or directory at the path. */
  readonly make: (path: string, above: string) => void;
  readonly kind?: OwnedKind;
  /** Whether the path exists, or the expected flaw. */
  readonly expected: boolean | RegExp;
  readonly asRoot?: true;
}

const directory = (mode: number) => (path: string) => {
  Deno.mkdirSync(path);
  Deno.chmodSync(path, mode);
};

const cases: readonly Case[] = [
  { name: "nothing", make: () => {}, expected: false },
  { name: "a private directory", make: directory(0o700), expected: true },
  {
    name: "a directory that others can read",
    make: directory(0o755),
    expected: /access to it \(mode 0755\)$/,
  },
  {
    name: "a directory that others can enter",
    make: directory(0o711),
    expected: /access to it \(mode 0711\)$/,
  },
  { name: "a file", make: (path) => Deno.writeTextFileSync(path, ""), expected: /it is not a directory$/ },
  {
    name: "a link to a private directory",
    make(path) {
      directory(0o700)(`${path}.real`);
      Deno.symlinkSync(`${path}.real`, path);
    },
    expected: /it is a symbolic link$/,
  },
  {
    name: "a dangling link",
    make: (path) => Deno.symlinkSync(`${path}.none`, path),
    expected: /symbolic link$/,
  },
  {
    name: "another user's directory",
    make(path) {
      directory(0o700)(path);
      Deno.chownSync(path, stranger, stranger);
    },
    expected: /it belongs to another user \(65534\)$/,
    asRoot: true,
  },
  {
    name: "a directory below a world-writable one",
    make(path, above) {
      directory(0o700)(path);
      Deno.chmodSync(above, 0o777);
    },
    expected: /other users can write to ".*" \(mode 0777\)$/,
  },
  {
    name: "a directory below a world-writable one with the sticky bit",
    make(path, above) {
      directory(0o700)(path);
      Deno.chmodSync(above, 0o1777);
    },
    expected: true,
  },
  {
    name: "a directory below one of the user's own group",
    make(path, above) {
      directory(0o700)(path);
      Deno.chownSync(above, 0, 0);
      Deno.chmodSync(above, 0o775);
    },
    expected: true,
    asRoot: true,
  },
  {
    name: "a directory below one that another group can write to",
    make(path, above) {
      directory(0o700)(path);
      Deno.chownSync(above, 0, stranger);
      Deno.chmodSync(above, 0o775);
    },
    expected: /other users can write to ".*" \(mode 0775\)$/,
    asRoot: true,
  },
  {
    name: "a directory below another user's",
    make(path, above) {
      directory(0o700)(path);
      Deno.chownSync(above, stranger, stranger);
    },
    expected: /".*" belongs to another user \(65534\)$/,
    asRoot: true,
  },
  {
    name: "a file as a socket",
    kind: "socket",
    make: (path) => Deno.writeTextFileSync(path, "", { mode: 0o600 }),
    expected: /it is not a socket$/,
  },
];

for (const { name, make, kind = "directory", expected, asRoot = false } of cases) {
  const title = `checkOwned() ${expected instanceof RegExp ? "refuses" : "looks at"} ${name}`;
  if (asRoot && !isRoot) {
    skippedTest(title, "only when the tests run as root");
    continue;
  }
  Deno.test({
    name: title,
    ignore: isWindows,
    fn() {
      const above = Deno.makeTempDirSync();
      try {
        const path = `${above}/run`;
        make(path, above);
        if (typeof expected === "boolean") return void assert.equal(checkOwned(path, kind), expected);
        assert.throws(() => checkOwned(path, kind), (error: PosternError) => {
          assert.deepEqual([error.code, error.detail], ["config", "untrusted"]);
          assert.match(error.message, expected);
          assert.ok(error.message.startsWith(`Cannot trust the ${kind} "${path}": `), error.message);
          assert.ok(error.hint);
          return true;
        });
      } finally {
        Deno.removeSync(above, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: "checkOwned() also inspects the directories above a link's target",
  ignore: isWindows,
  fn() {
    const above = Deno.makeTempDirSync();
    try {
      directory(0o700)(`${above}/far`);
      directory(0o777)(`${above}/far/open`);
      directory(0o700)(`${above}/far/open/run`);
      Deno.symlinkSync(`${above}/far/open`, `${above}/near`);
      assert.throws(() => checkOwned(`${above}/near/run`, "directory"), /can write to ".*far\/open"/);
    } finally {
      Deno.removeSync(above, { recursive: true });
    }
  },
});

Deno.test({
  name: "listenUnix() creates a socket that only we can connect to, and no other file",
  ignore: isWindows,
  async fn() {
    const above = Deno.makeTempDirSync();
    try {
      const path = `${above}/a.sock`;
      const listener = listenUnix(path);
      assert.equal((Deno.lstatSync(path).mode ?? 0) & 0o777, 0o600);
      assert.deepEqual([...Deno.readDirSync(above)].map(({ name }) => name), ["a.sock"]);
      assert.equal(checkOwned(path, "socket"), true);
      const [client, accepted] = await Promise.all([
        Deno.connect({ transport: "unix", path }),
        listener.accept(),
      ]);
      client.close();
      accepted.close();
      assert.throws(() => listenUnix(path), Deno.errors.AddrInUse);
      listener.close();
      Deno.chmodSync(path, 0o622);
      assert.throws(() => checkOwned(path, "socket"), /other users have access to it \(mode 0622\)$/);
      assert.deepEqual([...Deno.readDirSync(above)].map(({ name }) => name), ["a.sock"]);
    } finally {
      Deno.removeSync(above, { recursive: true });
    }
  },
});
