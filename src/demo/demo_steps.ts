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

/** What `demo --once` tries, in order. */
export function demoSteps(stage: DemoStage): DemoStep[] {
  const { world, instance, far, jump } = stage;
  const client = new InstanceClient(stage);
  return [
    {
      title: "the site has no name on this side",
      async run(signal) {
        const found = await world.network.lookup(hiddenName, { signal }).catch((error: unknown) => {
          // From source the demo may speak to loopback only, so no resolver is asked at all.
          const isUnresolved = (["name_not_found", "timeout", "not_allowed"] as const)
            .some((code) => isPosternError(error, code));
          if (isUnresolved) return [];
          throw error;
        });
        expect(found.length === 0, `the resolver answered ${found.join(" ")}`);
        return `${hiddenName} cannot be resolved here`;
      },
    },
    ...(["socks5", "http"] as const).map((scheme): DemoStep => ({
      title: scheme === "socks5" ? "by SOCKS5" : "by HTTP CONNECT",
      run: async (signal) => {
        const answer = await ask(await client.dial(scheme, site, signal), { target: "/", host: hiddenName });
        expect(answer.status === 200 && answer.text.trim() === greeting, `it answered ${answer.status}`);
        return `the site says "${answer.text.trim()}"`;
      },
    })),
    {
      title: "by SOCKS4a",
      async run(signal) {
        const conn = await client.connect(signal);
        await conn.write(encodeSocks4Request({ command: socks4Commands.connect, target: site, user: "" }));
        const messages = new Messages(conn);
        const reply = await messages.read(decodeSocks4Reply);
        expect(reply === socks4Replies.granted, `the door refused with ${reply}`);
        const answer = await ask(messages.goOn(), { target: "/", host: hiddenName });
        expect(answer.text.trim() === greeting, `it answered ${answer.status}`);
        return "the oldest of the protocols reaches it too";
      },
    },
    {
      title: "by plain HTTP through the proxy",
      async run(signal) {
        const answer = await ask(await client.connect(signal), {
          target: `http://${hiddenName}/`,
          host: hiddenName,
        });
        expect(answer.text.trim() === greeting, `it answered ${answer.status}`);
        return "GET http://… is forwarded";
      },
    },
    {
      title: "the name was resolved on the far side",
      run() {
        const wanted = formatTarget(site);
        expect(far.asked.includes(wanted), `it was asked for ${far.asked.join(" ")}`);
        return Promise.resolve(`the far side was asked for ${wanted}`);
      },
    },
    {
      title: "through an ssh host, by its own ssh configuration",
      async run(signal) {
        const answer = await ask(await client.dial("socks5", archive, signal), {
          target: "/big",
          host: archiveName,
          endsFirst: true,
        });
        expect(answer.text.length === bigSize, `${answer.text.length} of ${bigSize} bytes arrived`);
        const wanted = formatTarget(archive);
        expect(jump.asked.includes(wanted), `the ssh host was asked for ${jump.asked.join(" ")}`);
        const hop = instance.instance.status().transports.find(({ name }) => name === "jump")?.hops?.[0];
        expect(hop?.state === "ready" && hop.sessions === 1, `its state is ${hop?.state}`);
        return `signed in with a key, ${bigSize} bytes of ${archiveName} came after our end`;
      },
    },
    {
      title: "a half-close loses nothing",
      async run(signal) {
        const answer = await ask(await client.dial("socks5", site, signal), {
          target: "/big",
          host: hiddenName,
          endsFirst: true,
        });
        expect(answer.text.length === bigSize, `${answer.text.length} of ${bigSize} bytes arrived`);
        return `${bigSize} bytes came after our end`;
      },
    },
    {
      title: "an unknown name is told from a refused port",
      async run(signal) {
        const unknown = await refusalOf(
          client.dial("socks5", { host: `nobody.${hiddenName}`, port: 80 }, signal),
        );
        const refused = await refusalOf(client.dial("socks5", { ...site, port: 81 }, signal));
        expect(unknown === "unreachable" || unknown === "name_not_found", `the unknown name was ${unknown}`);
        expect(refused === "refused", `the closed port was ${refused}`);
        return "SOCKS replies 4 and 5";
      },
    },
    {
      title: "a name that only looks alike is not routed",
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
      title: "a browser's PAC file says the same",
      async run(signal) {
        const { text } = await client.page("/proxy.pac", signal);
        const verdict = pacVerdict(text);
        const routed = verdict(`http://${hiddenName}/`, hiddenName);
        expect(routed === `SOCKS5 ${instance.address}`, `it says ${routed} for the site`);
        const other = verdict(`http://${lookAlike}/`, lookAlike);
        expect(other === "DIRECT", `it says ${other} for the other name`);
        return routed;
      },
    },
    {
      title: "the page shows its state to whoever has the token",
      async run(signal) {
        const without = await client.page("/status.json", signal);
        expect(
          without.status === 403 || without.status === 401,
          `without a token it answers ${without.status}`,
        );
        const { status, text } = await client.page("/status.json", signal, instance.token);
        expect(status === 200 && JSON.parse(text).state === "ready", `it answered ${status}`);
        return "without the token it shows nothing";
      },
    },
    {
      title: "a reload leaves a download alone",
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
        expect(text.length === bigSize, `${text.length} of ${bigSize} bytes arrived`);
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

/** Runs the script as a browser would: it has no functions but its own. */
function pacVerdict(script: string): (url: string, host: string) => string {
  return new Function(`${script}; return FindProxyForURL;`)();
}
