import { readFleet, updateCatalogues } from "../fleet/mod.ts";
import { silentLog } from "../core/mod.ts";
import type { Target } from "../words/mod.ts";
import { ask } from "./demo_client.ts";
import { clusterDomain } from "./demo_lieutenant.ts";
import { type DemoStage, type DemoStep, expect } from "./demo_stage.ts";
import { InstanceClient } from "./instance_client.ts";
import { greeting, shopName } from "./far_side.ts";

const shop: Target = { host: shopName, port: 80 };

/** The catalogue steps of `demo --once`: fetch a list of clusters and use its facts. */
export function fleetSteps(stage: DemoStage): DemoStep[] {
  const { own, instance, lieutenant, jump } = stage;
  const client = new InstanceClient(stage);
  const config = `${stage.config}catalogues: [{ lieutenant: "${lieutenant.url}" }]\n`;
  const wayOf = (target: Target, signal: AbortSignal) =>
    instance.instance.explain(target, { dial: false, signal });
  return [
    {
      title: "update signs in and fetches the catalogue",
      async run(signal) {
        let said = "";
        const { catalogues: [update] } = await updateCatalogues(own, { text: config }, {
          log: silentLog,
          // The registered port may be in use by a real sign-in.
          port: 0,
          say: (text) => Promise.resolve(void (said += text)),
          signal,
        });
        if (update && "error" in update) throw update.error;
        expect(
          update !== undefined && "clusters" in update && update.clusters === 2,
          "the catalogue does not contain 2 clusters",
        );
        expect(said.includes(`sign in at ${lieutenant.url}/sso`), `update printed ${said}`);
        return "2 clusters; a simulated browser signed in";
      },
    },
    {
      title: "the stored catalogue lists the clusters",
      async run() {
        const { clusters } = await readFleet(own, { text: config });
        const names = clusters.map(({ name }) => name);
        expect(names.join() === "c-demo01,c-demo02", `the catalogue lists ${names.join(", ")}`);
        return names.join(", ");
      },
    },
    {
      title: "the facts of a cluster add routes",
      async run(signal) {
        const before = await wayOf(shop, signal);
        expect(before.transport === "direct", `${shopName} already went to ${before.transport}`);
        await instance.reload(config);
        const { transport, because } = await wayOf(shop, signal);
        expect(transport === "jump", `${shopName} goes to ${transport}`);
        const answer = await ask(await client.dial("socks5", shop, signal), { target: "/", host: shopName });
        expect(answer.text.trim() === greeting, `the site answered ${answer.status}`);
        expect(jump.asked.includes(`${shopName}:80`), `the ssh host connected to ${jump.asked.join(" ")}`);
        return `${shopName} goes through ssh: ${because}`;
      },
    },
    {
      title: "the facts exclude a domain",
      async run(signal) {
        const { transport } = await wayOf({ host: `www.public.${clusterDomain}`, port: 443 }, signal);
        expect(transport === "direct", `the domain goes to ${transport}`);
        return `public.${clusterDomain} goes direct`;
      },
    },
    {
      title: "the routes outlast the catalogue server",
      async run(signal) {
        await lieutenant[Symbol.asyncDispose]();
        await instance.reload(`${config}# changed\n`);
        const { transport } = await wayOf(shop, signal);
        expect(transport === "jump", `${shopName} goes to ${transport}`);
        return "postern uses the stored catalogue";
      },
    },
  ];
}
