import assert from "node:assert/strict";
import { PosternError } from "../../../../src/words/mod.ts";
import { HostKeys, type HostKeySettings } from "../../../../src/ssh/host_keys/host_keys.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { recordingLog } from "../../../support/recording_log.ts";
import { blobOf, keyText } from "../../../support/ssh_public_keys.ts";

const { signal } = new AbortController();
const path = "/home/me/.ssh/known_hosts";

function settings(over: Partial<HostKeySettings> = {}): HostKeySettings {
  return {
    alias: "jump",
    hostName: "Jump.example",
    port: 2222,
    userKnownHostsFiles: [path],
    globalKnownHostsFiles: [],
    strictHostKeyChecking: "accept-new",
    hashKnownHosts: false,
    ...over,
  };
}

/** Signals when a writer finds the lock taken. */
class ContestedFiles extends MemoryFiles {
  readonly #found = Promise.withResolvers<void>();
  readonly foundLocked = this.#found.promise;

  override async lock(path: string): Promise<Disposable | undefined> {
    const lock = await super.lock(path);
    if (!lock) this.#found.resolve();
    return lock;
  }
}

function setUp<T extends MemoryFiles>(files: T) {
  const log = recordingLog();
  const clock = new FakeClock();
  return { files, log, clock, keys: new HostKeys({ files, clock, log }) };
}

Deno.test("accept-new records a key once, and then requires it", async () => {
  const { files, log, keys } = setUp(new MemoryFiles());
  const decision = await keys.decide(settings(), blobOf.ed25519(1), { signal });
  assert.ok(decision.isAccepted);
  assert.equal(decision.because, `new in ${path}`);
  assert.match(decision.shown, /^ED25519 SHA256:/);
  assert.equal(await files.readText(path), `[jump.example]:2222 ${keyText("ed25519", 1)}\n`);
  assert.deepEqual(log.lines.map(({ level, event, host, key }) => [level, event, host, key]), [
    ["info", "ssh.host_key_accepted", "jump", decision.shown],
  ]);
  const again = await keys.decide(settings(), blobOf.ed25519(1), { signal });
  assert.ok(again.isAccepted && again.because === `${path}:1`);
  const other = await keys.decide(settings(), blobOf.ed25519(2), { signal });
  assert.ok(!other.isAccepted && /has changed/.test(other.error.message));
  assert.equal((await files.readText(path)).split("\n").length, 2);
});

Deno.test("accept-new hashes the name with HashKnownHosts", async () => {
  const { files, keys } = setUp(new MemoryFiles());
  await keys.verify(settings({ hashKnownHosts: true }), blobOf.rsa(1), { signal });
  const text = await files.readText(path);
  assert.match(text, /^\|1\|[A-Za-z0-9+/]{27}=\|[A-Za-z0-9+/]{27}= ssh-rsa [A-Za-z0-9+/=]+\n$/);
  const again = await keys.decide(settings(), blobOf.rsa(1), { signal });
  assert.ok(again.isAccepted && again.because === `${path}:1`);
  await keys.verify(settings({ hashKnownHosts: true, hostName: "next" }), blobOf.rsa(1), { signal });
  const salts = (await files.readText(path)).trim().split("\n").map((line) => line.split("|")[2]);
  assert.equal(new Set(salts).size, 2);
});

Deno.test("accept-new records the alias, and hashes one that is a pattern", async () => {
  const { files, keys } = setUp(new MemoryFiles());
  await keys.verify(settings({ hostKeyAlias: "Lab" }), blobOf.ed25519(1), { signal });
  assert.equal(await files.readText(path), `lab ${keyText("ed25519", 1)}\n`);
  await keys.verify(settings({ hostKeyAlias: "*" }), blobOf.ed25519(2), { signal });
  assert.match(await files.readText(path), /\n\|1\|[^*]+\n$/);
  const third = await keys.decide(settings({ hostKeyAlias: "x" }), blobOf.ed25519(3), { signal });
  assert.ok(third.isAccepted && third.because.startsWith("new"));
});

Deno.test("accept-new starts a new line when the file lacks its last newline", async () => {
  const { files, keys } = setUp(new MemoryFiles({ [path]: "# mine" }));
  await keys.verify(settings(), blobOf.ed25519(1), { signal });
  assert.equal(await files.readText(path), `# mine\n[jump.example]:2222 ${keyText("ed25519", 1)}\n`);
});

Deno.test("accept-new with /dev/null accepts the key and records nothing", async () => {
  const { files, keys } = setUp(new MemoryFiles());
  const host = settings({ userKnownHostsFiles: ["/dev/null"] });
  for (const seed of [1, 2]) {
    const decision = await keys.decide(host, blobOf.ed25519(seed), { signal });
    assert.ok(decision.isAccepted && decision.because === "new, not recorded");
  }
  assert.equal(await files.info("/dev/null"), undefined);
});

class NotedDirectories extends MemoryFiles {
  readonly made: string[] = [];
  override privateDirectory(path = ""): Promise<void> {
    this.made.push(path);
    return super.privateDirectory();
  }
  override info(path: string): ReturnType<MemoryFiles["info"]> {
    const kind = "directory" as const;
    return path === "/there"
      ? Promise.resolve({ kind, size: 0, modified: 0, mode: 0o755, owner: undefined })
      : super.info(path);
  }
}

