import { type Conn, Messages } from "../core/mod.ts";
import { formatTarget, isPosternError, type Target } from "../words/mod.ts";
import { decodeSocks4Reply, encodeSocks4Request, socks4Commands, socks4Replies } from "../wire/mod.ts";
import { ask } from "./demo_client.ts";
import { type DemoStage, type DemoStep, expect } from "./demo_stage.ts";
import { InstanceClient } from "./instance_client.ts";
import { archiveName, bigSize, greeting, hiddenName } from "./far_side.ts";

const site: Target = { host: hiddenName, port: 80 };
const archive: Target = { host: archiveName, port: 80 };
const lookAlike = `evil${hiddenName}`;

/** The steps of `demo --once`, in order. */
export function demoSteps(stage: DemoStage): DemoStep[] {
  const { world, instance, far, jump } = stage;
  const client = new InstanceClient(stage);
  return [
    {
      title: "this machine cannot resolve the site",
      async run(signal) {
        const found = await world.network.lookup(hiddenName, { signal }).catch((error: unknown) => {
          // When run from source, the demo may connect only to loopback, so it cannot query a resolver.
          const isUnresolved = (["name_not_found", "timeout", "not_allowed"] as const)
            .some((code) => isPosternError(error, code));
          if (isUnresolved) return [];
          throw error;
        });
        expect(found.length === 0, `the resolver returned ${found.join(" ")}`);
        return `the resolver does not know ${hiddenName}`;
      },
    },
    ...(["socks5", "http"] as const).map((scheme): DemoStep => ({
      title: scheme === "socks5" ? "connect with SOCKS5" : "connect with HTTP CONNECT",
      run: async (signal) => {
        const answer = await ask(await client.dial(scheme, site, signal), { target: "/", host: hiddenName });
        expect(
          answer.status === 200 && answer.text.trim() === greeting,
          `the site answered ${answer.status}`,
        );
        return `the site answered "${answer.text.trim()}"`;
      },
    })),
    {
      title: "connect with SOCKS4a",
      async run(signal) {
        const conn = await client.connect(signal);
        await conn.write(encodeSocks4Request({ command: socks4Commands.connect, target: site, user: "" }));
        const messages = new Messages(conn);
        const reply = await messages.read(decodeSocks4Reply);
        expect(reply === socks4Replies.granted, `postern refused with code ${reply}`);
        const answer = await ask(messages.goOn(), { target: "/", host: hiddenName });
        expect(answer.text.trim() === greeting, `the site answered ${answer.status}`);
        return "the site answered";
      },
    },
    {
      title: "forward a plain HTTP request",
      async run(signal) {
        const answer = await ask(await client.connect(signal), {
          target: `http://${hiddenName}/`,
          host: hiddenName,
        });
        expect(answer.text.trim() === greeting, `the site answered ${answer.status}`);
        return "the site answered GET http://…";
      },
    },
    {
      title: "the upstream proxy resolves the name",
      run() {
        const wanted = formatTarget(site);
        expect(far.asked.includes(wanted), `the proxy received ${far.asked.join(" ")}`);
        return Promise.resolve(`the proxy received the name ${wanted}`);
      },
    },
    {
      title: "connect through an ssh host from the ssh configuration",
      async run(signal) {
        const answer = await ask(await client.dial("socks5", archive, signal), {
          target: "/big",
          host: archiveName,
          endsFirst: true,
        });
        expect(answer.text.length === bigSize, `received ${answer.text.length} of ${bigSize} bytes`);
        const wanted = formatTarget(archive);
        expect(jump.asked.includes(wanted), `the ssh host connected to ${jump.asked.join(" ")}`);
        const hop = instance.instance.status().transports.find(({ name }) => name === "jump")?.hops?.[0];
        expect(hop?.state === "ready" && hop.sessions === 1, `the hop is ${hop?.state}`);
        return `signed in with a key; received ${bigSize} bytes of ${archiveName} after our half-close`;
      },
    },
    {
      title: "a half-close loses no data",
      async run(signal) {
        const answer = await ask(await client.dial("socks5", site, signal), {
          target: "/big",
          host: hiddenName,
          endsFirst: true,
        });
        expect(answer.text.length === bigSize, `received ${answer.text.length} of ${bigSize} bytes`);
        return `received ${bigSize} bytes after our half-close`;
      },
    },
    {
      title: "an unknown name and a refused port give different replies",
      async run(signal) {
        const unknown = await refusalOf(
          client.dial("socks5", { host: `unknown.${hiddenName}`, port: 80 }, signal),
        );
        const refused = await refusalOf(client.dial("socks5", { ...site, port: 81 }, signal));
        expect(unknown === "unreachable" || unknown === "name_not_found", `the unknown name gave ${unknown}`);
        expect(refused === "refused", `the closed port gave ${refused}`);
        return "SOCKS replies 4 and 5";
      },
    },
    {
      title: "a rule does not match a similar name",
      async run(signal) {
        const { transport } = await instance.instance.explain({ host: lookAlike, port: 80 }, {
          dial: false,
          signal,
        });
        expect(transport === "direct", `${lookAlike} goes to ${transport}`);
        return `${lookAlike} goes direct`;
      },
    },
    {
      title: "the PAC file gives the same routes",
      async run(signal) {
        const { text } = await client.page("/proxy.pac", signal);
        const verdict = pacVerdict(text);
        const routed = verdict(`http://${hiddenName}/`, hiddenName);
        expect(routed === `SOCKS5 ${instance.address}`, `the PAC file returned ${routed} for the site`);
        const other = verdict(`http://${lookAlike}/`, lookAlike);
        expect(other === "DIRECT", `the PAC file returned ${other} for the similar name`);
        return routed;
      },
    },
    {
      title: "the status page requires the token",
      async run(signal) {
        const without = await client.page("/status.json", signal);
        expect(
          without.status === 403 || without.status === 401,
          `without a token the page answered ${without.status}`,
        );
        const { status, text } = await client.page("/status.json", signal, instance.token);
        expect(status === 200 && JSON.parse(text).state === "ready", `the page answered ${status}`);
        return `status ${without.status} without the token, 200 with it`;
      },
    },
    {
      title: "a reload does not interrupt a download",
      async run(signal) {
        const reloaded = Promise.withResolvers<string>();
        const download = ask(await client.dial("socks5", site, signal), {
          target: "/big",
          host: hiddenName,
          onBody: () => {
            instance.reload(stage.otherConfig).then(
              ({ changes }) => reloaded.resolve(changes.join(", ")),
              reloaded.reject,
            );
          },
        });
        const [{ text }, changes] = await Promise.all([download, reloaded.promise]);
        expect(text.length === bigSize, `received ${text.length} of ${bigSize} bytes`);
        return changes;
      },
    },
  ];
}

async function refusalOf(dial: Promise<Conn>): Promise<string> {
  try {
    const conn = await dial;
    await conn[Symbol.asyncDispose]();
    return "reached";
  } catch (error) {
    if (isPosternError(error, "refused")) return "refused";
    if (isPosternError(error, "name_not_found")) return "name_not_found";
    if (isPosternError(error, "unreachable")) return "unreachable";
    throw error;
  }
}

/** Runs the script with its own functions only; browsers offer more. */
function pacVerdict(script: string): (url: string, host: string) => string {
  return new Function(`${script}; return FindProxyForURL;`)();
}
