import settings from "./deno.json" with { type: "json" };

const { version } = settings;
const [word, ...more] = Deno.args;

// The answer that programs ask for most often loads nothing at all.
if (more.length === 0 && (word === "version" || word === "--version")) console.log(`postern ${version}`);
else {
  const { start } = await import("./src/start/mod.ts");
  await start(Deno.args, { version, main: import.meta.url });
}
