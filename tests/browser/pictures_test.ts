import assert from "node:assert/strict";
import { type PageOptions, TestBrowser } from "../support/browser.ts";
import { fill, openBusyWorld } from "../support/busy_world.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { sshPeers } from "../support/sshd.ts";

/** The pictures of the documents, which `deno task pictures` writes. */
const pictures: Readonly<Record<string, PageOptions>> = {
  "live-page-light": { colours: "light", height: 948 },
  "live-page-dark": { colours: "dark", height: 948 },
};

peerTest(
  "the live page of a busy instance, as the documents show it",
  ["chromium", ...sshPeers],
  async (paths) => {
    await using world = await openBusyWorld(paths);
    await fill(world);
    await using browser = await TestBrowser.open(paths.chromium);
    const pages = await Promise.all(
      Object.entries(pictures).map(async ([name, options]) => ({ name, page: await browser.page(options) })),
    );
    for (const { page } of pages) await page.goto(`http://${world.address}/`);
    // The test waits for a few samples of traffic; the documents need more.
    const samples = Deno.env.get("POSTERN_PICTURES") === "1" ? 40 : 3;
    for (const { name, page } of pages) {
      const shown = async () => (await page.locator("#plot-down").getAttribute("d"))?.split("L").length ?? 0;
      await eventually("enough traffic samples", async () => await shown() > samples, 120_000);
      await page.getByLabel("Host or host:port").fill("public.example.net");
      await page.getByRole("button", { name: "Explain" }).click();
      await page.getByText("Losing rule").waitFor();
      await page.getByRole("heading", { name: "postern", exact: true }).click();
      const isTooWide = await page.evaluate<boolean>(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth",
      );
      assert.equal(isTooWide, false);
      const picture = await page.screenshot({ type: "png" });
      assert.ok(picture.length < 300_000, `${picture.length} bytes`);
      if (Deno.env.get("POSTERN_PICTURES") === "1") {
        await Deno.writeFile(
          `docs/pictures/${name}.png`,
          picture,
        );
      }
      assert.deepEqual(page.complaints, []);
    }
    const [{ page } = { page: undefined }] = pages;
    const text = await page?.locator("#transports-list").innerText() ?? "";
    assert.match(text, /office[^]*jump1[^]*\d ms[^]*inner[^]*\d ms/);
    assert.match(text, /lab[^]*reachable[^]*v1\.30\.0/);
    assert.match(text, /partner[^]*Cannot reach/);
  },
);