Deno.test("accept-new creates a missing directory, and keeps the mode of an existing one", async () => {
  const files = new NotedDirectories();
  const { keys } = setUp(files);
  for (const file of [path, "/there/known_hosts", "known_hosts"]) {
    await keys.verify(settings({ userKnownHostsFiles: [file] }), blobOf.ed25519(1), { signal });
    assert.ok(await files.info(file), file);
  }
  assert.deepEqual(files.made, ["/home/me/.ssh"]);
});

Deno.test("accept-new waits for the lock, and then sees the key that was recorded meanwhile", async () => {
  for (const seed of [1, 2]) {
    const { files, clock, keys, log } = setUp(new ContestedFiles());
    const lock = await files.lock(path);
    assert.ok(lock);
    const deciding = keys.decide(settings(), blobOf.ed25519(1), { signal });
    await files.foundLocked;
    await clock.advance(500);
    files.put(path, `[jump.example]:2222 ${keyText("ed25519", seed)}\n`);
    lock[Symbol.dispose]();
    await clock.advance(100);
    const decision = await deciding;
    assert.equal(decision.isAccepted, seed === 1);
    if (decision.isAccepted) assert.equal(decision.because, `${path}:1`);
    else assert.match(decision.error.message, /has changed/);
    assert.equal((await files.readText(path)).trim().split("\n").length, 1);
    assert.deepEqual(log.lines, []);
  }
});

/** A file system with coarse modification times. */
class TimelessFiles extends ContestedFiles {
  override async info(path: string): ReturnType<MemoryFiles["info"]> {
    const info = await super.info(path);
    return info && { ...info, modified: 0 };
  }
}

Deno.test("accept-new reads the file again under the lock, even with an unchanged date", async () => {
  const line = `[jump.example]:2222 ${keyText("ed25519", 2)}\n`;
  const { files, clock, keys } = setUp(new TimelessFiles({ [path]: `#${line.slice(1)}` }));
  const lock = await files.lock(path);
  assert.ok(lock);
  const deciding = keys.decide(settings(), blobOf.ed25519(1), { signal });
  await files.foundLocked;
  files.put(path, line);
  lock[Symbol.dispose]();
  await clock.advance(100);
  const decision = await deciding;
  assert.ok(!decision.isAccepted && /has changed/.test(decision.error.message));
  assert.equal(await files.readText(path), line);
});

/** Holds the first writer at its write until a second one has found the lock taken. */
class SlowDisk extends ContestedFiles {
  override async append(path: string): ReturnType<MemoryFiles["append"]> {
    await this.foundLocked;
    return await super.append(path);
  }
}

Deno.test("accept-new in two concurrent sessions records one key and rejects the other", async () => {
  const { files, clock, keys } = setUp(new SlowDisk());
  const first = keys.decide(settings(), blobOf.ed25519(1), { signal });
  const second = keys.decide(settings(), blobOf.ed25519(2), { signal });
  const winner = await Promise.race([first, second]);
  assert.ok(winner.isAccepted);
  await clock.advance(100);
  const decisions = await Promise.all([first, second]);
  assert.deepEqual(decisions.map(({ isAccepted }) => isAccepted).sort(), [false, true]);
  assert.equal((await files.readText(path)).trim().split("\n").length, 1);
});

Deno.test("accept-new accepts a key that it cannot record, as ssh does, and warns each time", async () => {
  const { files, clock, keys, log } = setUp(new ContestedFiles());
  using _lock = await files.lock(path);
  const deciding = keys.decide(settings(), blobOf.ed25519(1), { signal });
  await files.foundLocked;
  await clock.advance(3000);
  assert.ok((await deciding).isAccepted);
  assert.equal(clock.waiting, 0);
  assert.deepEqual(log.lines.map(({ level, event }) => [level, event]), [[
    "warn",
    "ssh.host_key_not_recorded",
  ]]);
  assert.match(String(log.lines[0]?.["reason"]), /Cannot lock/);
});

class FullDisk extends MemoryFiles {
  override append(path: string): ReturnType<MemoryFiles["append"]> {
    return Promise.reject(new PosternError("internal", `Cannot append to "${path}": no space left`));
  }
}

Deno.test("accept-new accepts the key when the disk is full, and releases the lock", async () => {
  const { files, keys, log } = setUp(new FullDisk());
  await keys.verify(settings(), blobOf.ed25519(1), { signal });
  assert.match(String(log.lines[0]?.["reason"]), /no space left/);
  using lock = await files.lock(path);
  assert.ok(lock);
});

Deno.test("accept-new ends with the signal's reason while it waits for the lock", async () => {
  const { files, clock, keys } = setUp(new ContestedFiles());
  using _lock = await files.lock(path);
  const controller = new AbortController();
  const reason = new Error("enough");
  const failed = assert.rejects(
    keys.decide(settings(), blobOf.ed25519(1), { signal: controller.signal }),
    (error) => error === reason,
  );
  await files.foundLocked;
  await clock.advance(100);
  controller.abort(reason);
  await failed;
  assert.equal(clock.waiting, 0);
});
