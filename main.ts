import settings from "./deno.json" with { type: "json" };

const { version } = settings;
const [word, ...more] = Deno.args;

// Prints the version without loading any module: programs request it often.
if (more.length === 0 && (word === "version" || word === "--version")) console.log(`postern ${version}`);
else {
  const { start } = await import("./src/start/mod.ts");
  await start(Deno.args, { version, main: import.meta.url });
}
