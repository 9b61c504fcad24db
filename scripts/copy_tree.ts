/** Copies a file, or a directory with its contents. */
export async function copyTree(from: string, to: string): Promise<void> {
  if ((await Deno.stat(from)).isFile) return await Deno.copyFile(from, to);
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) await copyTree(`${from}/${name}`, `${to}/${name}`);
}
