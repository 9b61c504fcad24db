import assert from "node:assert/strict";
import { runDeno } from "../../../scripts/bundle.ts";

const root = decodeURIComponent(new URL("../../../", import.meta.url).pathname);
const page = `${root}src/listeners/pages/live_page`;

Deno.test("code for browsers passes the type check with browser types", async () => {
  const scripts = Deno.readDirSync(page).map(({ name }) => name).filter((name) => name.endsWith(".js"));
  const paths = [...scripts].map((name) => `${page}/${name}`);
  assert.ok(paths.length > 10);
  await runDeno(["check", "--quiet", "--config", `${root}scripts/browser_code.json`, ...paths]);
});

Deno.test("the live page includes every file of its directory", async () => {
  const text = await Deno.readTextFile(`${root}src/listeners/pages/live_page.ts`);
  for (const { name } of Deno.readDirSync(page)) assert.ok(text.includes(`"./live_page/${name}"`), name);
});
