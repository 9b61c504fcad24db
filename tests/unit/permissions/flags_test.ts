import assert from "node:assert/strict";
import { readCommandLine } from "../../../src/permissions/command_line.ts";
import { commandGrants, permissionKinds } from "../../../src/permissions/command_grants.ts";
import { compiledFlags, flagsFor, workerPermissions } from "../../../src/permissions/flags.ts";
import { kindsFor } from "../../../src/permissions/needs.ts";
import { sourceFacts } from "../../../src/permissions/source_facts.ts";
import { here, ofResolver } from "./here.ts";

Deno.test("flagsFor() narrows paths to the platform's directories", () => {
  const flags = flagsFor(readCommandLine(["status"]), here);
  assert.ok(flags.includes("--allow-read=/c/postern,/s/postern,/r/postern"), flags.join(" "));
  assert.ok(flags.includes("--allow-write=/s/postern,/r/postern"), flags.join(" "));
  assert.ok(!flags.some((flag) => /allow-(net|run)/.test(flag)), flags.join(" "));
});

Deno.test("flagsFor() lets a client read the old socket directory, and write to it if only this user can", () => {
  for (const isOurs of [true, false]) {
    const flags = flagsFor(readCommandLine(["status"]), {
      ...here,
      former: { path: "/tmp/postern-7", isOurs },
    });
    assert.ok(
      flags.includes("--allow-read=/c/postern,/s/postern,/r/postern,/tmp/postern-7"),
      flags.join(" "),
    );
    const written = `--allow-write=/s/postern,/r/postern${isOurs ? ",/tmp/postern-7" : ""}`;
    assert.ok(flags.includes(written), flags.join(" "));
  }
  const flags = flagsFor(readCommandLine(["version"]), {
    ...here,
    former: { path: "/tmp/postern-7", isOurs: true },
  });
  assert.ok(!flags.join(" ").includes("/tmp/"), flags.join(" "));
});

Deno.test("flagsFor() lets certs write only to its directory", () => {
  const args = ["konnectivity", "certs", "--san", "a.example", "--days=3", "/x/certs", "--renew"];
  const flags = flagsFor(readCommandLine(args), here);
  assert.ok(flags.includes("--allow-write=/r/postern,/x/certs"), flags.join(" "));
});

const written: readonly (readonly [line: string, places: string])[] = [
  ["konnectivity -v certs /x", "/r/postern,/x"],
  ["konnectivity certs --config c.yaml /x", "/r/postern,/x"],
  ["konnectivity server certs /x", "/r/postern"],
  ["clusters lab kubeconfig --file /x/lab.yaml", "/s/postern,/k/postern,/r/postern,/home/me/.kube,/x"],
  ["clusters lab list --file /x/lab.yaml", "/s/postern,/k/postern,/r/postern,/home/me/.kube"],
  ["clusters lab kubectl apply --file /x/a", "/s/postern,/k/postern,/r/postern,/home/me/.ssh,/home/me/.kube"],
  ["shell lab -- tool --file /x/a", "/s/postern,/k/postern,/r/postern,/home/me/.ssh,/home/me/.kube"],
  ["proxy --id --ready-file /x/a", `/s/postern,/k/postern,/r/postern,/home/me/.ssh,${ofResolver}`],
  [
    "proxy --ready-file /x/a --ready-file /y/a",
    `/s/postern,/k/postern,/r/postern,/home/me/.ssh,${ofResolver}`,
  ],
];
for (const [line, places] of written) {
  Deno.test(`flagsFor() lets "${line}" write only the paths on its command line`, () => {
    const flags = flagsFor(readCommandLine(line.split(" ")), here);
    assert.equal(flags.find((flag) => flag.startsWith("--allow-write=")), `--allow-write=${places}`);
  });
}

Deno.test("flagsFor() lets a client connect only to running instances", () => {
  const flags = flagsFor(readCommandLine(["status"]), {
    ...here,
    sockets: ["/r/postern/a.sock", "/r/postern/b.sock"],
  });
  assert.ok(flags.includes("--allow-net=unix:/r/postern/a.sock,unix:/r/postern/b.sock"), flags.join(" "));
});

