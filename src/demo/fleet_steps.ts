import { readFleet, updateCatalogues } from "../fleet/mod.ts";
import { silentLog } from "../core/mod.ts";
import type { Target } from "../words/mod.ts";
import { ask } from "./demo_client.ts";
import { clusterDomain } from "./demo_lieutenant.ts";
import { type DemoStage, type DemoStep, expect } from "./demo_stage.ts";
import { InstanceClient } from "./instance_client.ts";
import { greeting, shopName } from "./far_side.ts";

const shop: Target = { host: shopName, port: 80 };

/** What `demo --once` tries of a fleet: the list of a company's clusters, and what is learnt from it. */
export function fleetSteps(stage: DemoStage): DemoStep[] {
  const { own, instance, lieutenant, jump } = stage;
  const client = new InstanceClient(stage);
  const config = `${stage.config}catalogues: [{ lieutenant: "${lieutenant.url}" }]\n`;
  const wayOf = (target: Target, signal: AbortSignal) =>
    instance.instance.explain(target, { dial: false, signal });
  return [
    {
      title: "update signs in, and fetches the clusters of the company",
      async run(signal) {
        let said = "";
        const { catalogues: [update] } = await updateCatalogues(own, { text: config }, {
          log: silentLog,
          // The one that is registered may be in use, or used by a sign-in that is no play.
          port: 0,
          say: (text) => Promise.resolve(void (said += text)),
          signal,
        });
        if (update && "error" in update) throw update.error;
        expect(update !== undefined && "clusters" in update && update.clusters === 2, "there are not two");
        expect(said.includes(`sign in at ${lieutenant.url}/sso`), `it said ${said}`);
        return "2 clusters; the browser of the sign-in was played";
      },
    },
    {
      title: "clusters lists them",
      async run() {
        const { clusters } = await readFleet(own, { text: config });
        const names = clusters.map(({ name }) => name);
        expect(names.join() === "c-demo01,c-demo02", `there are ${names.join(", ")}`);
        return names.join(", ");
      },
    },
    {
      title: "what a cluster's facts say is routed",
      async run(signal) {
        const before = await wayOf(shop, signal);
        expect(before.transport === "direct", `${shopName} went to ${before.transport} already`);
        await instance.reload(config);
        const { transport, because } = await wayOf(shop, signal);
        expect(transport === "jump", `${shopName} goes to ${transport}`);
        const answer = await ask(await client.dial("socks5", shop, signal), { target: "/", host: shopName });
        expect(answer.text.trim() === greeting, `it answered ${answer.status}`);
        expect(jump.asked.includes(`${shopName}:80`), `the ssh host was asked for ${jump.asked.join(" ")}`);
        return `${shopName} is reached by ssh, because of ${because}`;
      },
    },
    {
      title: "what they exclude goes direct",
      async run(signal) {
        const { transport } = await wayOf({ host: `www.public.${clusterDomain}`, port: 443 }, signal);
        expect(transport === "direct", `it goes to ${transport}`);
        return `public.${clusterDomain} is not routed`;
      },
    },
    {
      title: "all that goes on without the list",
      async run(signal) {
        await lieutenant[Symbol.asyncDispose]();
        await instance.reload(`${config}# read anew\n`);
        const { transport } = await wayOf(shop, signal);
        expect(transport === "jump", `${shopName} goes to ${transport}`);
        return "the clusters are known from what was stored";
      },
    },
  ];
}
