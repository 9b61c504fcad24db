import assert from "node:assert/strict";
import { TestBrowser } from "../support/browser.ts";
import { farSide } from "../support/far_side.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { throughSocks5 } from "../support/raw_client.ts";
import { echoServer } from "../support/target_server.ts";

peerTest(
  "the live page shows a new connection and closes it",
  ["chromium"],
  async ({ chromium }) => {
    await using home = await Household.open();
    await using target = echoServer();
    await using far = farSide({ "db.lab.example:5432": target.address });
    await home.configure(`
transports: { lab: { proxy: { url: "socks5h://${far.address}" } } }
routes: [{ to: lab.example, via: lab }]
`);
    await using instance = await home.instance();
    const address = await instance.address();
    await using browser = await TestBrowser.open(chromium);
    const page = await browser.page();
    await page.goto(`http://${address}/`);
    await page.getByText("No clients are connected").waitFor();
    using client = await throughSocks5(address, { host: "db.lab.example", port: 5432 });
    await client.send("hello");
    await client.take(5);
    const row = page.getByRole("row", { name: /db\.lab\.example:5432/ });
    await row.waitFor();
    assert.match(await row.innerText(), /lab[^]*rule "lab\.example"[^]*127\.0\.0\.1:/);
    await row.getByRole("button", { name: "Close connection to db.lab.example:5432", includeHidden: true })
      .click();
    await page.getByText("Closed the connection to db.lab.example:5432.").waitFor();
    await row.waitFor({ state: "detached" });
    await assert.rejects(client.take(1));
    await page.getByRole("radio", { name: "Ended" }).check({ force: true });
    await page.getByRole("row", { name: /db\.lab\.example:5432.*closed/ }).waitFor();
    assert.deepEqual(page.complaints, []);
  },
);
