import assert from "node:assert/strict";
import { checkNoProxy, goNoProxy, readCaBundle } from "../../src/egress/mod.ts";
import { checkProxyUrl, type ProxyField } from "../../src/egress/check_proxy_url.ts";
import { requestOrigin } from "../../src/egress/no_proxy/request_origin.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import {
  type Dice,
  pick,
  randomNoProxy,
  randomProxyUrl,
  randomTarget,
  seededDice,
} from "../support/random_proxies.ts";
import { testTls } from "../support/tls_files.ts";

/** The answer of Go's own libraries to one question. */
type Answer = boolean | number | null;

peerTest(
  "checkNoProxy() accepts what Kubernetes and Go accept, on 30,000 lists",
  ["proxyrules"],
  async ({ proxyrules }) => {
    const lists = generated(30_000, 1, randomNoProxy).filter((list) => list !== "");
    const answers = await asked(proxyrules, lists.map((list) => ({ ask: "list", list })));
    const counts = compared(lists, answers, (list) => checkNoProxy(list).problems.length === 0);
    assert.ok(counts.yes > 2000 && counts.no > 2000, JSON.stringify(counts));
  },
);

peerTest(
  "checkProxyUrl() accepts what Go accepts, on 30,000 URLs, except for those without a host",
  ["proxyrules"],
  async ({ proxyrules }) => {
    const urls = generated(30_000, 2, (dice) => ({
      url: randomProxyUrl(dice),
      field: pick<ProxyField>(dice, ["httpProxy", "httpsProxy"]),
    })).filter(({ url }) => url !== "");
    const answers = await asked(
      proxyrules,
      urls.map(({ url, field }) => ({ ask: "proxy", url, tls: field === "httpsProxy" })),
    );
    let hostless = 0;
    const counts = compared(urls, answers, ({ url, field }, answer) => {
      const checked = checkProxyUrl(url, field);
      if (!("problem" in checked)) return true;
      const isHostless = checked.problem.reason === "HostMissing";
      if (isHostless) hostless++;
      return isHostless ? answer : false;
    });
    assert.ok(
      counts.yes > 2000 && counts.no > 2000 && hostless > 100,
      JSON.stringify({ ...counts, hostless }),
    );
  },
);

peerTest(
  "goNoProxy() decides like golang.org/x/net/http/httpproxy, on 40,000 pairs",
  ["proxyrules"],
  async ({ proxyrules }) => {
    const pairs = generated(40_000, 3, (dice) => ({ list: randomNoProxy(dice), url: randomTarget(dice) }));
    const answers = await asked(proxyrules, pairs.map((pair) => ({ ask: "direct", ...pair })));
    const known = pairs.map((pair, index) => ({ ...pair, answer: answers[index] ?? null }))
      .filter(({ answer }) => answer !== null);
    const counts = compared(known, known.map(({ answer }) => answer), ({ list, url }) => {
      const target = requestOrigin(url);
      return target !== undefined && goNoProxy(list)(target);
    });
    assert.ok(counts.yes > 4000 && counts.no > 4000, JSON.stringify(counts));
  },
);

peerTest(
  "readCaBundle() finds the same certificates as Go, or rejects what Go silently skips",
  ["proxyrules"],
  async ({ proxyrules }) => {
    const texts = generated(1000, 4, randomPem);
    const answers = await asked(proxyrules, texts.map((text) => ({ ask: "pem", text })));
    let compared = 0;
    let damaged = 0;
    for (const [index, text] of texts.entries()) {
      const { certificates, problems } = await readCaBundle(text, { now: new Date() });
      if (problems.some(({ reason }) => reason === "BrokenCertificate")) continue;
      const count = answers[index];
      compared++;
      // Go also checks the point of a key and the names of algorithms: damage that only their use would
      // reveal.
      if (count === -1) damaged++;
      else assert.equal(certificates.length === 0, count === 0, text);
    }
    assert.ok(compared > 200 && damaged < compared / 20, `${damaged} of ${compared}`);
  },
);

function generated<T>(count: number, seed: number, make: (dice: Dice) => T): T[] {
  const dice = seededDice(seed);
  return Array.from({ length: count }, () => make(dice));
}

/** Sends all questions in one run of the program. */
async function asked(proxyrules: string, questions: readonly unknown[]): Promise<Answer[]> {
  const stdin = questions.map((question) => JSON.stringify(question)).join("\n");
  // Go 1.26 rejects an IPv6 address without brackets, unless a module declares an older version.
  const env = { GODEBUG: "urlstrictcolons=1" };
  const { code, stdout, stderr } = await runPeer(proxyrules, [], { stdin, env });
  assert.equal(code, 0, stderr);
  const answers = stdout.trim().split("\n").map((line) => JSON.parse(line) as Answer);
  assert.equal(answers.length, questions.length);
  return answers;
}

/** Compares our results with Go's, and lists the first ten differences. */
function compared<T>(
  inputs: readonly T[],
  answers: readonly Answer[],
  ours: (input: T, answer: boolean) => boolean,
): { yes: number; no: number } {
  const counts = { yes: 0, no: 0 };
  const different: string[] = [];
  for (const [index, input] of inputs.entries()) {
    const answer = answers[index] === true;
    counts[answer ? "yes" : "no"]++;
    if (ours(input, answer) !== answer) different.push(`${JSON.stringify(input)}: Go says ${answer}`);
  }
  assert.deepEqual(different.slice(0, 10), [], `${different.length} differ`);
  return counts;
}

function randomPem(dice: Dice): string {
  const pieces = Array.from(
    { length: 1 + dice(4) },
    () =>
      pick(dice, [
        testTls.ca,
        testTls.ca,
        testTls.server.cert,
        testTls.client.key,
        "words\n",
        "\n",
        "# a: b\n",
      ]),
  );
  const text = pieces.join("");
  if (dice(2) === 0) return text;
  const at = dice(text.length);
  return text.slice(0, at) + pick(dice, ["", "\r", " ", "\n", "-", "x", ":"]) + text.slice(at + dice(2));
}
