import assert from "node:assert/strict";
import { inNamespace } from "../support/namespaces.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { compiled, Instance } from "../support/postern_process.ts";

const script = new URL("../../scripts/image.ts", import.meta.url).pathname;
const name = "the container image is complete, and its program runs as its user on a read-only root";

/** A container's start options, which umoci reads from the image. */
interface Bundle {
  readonly process: {
    readonly args: readonly string[];
    readonly env: readonly string[];
    readonly cwd: string;
    readonly user: { readonly uid: number; readonly gid: number };
  };
}

const namespace = inNamespace("--mount");
const program = compiled();
if (program === undefined) skippedTest(name, "only on a compiled program: POSTERN_BIN is not set");
else if ("missing" in namespace) skippedTest(name, namespace.missing);
else {
  peerTest(name, ["skopeo", "umoci", "curl"], async ({ skopeo, umoci, curl }, t) => {
    const directory = await Deno.makeTempDir({ prefix: "image-" });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => Deno.remove(directory, { recursive: true }));
    const layout = `${directory}/made`;
    const run = async (path: string, ...args: readonly string[]) => {
      const { code, stdout, stderr } = await runPeer(path, args, {
        env: { HOME: directory },
        cwd: directory,
      });
      assert.equal(code, 0, stderr);
      return stdout.trim();
    };
    const said = await run(
      Deno.execPath(),
      ...[
        "run",
        "--no-prompt",
        "--allow-read",
        `--allow-write=${directory}`,
        "--allow-env=SOURCE_DATE_EPOCH",
      ],
      ...[script, "--program", program, "--output", layout, "--revision", "abc"],
    );
    const [, tag, digest] = /^image: \S+:([0-9.]+): (sha256:[0-9a-f]{64})$/.exec(said) ?? [];

    await t.step("skopeo verifies the image, and copies it blob by blob", async () => {
      const image = JSON.parse(await run(skopeo, "inspect", `oci:${layout}:${tag}`));
      assert.equal(image.Digest, digest);
      assert.equal(image.Os, "linux");
      assert.equal(image.Labels["org.opencontainers.image.version"], tag);
      assert.equal(image.Labels["org.opencontainers.image.revision"], "abc");
      assert.equal(image.Layers.length, 2);
      const copy = ["copy", "--insecure-policy", "--preserve-digests"];
      await run(skopeo, ...copy, `oci:${layout}:${tag}`, `oci:${directory}/copy:${tag}`);
      assert.equal(JSON.parse(await run(skopeo, "inspect", `oci:${directory}/copy:${tag}`)).Digest, digest);
    });

    const bundle = `${directory}/bundle`, root = `${bundle}/rootfs`;
    await run(umoci, "unpack", "--image", `${layout}:${tag}`, bundle);
    const { process }: Bundle = JSON.parse(await Deno.readTextFile(`${bundle}/config.json`));

    await t.step("it has its own user, no shell, and no other program", async () => {
      assert.deepEqual([process.user.uid, process.user.gid], [65_532, 65_532]);
      assert.deepEqual(process.args, ["/usr/bin/postern", "help"]);
      assert.match(await Deno.readTextFile(`${root}/etc/passwd`), /^postern:x:65532:65532:/m);
      const programs = (await Array.fromAsync(Deno.readDir(`${root}/usr/bin`))).map(({ name }) => name);
      assert.deepEqual(programs, ["postern"]);
      assert.match(await Deno.readTextFile(`${root}/etc/ssl/certs/ca-certificates.crt`), /BEGIN CERTIFICATE/);
      assert.equal((await Deno.stat(`${root}/home/postern`)).uid, 65_532);
      assert.equal(((await Deno.stat(`${root}/tmp`)).mode ?? 0) & 0o7777, 0o1777);
    });

    // Provided by a container runtime.
    await Deno.writeTextFile(`${root}/etc/hosts`, "127.0.0.1 localhost page.example\n");
    const container = (...args: readonly string[]) => {
      // As in a pod: everything is read-only except for the mounts of temporary files and a home.
      const mounts = [
        `mount --bind ${root} ${root}`,
        `mount -o remount,ro,bind ${root}`,
        `mount --rbind /proc ${root}/proc`,
        ...["tmp", "home/postern"].map((path) => `mount -t tmpfs -o mode=1777 tmpfs ${root}/${path}`),
      ].join(" && ");
      const [shell = "", ...rest] = namespace.wrap(mounts);
      const [entry = "", ...given] = [...process.args.slice(0, 1), ...args];
      const user = `--userspec=${process.user.uid}:${process.user.gid}`;
      return new Deno.Command(shell, {
        args: [
          ...rest,
          "/usr/bin/env",
          "-i",
          ...process.env,
          "/usr/sbin/chroot",
          user,
          root,
          entry,
          ...given,
        ],
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      });
    };

    await t.step("it prints its version", async () => {
      const { stdout, stderr } = await container("--version").output();
      assert.equal(new TextDecoder().decode(stdout), `postern ${tag}\n`, new TextDecoder().decode(stderr));
    });

    await t.step(
      "its agent is healthy, not ready without a server, and ends with a signal",
      async () => {
        await using agent = new Instance(
          container(
            ...["konnectivity", "agent", "--proxy-server-host=127.0.0.1", "--proxy-server-port=1"],
            ...["--ca-cert=/etc/ssl/certs/ca-certificates.crt"],
            ...["--health-server-host=127.0.0.1", "--health-server-port=0"],
          ).spawn(),
        );
        const address = await agent.address();
        const status = async (path: string) =>
          (await runPeer(curl, ["-s", "-o", "/dev/null", "-w", "%{http_code}", `http://${address}${path}`]))
            .stdout;
        assert.equal(await status("/healthz"), "200");
        assert.equal(await status("/readyz"), "503");
        // No connection is open, so the first signal suffices.
        agent.kill("SIGTERM");
        assert.equal((await agent.ended).code, 0);
      },
    );

    await t.step("its proxy works, with a name resolved by the image's libraries", async () => {
      const page = await stack.use(await origin());
      await using instance = new Instance(
        container("proxy", "--listen", "127.0.0.1:0", "--route", "nowhere.example=reject").spawn(),
      );
      const proxy = `http://${await instance.address()}`;
      const { stdout } = await runPeer(curl, ["-sS", "-p", "-x", proxy, `http://page.example:${page.port}/`]);
      assert.equal(stdout, "page", instance.stderr);
      instance.kill("SIGTERM");
      assert.equal((await instance.ended).code, 0);
    });
  });
}

/** Serves a page on loopback. */
function origin(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("page"),
  );
  return Promise.resolve({ port: server.addr.port, [Symbol.asyncDispose]: () => server.shutdown() });
}
