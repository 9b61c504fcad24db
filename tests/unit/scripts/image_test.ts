import assert from "node:assert/strict";
import { readElf } from "../../../scripts/elf.ts";
import { imageRoot } from "../../../scripts/image_root.ts";
import { writeOciLayout } from "../../../scripts/oci_layout.ts";
import type { TarEntry } from "../../../scripts/tar.ts";

/**
 * Builds a 64-bit program or library with dependencies: three segments; the second one gives the address of
 * the names.
 */
function elf(
  { machine = 62, interpreter = "", needed = [] as readonly string[], more = "" },
): Uint8Array<ArrayBuffer> {
  const names = ["", interpreter, ...needed];
  const places = names.map((_, at) => names.slice(0, at).join("\0").length + (at > 0 ? 1 : 0));
  const table = new TextEncoder().encode(`${names.join("\0")}\0${more}`);
  const strings = 64 + 3 * 56, dynamic = strings + table.length, base = 0x40_0000;
  const rows = [...needed.map((_, at) => [1, places[at + 2] ?? 0]), [5, base + strings], [10, table.length], [
    0,
    0,
  ]];
  const bytes = new Uint8Array(dynamic + 16 * rows.length), view = new DataView(bytes.buffer);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
  view.setUint16(18, machine, true);
  view.setBigUint64(32, 64n, true);
  view.setUint16(54, 56, true);
  view.setUint16(56, interpreter ? 3 : 2, true);
  const segment = (at: number, kind: number, offset: number, size: number) => {
    view.setUint32(at, kind, true);
    view.setBigUint64(at + 8, BigInt(offset), true);
    view.setBigUint64(at + 16, BigInt(base + offset), true);
    view.setBigUint64(at + 32, BigInt(size), true);
  };
  segment(64, 1, 0, bytes.length);
  segment(120, 2, dynamic, 16 * rows.length);
  segment(176, 3, strings + (places[1] ?? 0), interpreter.length + 1);
  bytes.set(table, strings);
  for (const [at, [tag = 0, value = 0]] of rows.entries()) {
    view.setBigUint64(dynamic + 16 * at, BigInt(tag), true);
    view.setBigUint64(dynamic + 16 * at + 8, BigInt(value), true);
  }
  return bytes;
}

Deno.test("readElf() returns the requirements of a program", () => {
  const more = "GLIBC_2.9\0GLIBC_2.27\0GLIBC_2.3.4\0";
  assert.deepEqual(readElf(elf({ interpreter: "/lib64/ld.so", needed: ["libc.so.6", "libm.so.6"], more })), {
    machine: "amd64",
    interpreter: "/lib64/ld.so",
    needed: ["libc.so.6", "libm.so.6"],
    glibc: "2.27",
  });
  const little = { machine: "arm64", interpreter: undefined, needed: [], glibc: undefined };
  assert.deepEqual(readElf(elf({ machine: 183 })), little);
  assert.throws(() => readElf(new TextEncoder().encode("#!/bin/sh\n")), /not a Linux program/);
  assert.throws(() => readElf(elf({ machine: 3 })), /unknown machine 3/);
});

Deno.test("imageRoot() collects the libraries of a program and their libraries, without this machine's additions", async () => {
  const system = await Deno.makeTempDir();
  try {
    const put = async (path: string, content: Uint8Array<ArrayBuffer> | string) => {
      await Deno.mkdir(`${system}/${path.replace(/\/[^/]*$/, "")}`, { recursive: true });
      await Deno.writeFile(
        `${system}/${path}`,
        typeof content === "string" ? new TextEncoder().encode(content) : content,
      );
    };
    await put("lib/aarch64-linux-gnu/liba.so.1", elf({ machine: 183, needed: ["libb.so.2"] }));
    await put("usr/lib/aarch64-linux-gnu/libb.so.2", elf({ machine: 183, needed: ["liba.so.1"] }));
    await put("lib/aarch64-linux-gnu/ld-linux.so.1", elf({ machine: 183 }));
    await put("lib/x86_64-linux-gnu/libc.so.6", elf({}));
    await put("usr/share/ca-certificates/mozilla/B.crt", "B");
    await put("usr/share/ca-certificates/mozilla/A.crt", "A\n");
    await put("usr/local/share/ca-certificates/mine.crt", "mine");
    await put("etc/ssl/certs/ca-certificates.crt", "A\nB\nmine");
    const program = elf({ machine: 183, interpreter: "/lib/ld-linux.so.1", needed: ["liba.so.1"] });
    const root = await imageRoot({ program, system, license: "free" });
    assert.equal(root.machine, "arm64");
    const paths = (entries: readonly TarEntry[]) =>
      entries.filter(({ type }) => type === "file").map(({ path }) => path).sort();
    assert.deepEqual(paths(root.base), [
      "etc/group",
      "etc/nsswitch.conf",
      "etc/passwd",
      "etc/ssl/certs/ca-certificates.crt",
      "lib/aarch64-linux-gnu/liba.so.1",
      "lib/ld-linux.so.1",
      "usr/lib/aarch64-linux-gnu/libb.so.2",
    ]);
    assert.deepEqual(paths(root.program), ["usr/bin/postern", "usr/share/doc/postern/copyright"]);
    const authorities = root.base.find(({ path }) => path === "etc/ssl/certs/ca-certificates.crt");
    assert.equal(authorities?.type === "file" && new TextDecoder().decode(authorities.content), "A\nB\n");
    assert.equal(root.base.find(({ path }) => path === "tmp")?.mode, 0o1777);
    const lacking = elf({ machine: 183, needed: ["libz.so.9"] });
    await assert.rejects(
      imageRoot({ program: lacking, system, license: "" }),
      /Cannot find the library libz.so.9/,
    );
  } finally {
    await Deno.remove(system, { recursive: true });
  }
});

Deno.test("writeOciLayout() names blobs by their content and is reproducible", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const make = (name: string, content: string) =>
      writeOciLayout(`${directory}/${name}`, {
        machine: "amd64",
        layers: [{
          about: "a file",
          entries: [{ type: "file", path: "a", mode: 0o644, content: new TextEncoder().encode(content) }],
        }],
        config: { User: "1:1" },
        annotations: { "org.opencontainers.image.title": "test" },
        tag: "1.2.3",
        time: 1_000_000_000,
      });
    const digest = await make("one", "content");
    assert.equal(await make("two", "content"), digest);
    assert.notEqual(await make("three", "other content"), digest);
    const json = async (path: string) => JSON.parse(await Deno.readTextFile(`${directory}/one/${path}`));
    const index = await json("index.json");
    assert.deepEqual(index.manifests.map((manifest: Record<string, unknown>) => manifest["digest"]), [
      digest,
    ]);
    const manifest = await json(`blobs/${digest.replace(":", "/")}`);
    const config = await json(`blobs/${manifest.config.digest.replace(":", "/")}`);
    assert.equal(config.created, "2001-09-09T01:46:40.000Z");
    for (const { digest, size } of [...index.manifests, manifest.config, ...manifest.layers]) {
      const blob = await Deno.readFile(`${directory}/one/blobs/${digest.replace(":", "/")}`);
      assert.equal(blob.length, size);
      assert.equal(`sha256:${new Uint8Array(await crypto.subtle.digest("SHA-256", blob)).toHex()}`, digest);
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
