import type { Target } from "../words/mod.ts";
import { ask } from "./demo_client.ts";
import { webName, webPod, webPodPort } from "./demo_cluster.ts";
import { type DemoStage, type DemoStep, expect } from "./demo_stage.ts";
import { InstanceClient } from "./instance_client.ts";
import { bigSize, greeting } from "./far_side.ts";

const web: Target = { host: webName, port: 80 };

/** What `demo --once` tries of Kubernetes: a Service by its name, with nothing but a kubeconfig. */
export function clusterSteps(stage: DemoStage): DemoStep[] {
  const { instance, cluster } = stage;
  const client = new InstanceClient(stage);
  return [
    {
      title: "a Service of a cluster, through its API server behind the ssh host",
      async run(signal) {
        const answer = await ask(await client.dial("socks5", web, signal), { target: "/", host: webName });
        expect(answer.status === 200 && answer.text.trim() === greeting, `it answered ${answer.status}`);
        const whole = await ask(await client.dial("http", web, signal), {
          target: "/big",
          host: webName,
          endsFirst: true,
        });
        expect(whole.text.length === bigSize, `${whole.text.length} of ${bigSize} bytes arrived`);
        expect(
          stage.jump.asked.includes(cluster.address),
          `the ssh host was not asked for ${cluster.address}`,
        );
        expect(cluster.connections > 0, "the API server was asked for no port-forward");
        return `${webName} answers, ${bigSize} bytes came after our end`;
      },
    },
    {
      title: "explain names the Service, the pod and its port",
      async run(signal) {
        const { hops: [hop] } = await instance.instance.explain(web, { dial: false, signal });
        const said = hop?.detail ?? "nothing";
        const isAll = ["shop/web", webPod, String(webPodPort)].every((part) => said.includes(part));
        expect(hop?.name === "lab" && isAll, `it says ${said}`);
        return said;
      },
    },
  ];
}