for (const command of ["status", "stop", "demo", "version"]) {
  Deno.test(`flagsFor() lists the variables that ${command} may read`, () => {
    const flags = flagsFor(readCommandLine([command]), here);
    assert.ok(flags.some((flag) => flag.startsWith("--allow-env=HOME,")), flags.join(" "));
  });
}

Deno.test("flagsFor() lets an instance start itself, and the programs of ssh configurations and kubeconfigs", () => {
  const run = (more: Partial<Record<"shell" | "askpass", string>>) =>
    flagsFor(readCommandLine(["proxy"]), { ...here, ...more }).find((flag) =>
      flag.startsWith("--allow-run=")
    ) ?? "";
  assert.match(run({}), /=\/bin\/deno,\/bin\/sh,ssh,kubectl,kubelogin,/);
  assert.match(
    run({ shell: "/bin/zsh", askpass: "/bin/ask" }),
    /=\/bin\/deno,\/bin\/sh,\/bin\/zsh,ssh,\/bin\/ask,kubectl,/,
  );
});

const browsers = [
  { browser: undefined, platform: "linux", program: "xdg-open" },
  { browser: undefined, platform: "darwin", program: "open" },
  { browser: "firefox --private-window %s", platform: "linux", program: "firefox" },
  { browser: "'/opt/my browser/b' %s", platform: "linux", program: "/opt/my browser/b" },
];
for (const { browser, platform, program } of browsers) {
  Deno.test(`flagsFor() lets a sign-in start ${program} on ${platform} with BROWSER ${browser ?? "unset"}`, () => {
    const flags = flagsFor(readCommandLine(["login"]), { ...here, platform, browser });
    assert.ok(flags.includes(`--allow-run=${program},/bin/sh,ssh`), flags.join(" "));
  });
}

Deno.test("flagsFor() lets dns, cleanup and an instance write the system's resolver files below POSTERN_ROOT", () => {
  for (const command of ["dns", "cleanup", "proxy"]) {
    const flags = flagsFor(readCommandLine([command]), { ...here, system: "/image" }).join(" ");
    assert.match(flags, /--allow-write=\S*,\/image\/etc\/systemd\/resolved\.conf\.d,/);
  }
  assert.deepEqual(kindsFor(readCommandLine(["cleanup"])).includes("run"), true);
});

Deno.test("flagsFor() lets an instance connect to the ssh agent of its environment", () => {
  const flags = flagsFor(readCommandLine(["proxy"]), { ...here, agent: "/run/agent" });
  const written = `/s/postern,/k/postern,/r/postern,/home/me/.ssh,/run/agent,${ofResolver}`;
  assert.ok(flags.includes(`--allow-write=${written}`), flags.join(" "));
});

Deno.test("flagsFor() adds the directories of output files", () => {
  const flags = flagsFor(
    readCommandLine([
      "proxy",
      "--listen-unix",
      "/x/postern.sock",
      "--ready-file=/y,z/ready",
      "--log-file",
      "l",
    ]),
    here,
  );
  assert.ok(
    flags.includes(`--allow-write=/s/postern,/k/postern,/r/postern,/home/me/.ssh,${ofResolver},/x,/y,,z,.`),
    flags.join(" "),
  );
});

Deno.test("flagsFor() adds the directories of the sockets of forwards", () => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    "proxy -L /x/a.sock:db.example:5432 -L 5432:unix:b/b.sock": ["/x", "b"],
    "proxy --forward=./a.sock:unix:/y/b.sock": [".", "/y"],
    "proxy -L 127.0.0.1:1:db.example:5432 -L [::1]:1:[::1]:2": [],
    "forward /x/a.sock:db.example:5432 5432:db.example:5432": ["/x"],
    "forward svc/db 5432:5432 -n shop": [],
    "explain /x/a.sock:1": [],
  };
  for (const [words, directories] of Object.entries(cases)) {
    const line = readCommandLine(words.split(" "));
    const written = flagsFor(line, here).find((flag) => flag.startsWith("--allow-write")) ?? "";
    const [command = ""] = words.split(" ");
    const usual = flagsFor(readCommandLine([command]), here).find((flag) => flag.startsWith("--allow-write"));
    assert.equal(written, [usual, ...directories].join(","), words);
  }
});

