import assert from "node:assert/strict";
import { describe, type ErrorCode, type PosternError } from "../../../../src/words/mod.ts";
import type { Files } from "../../../../src/world/mod.ts";
import { createFiles } from "../../../../src/runtime/files/files.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

const isWindows = Deno.build.os === "windows";

/** A test with a temporary directory. */
function inDirectory(name: string, body: (directory: string, files: Files) => Promise<void>): void {
  Deno.test(name, async () => {
    const directory = await Deno.makeTempDir();
    try {
      await body(directory, createFiles(new FakeClock()));
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });
}

function coded(code: ErrorCode, message: RegExp) {
  return (error: PosternError) => {
    assert.equal(error.code, code);
    assert.match(error.message, message);
    return true;
  };
}

inDirectory("read() returns the whole file", async (directory, files) => {
  for (const size of [0, 1, 511, 512, 513, 100_000]) {
    const bytes = crypto.getRandomValues(new Uint8Array(Math.min(size, 65536)));
    await Deno.writeFile(`${directory}/a`, bytes);
    assert.deepEqual(await files.read(`${directory}/a`), bytes);
  }
});

inDirectory("read() rejects a file over the limit and accepts one at it", async (directory, files) => {
  await Deno.writeFile(`${directory}/a`, new Uint8Array(10));
  assert.equal((await files.read(`${directory}/a`, { limit: 10 })).length, 10);
  await assert.rejects(files.read(`${directory}/a`, { limit: 9 }), coded("config", /more than 9 bytes/));
});

inDirectory(
  "read() rejects a path that is not a regular file, without blocking",
  async (directory, files) => {
    if (isWindows) return;
    const { success } = await new Deno.Command("mkfifo", { args: [`${directory}/pipe`] }).output();
    assert.ok(success);
    await Deno.symlink(`${directory}/pipe`, `${directory}/link`);
    for (const path of [`${directory}/pipe`, `${directory}/link`, "/dev/zero"]) {
      await assert.rejects(files.read(path, { limit: 5000 }), (error: PosternError) => {
        assert.match(error.hint ?? "", /copy its content to a file/);
        return coded("config", /: it is not a regular file$/)(error);
      });
    }
  },
);

inDirectory("read() treats /dev/null as an empty file", async (_directory, files) => {
  if (!isWindows) assert.equal((await files.read("/dev/null")).length, 0);
});

inDirectory(
  "readText() rejects an invalid text file with a message and a hint",
  async (directory, files) => {
    await Deno.writeFile(`${directory}/latin1`, Uint8Array.of(0x66, 0xfc, 0x72));
    await Deno.symlink(`${directory}/b`, `${directory}/a`);
    await Deno.symlink(`${directory}/a`, `${directory}/b`);
    const cases: readonly (readonly [string, RegExp, RegExp])[] = [
      ["latin1", /: it is not UTF-8 text$/, /UTF-8/],
      ["a", /: too many levels of symbolic links$/, /loop/],
      [".", /: is a directory$/, /a file/],
    ];
    for (const [path, message, hint] of cases) {
      await assert.rejects(files.readText(`${directory}/${path}`), (error: PosternError) => {
        assert.match(error.hint ?? "", hint);
        assert.match(describe(error), isWindows ? /^Cannot / : message);
        return true;
      });
    }
  },
);

inDirectory("read() reports the problem of a path", async (directory, files) => {
  await Deno.writeTextFile(`${directory}/file`, "");
  const cases: readonly (readonly [string, RegExp, RegExp?])[] = [
    ["missing", /^Cannot read ".*missing": no such file or directory$/, /absolute/],
    [".", /is a directory$/, /a file/],
    ["file/below", /not a directory$/, /each part/],
    ["x".repeat(300), /the name is too long$/],
  ];
  for (const [path, message, hint = /^$/] of cases) {
    await assert.rejects(files.read(`${directory}/${path}`), (error: PosternError) => {
      assert.match(error.hint ?? "", hint);
      return coded("config", message)(error);
    });
  }
});

inDirectory("readText() rejects bytes that are not UTF-8", async (directory, files) => {
  await Deno.writeFile(`${directory}/a`, new Uint8Array([0xff, 0xfe]));
  await assert.rejects(files.readText(`${directory}/a`), coded("config", /not UTF-8/));
});

inDirectory("readTextIfThere() returns undefined for a missing file only", async (directory, files) => {
  assert.equal(await files.readTextIfThere(`${directory}/missing`), undefined);
  await assert.rejects(files.readTextIfThere(directory), coded("config", /is a directory/));
});

inDirectory("replace() writes mode 0600 and leaves no temporary file", async (directory, files) => {
  const path = `${directory}/secret`;
  await files.replace(path, "one");
  await files.replace(path, new TextEncoder().encode("two"));
  assert.equal(await Deno.readTextFile(path), "two");
  assert.deepEqual(await files.list(directory), ["secret"]);
  if (!isWindows) assert.equal((await files.info(path))?.mode, 0o600);
});

inDirectory("replace() leaves no temporary file when it fails", async (directory, files) => {
  await Deno.mkdir(`${directory}/taken/below`, { recursive: true });
  await assert.rejects(files.replace(`${directory}/taken`, "text"), coded("config", /^Cannot write /));
  assert.deepEqual(await files.list(directory), ["taken"]);
});

inDirectory("replace() does not follow a symbolic link", async (directory, files) => {
  await Deno.writeTextFile(`${directory}/elsewhere`, "untouched");
  await Deno.symlink(`${directory}/elsewhere`, `${directory}/link`);
  await files.replace(`${directory}/link`, "secret");
  assert.equal(await Deno.readTextFile(`${directory}/elsewhere`), "untouched");
  assert.equal((await Deno.lstat(`${directory}/link`)).isFile, true);
});

inDirectory("remove() and info() accept a missing file", async (directory, files) => {
  await files.remove(`${directory}/missing`);
  assert.equal(await files.info(`${directory}/missing`), undefined);
});

inDirectory("privateDirectory() creates parents and closes the last directory", async (directory, files) => {
  const path = `${directory}/a/b/c`;
  await files.privateDirectory(path);
  await files.privateDirectory(path);
  if (isWindows) return;
  assert.equal((await files.info(path))?.mode, 0o700);
  await Deno.chmod(path, 0o755);
  await files.privateDirectory(path);
  assert.equal((await files.info(path))?.mode, 0o700);
});

inDirectory(
  "privateDirectory() rejects a path that other users may have prepared",
  async (directory, files) => {
    if (isWindows) return;
    await Deno.mkdir(`${directory}/open`);
    await Deno.chmod(`${directory}/open`, 0o777);
    await Deno.symlink(`${directory}/open`, `${directory}/link`);
    await Deno.writeTextFile(`${directory}/file`, "");
    const cases: readonly (readonly [string, RegExp])[] = [
      ["open", /other users have access to it \(mode 0777\)$/],
      ["link", /symbolic link$/],
      ["file", /not a directory$/],
    ];
    for (const [name, message] of cases) {
      await assert.rejects(files.privateDirectory(`${directory}/${name}`), coded("config", message));
    }
  },
);

inDirectory("append() writes in order, at the end of the file", async (directory, files) => {
  const path = `${directory}/log`;
  for (const round of ["a", "b"]) {
    using file = await files.append(path);
    await Promise.all([file.write(`${round}1\n`), file.write(`${round}2\n`), file.write(`${round}3\n`)]);
  }
  assert.equal(await Deno.readTextFile(path), "a1\na2\na3\nb1\nb2\nb3\n");
  if (!isWindows) assert.equal((await files.info(path))?.mode, 0o600);
});

inDirectory("lock() has one holder until its release", async (directory, files) => {
  const path = `${directory}/default.lock`;
  const first = await files.lock(path);
  assert.ok(first);
  assert.equal(await files.lock(path), undefined);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  using again = await files.lock(path);
  assert.ok(again);
});

inDirectory("lock() neither creates a file through a link nor opens one", async (directory, files) => {
  if (isWindows) return;
  const path = `${directory}/default.lock`;
  for (const there of [true, false]) {
    if (there) await Deno.writeTextFile(`${directory}/target`, "theirs", { mode: 0o600 });
    await Deno.symlink(`${directory}/target`, path);
    const refused = coded("config", /^Cannot trust the lock file ".*default\.lock": it is a symbolic link$/);
    await assert.rejects(files.lock(path, { removes: true }), refused);
    if (there) assert.equal(await Deno.readTextFile(`${directory}/target`), "theirs");
    else assert.deepEqual(await files.list(directory), ["default.lock"]);
    await Deno.remove(path);
    await Deno.remove(`${directory}/target`).catch(() => {});
  }
});

inDirectory(
  "lock() rejects a file that is not our lock, without blocking",
  async (directory, files) => {
    if (isWindows) return;
    const path = `${directory}/default.lock`;
    const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
    assert.ok(success);
    await assert.rejects(files.lock(path), coded("config", /it is not a lock file$/));
    await Deno.remove(path);
    await Deno.writeTextFile(path, "", { mode: 0o600 });
    await Deno.chmod(path, 0o644);
    await assert.rejects(files.lock(path), coded("config", /other users have access to it \(mode 0644\)$/));
    using lock = await files.lock(path, { isTheirs: true });
    assert.ok(lock);
  },
);

inDirectory("lock() of a user's own file follows a link to it", async (directory, files) => {
  if (isWindows) return;
  await Deno.writeTextFile(`${directory}/known_hosts`, "a\n");
  await Deno.symlink(`${directory}/known_hosts`, `${directory}/link`);
  using lock = await files.lock(`${directory}/link`, { isTheirs: true });
  assert.ok(lock);
  assert.equal(await files.lock(`${directory}/known_hosts`, { isTheirs: true }), undefined);
});

inDirectory("lock() removes its file at the end on request", async (directory, files) => {
  const path = `${directory}/default.lock`;
  const names = () => files.list(directory);
  (await files.lock(path))?.[Symbol.dispose]();
  assert.deepEqual(await names(), ["default.lock"]);
  const lock = await files.lock(path, { removes: true });
  assert.equal(await files.lock(path, { removes: true }), undefined);
  lock?.[Symbol.dispose]();
  if (!isWindows) assert.deepEqual(await names(), []);
  const next = await files.lock(path);
  // The previous holder has released its own lock.
  lock?.[Symbol.dispose]();
  assert.deepEqual(await names(), ["default.lock"]);
  assert.equal(await files.lock(path), undefined);
  next?.[Symbol.dispose]();
});

inDirectory(
  "lock() has one holder at a time while its file is removed and created repeatedly",
  async (directory, files) => {
    const path = `${directory}/default.lock`;
    let held = 0;
    let taken = 0;
    const compete = async () => {
      while (taken < 200) {
        using lock = await files.lock(path, { removes: true });
        if (!lock) continue;
        taken++;
        assert.equal(++held, 1);
        await Deno.stat(path);
        held--;
      }
    };
    await Promise.all(Array.from({ length: 8 }, compete));
  },
);

inDirectory(
  "readFrom() returns bytes after an offset, up to a limit",
  async (directory, files) => {
    await Deno.writeTextFile(`${directory}/log`, "one\ntwo\nthree\n");
    const cases: readonly (readonly [offset: number, count: number, text: string])[] = [
      [0, 4, "one\n"],
      [4, 100, "two\nthree\n"],
      [14, 10, ""],
      [1000, 10, ""],
    ];
    for (const [offset, count, text] of cases) {
      assert.equal(new TextDecoder().decode(await files.readFrom(`${directory}/log`, offset, count)), text);
    }
    await assert.rejects(
      files.readFrom(`${directory}/none`, 0, 1),
      coded("config", /no such file or directory$/),
    );
  },
);

inDirectory("create() creates a file, and never replaces one", async (directory, files) => {
  const path = `${directory}/k.lock`;
  assert.deepEqual(await Promise.all([files.create(path), files.create(path)]).then((all) => all.sort()), [
    false,
    true,
  ]);
  assert.equal((await Deno.stat(path)).size, 0);
  if (!isWindows) assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  await Deno.writeTextFile(path, "mine");
  assert.equal(await files.create(path), false);
  assert.equal(await Deno.readTextFile(path), "mine");
  await files.remove(path);
  assert.equal(await files.create(path), true);
  await assert.rejects(files.create(`${directory}/none/k.lock`), coded("config", /no such file/));
});
