import type { Target } from "../words/mod.ts";
import { ask } from "./demo_client.ts";
import { webName, webPod, webPodPort } from "./demo_cluster.ts";
import { type DemoStage, type DemoStep, expect } from "./demo_stage.ts";
import { InstanceClient } from "./instance_client.ts";
import { bigSize, greeting } from "./far_side.ts";

const web: Target = { host: webName, port: 80 };

/** The Kubernetes steps of `demo --once`: reach a Service by name, with only a kubeconfig. */
export function clusterSteps(stage: DemoStage): DemoStep[] {
  const { instance, cluster } = stage;
  const client = new InstanceClient(stage);
  return [
    {
      title: "connect to a Service through an API server behind the ssh host",
      async run(signal) {
        const answer = await ask(await client.dial("socks5", web, signal), { target: "/", host: webName });
        expect(
          answer.status === 200 && answer.text.trim() === greeting,
          `the Service answered ${answer.status}`,
        );
        const whole = await ask(await client.dial("http", web, signal), {
          target: "/big",
          host: webName,
          endsFirst: true,
        });
        expect(whole.text.length === bigSize, `received ${whole.text.length} of ${bigSize} bytes`);
        expect(
          stage.jump.asked.includes(cluster.address),
          `the ssh host did not connect to ${cluster.address}`,
        );
        expect(cluster.connections > 0, "the API server received no port-forward");
        return `${webName} answered; received ${bigSize} bytes after our half-close`;
      },
    },
    {
      title: "explain names the Service, the pod and its port",
      async run(signal) {
        const { hops: [hop] } = await instance.instance.explain(web, { dial: false, signal });
        const said = hop?.detail ?? "nothing";
        const isAll = ["shop/web", webPod, String(webPodPort)].every((part) => said.includes(part));
        expect(hop?.name === "lab" && isAll, `explain returned ${said}`);
        return said;
      },
    },
  ];
}
