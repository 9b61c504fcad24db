import assert from "node:assert/strict";
import { parseSelector } from "../../../src/clusters/selector.ts";
import { isPosternError } from "../../../src/words/mod.ts";

const labels: Readonly<Record<string, string>> = {
  cloud: "exoscale",
  region: "ch-gva-2",
  jumphost: "",
  accessPolicy: "regular",
  nodes: "12",
  "example.net/team": "a_b",
};

const cases: readonly (readonly [selector: string, isChosen: boolean])[] = [
  ["", true],
  ["cloud=exoscale", true],
  ["cloud==exoscale", true],
  ["cloud = exoscale , region=ch-gva-2", true],
  ["cloud=exoscale,region=rma1", false],
  ["cloud!=exoscale", false],
  ["tenant!=t-a", true],
  ["region in (rma1, ch-gva-2)", true],
  ["region in (rma1,lpg1)", false],
  ["region notin (rma1)", true],
  ["tenant notin (t-a)", true],
  ["tenant in (t-a)", false],
  ["cloud", true],
  ["!cloud", false],
  ["! tenant", true],
  ["tenant", false],
  ["jumphost=", true],
  ["cloud=", false],
  ["nodes>11", true],
  ["nodes > 12", false],
  ["nodes<100", true],
  ["cloud>1", false],
  ["example.net/team=a_b", true],
  ["region in (rma1,ch-gva-2),cloud notin (vsphere),!tenant", true],
];
for (const [selector, isChosen] of cases) {
  Deno.test(`parseSelector() matches "${selector}": ${isChosen}`, () => {
    assert.equal(parseSelector(selector)((name) => labels[name]), isChosen);
  });
}

for (
  const selector of [
    "cloud=a b",
    "cloud in",
    "cloud in (a",
    ",",
    "a,",
    ",a",
    "a,,b",
    "=a",
    "a=b=c",
    "(a)",
    "a in b",
    "n>x",
    "-a",
  ]
) {
  Deno.test(`parseSelector() refuses "${selector}"`, () => {
    assert.throws(() => parseSelector(selector), (error) => isPosternError(error, "usage"));
  });
}