Deno.test("flagsFor() lets only config init write to the directory of --config", () => {
  const written = (args: string[]) =>
    flagsFor(readCommandLine(args), here).find((flag) => flag.startsWith("--allow-write"));
  assert.equal(
    written(["config", "init", "--config", "/x/a.yaml"]),
    "--allow-write=/c/postern,/s/postern,/k/postern,/r/postern,/x",
  );
  assert.equal(written(["status", "--config", "/x/a.yaml"]), "--allow-write=/s/postern,/r/postern");
});

Deno.test("flagsFor() allows the control port on Windows", () => {
  assert.ok(
    flagsFor(readCommandLine(["status"]), { ...here, platform: "windows" }).includes("--allow-net=127.0.0.1"),
  );
  assert.ok(kindsFor(readCommandLine(["status"]), { platform: "windows" }).includes("net"));
  assert.ok(!kindsFor(readCommandLine(["version"]), { platform: "windows" }).includes("net"));
});

Deno.test("flagsFor() lets logs start only journalctl", () => {
  assert.ok(kindsFor(readCommandLine(["logs"])).includes("run"));
  assert.ok(flagsFor(readCommandLine(["logs"]), here).includes("--allow-run=journalctl"));
});

Deno.test("flagsFor() lets kubeconfig write to kubectl's directories", () => {
  const flags = flagsFor(readCommandLine(["kubeconfig", "--merge"]), {
    ...here,
    kubeconfig: "/x/config:/y/other",
  });
  assert.ok(
    flags.includes("--allow-write=/s/postern,/k/postern,/r/postern,/home/me/.kube,/x,/y"),
    flags.join(" "),
  );
});

for (const args of [["emergency-credentials", "a"], ["clusters", "a", "emergency-credentials"]]) {
  Deno.test(`flagsFor() lets "${args.join(" ")}" connect anywhere and write the files on its command line`, () => {
    const flags = flagsFor(readCommandLine([...args, "--file", "/x/em.yaml"]), here);
    assert.ok(flags.includes("--allow-net"));
    const writes = flags.find((flag) => flag.startsWith("--allow-write="))?.split("=")[1]?.split(",");
    assert.ok(writes?.includes("/x") && writes.includes("/home/me/.kube") && !writes.includes("/c/postern"));
    assert.ok(!flags.includes("--allow-run"));
  });
}

Deno.test("workerPermissions() are those from source, without programs and unneeded paths", () => {
  const args = ["proxy", "--ready-file", "/x/ready"];
  const own = ["/s/postern", "/k/postern", "/r/postern"];
  const of = (resolver: boolean) =>
    workerPermissions(readCommandLine(args), { ...here, agent: "/run/agent" }, {
      ssh: false,
      plugins: [],
      resolver,
    });
  const sys = ["uid", "gid", "username", "homedir", "hostname", "networkInterfaces"];
  const rest = { net: true, read: true, env: true, run: false, sys };
  assert.deepEqual(of(false), { ...rest, write: [...own, "/x"] });
  assert.deepEqual(of(true), { ...rest, write: [...own, ...ofResolver.split(","), "/x"] });
});

Deno.test("flagsFor() adds the programs of --allow-run to commands that start programs", () => {
  const facts = sourceFacts(here, (name) => name === "POSTERN_ALLOW_RUN" ? "ours,/opt/theirs" : undefined);
  assert.match(
    flagsFor(readCommandLine(["proxy"]), facts).join(" "),
    /--allow-run=\S*,exo,ours,\/opt\/theirs(?: |$)/,
  );
  assert.ok(!flagsFor(readCommandLine(["status"]), facts).some((flag) => flag.startsWith("--allow-run")));
});

Deno.test("compiledFlags() covers every command but does not allow everything", () => {
  const flags = compiledFlags();
  for (const kind of permissionKinds) {
    const isUsed = Object.values(commandGrants).some((grants) => grants[kind] !== undefined);
    assert.equal(flags.some((flag) => flag.startsWith(`--allow-${kind}`)), isUsed, kind);
  }
  assert.ok(flags.some((flag) => /^--allow-sys=uid\b/.test(flag)), flags.join(" "));
  assert.ok(!flags.some((flag) => /^--allow-(ffi|import|all)\b/.test(flag)), flags.join(" "));
});
