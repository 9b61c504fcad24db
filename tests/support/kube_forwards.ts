import { KubeClient } from "../../src/kube/api/kube_client.ts";
import { readKubeConfig } from "../../src/kube/api/kube_config.ts";
import { directDialer } from "../../src/http/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import type { HalfClose, KubeUpgrades } from "../../src/kube/forward/forward_api.ts";
import type { ForwardForm } from "../../src/kube/forward/forward_forms.ts";
import type { ForwardLimits } from "../../src/kube/forward/forward_limits.ts";
import { ForwardPool } from "../../src/kube/forward/forward_pool.ts";
import { Fields } from "../../src/wire/mod.ts";

export interface KubeForwardsOptions {
  /** The kubeconfig; its current context is used. */
  readonly kubeconfig: string;
  readonly halfClose?: HalfClose;
  readonly limits?: Partial<ForwardLimits>;
  /** The first accepted form; better ones are refused, as by an older server. */
  readonly form?: ForwardForm;
}

/** Port-forwards through a real API server, without higher layers. */
export class KubeForwards implements AsyncDisposable {
  readonly pool: ForwardPool;
  readonly notes: string[] = [];
  readonly broken: string[] = [];
  readonly #client: KubeClient;

  private constructor(client: KubeClient, { halfClose = "pass", limits = {}, form }: KubeForwardsOptions) {
    this.#client = client;
    this.pool = new ForwardPool({
      clock: systemClock,
      api: form === undefined ? client : refusing(client, form),
      halfClose,
      limits,
      onNote: (text) => this.notes.push(text),
      onBroken: (pod, error) => this.broken.push(`${pod}: ${error}`),
    });
  }

  static async open(options: KubeForwardsOptions): Promise<KubeForwards> {
    const config = await readKubeConfig(createFiles(systemClock), [options.kubeconfig]);
    const network = createNetwork();
    const client = new KubeClient(config.context(config.currentContext ?? ""), {
      clock: systemClock,
      network,
      dial: directDialer({ clock: systemClock, network }),
      files: createFiles(systemClock),
      process: { run: () => Promise.reject(new Error("no plugins here")) },
    });
    return new KubeForwards(client, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool[Symbol.asyncDispose]();
    await this.#client[Symbol.asyncDispose]();
  }
}

function refusing(api: KubeUpgrades, first: ForwardForm): KubeUpgrades {
  const forms = ["websocket", "spdy", "v4"];
  return {
    name: api.name,
    upgrade: async (request, options) => {
      const form = request.method === "POST" ? "spdy" : request.path.includes("?ports=") ? "v4" : "websocket";
      if (forms.indexOf(form) >= forms.indexOf(first)) return await api.upgrade(request, options);
      return { status: 400, fields: new Fields(), text: 'query parameter "port" is required' };
    },
  };
}
