import { completionScript } from "../src/cli/line/completion.ts";
import { manualPages } from "./man.ts";
import type { TarEntry } from "./tar.ts";

const root = new URL("../", import.meta.url);

/** The files of a Linux package: the program, its manual, and the shell completions. */
export async function packageFiles(
  program: Uint8Array<ArrayBuffer>,
  { date }: { readonly date: string },
): Promise<TarEntry[]> {
  const pages = [...manualPages(date)].map(async ([name, page]) =>
    file(`usr/share/man/man1/${name}.1.gz`, await gzip(page))
  );
  return [
    file("usr/bin/postern", program, 0o755),
    file("usr/share/bash-completion/completions/postern", await completionScript("bash")),
    file("usr/share/fish/vendor_completions.d/postern.fish", await completionScript("fish")),
    file("usr/share/zsh/vendor-completions/_postern", await completionScript("zsh")),
    file("usr/share/doc/postern/copyright", await Deno.readTextFile(new URL("LICENSE", root))),
    file(
      "usr/share/doc/postern/changelog.gz",
      await gzip(await Deno.readTextFile(new URL("CHANGELOG.md", root))),
    ),
    ...await Promise.all(pages),
  ];
}

async function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).bytes();
}

function file(path: string, content: string | Uint8Array<ArrayBuffer>, mode = 0o644): TarEntry {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return { type: "file", path, mode, content: bytes };
}
