import assert from "node:assert/strict";
import { addThoseBehind } from "../../../src/setup/proposal.ts";
import { proposed, rule } from "./found_fixtures.ts";

const cases: {
  readonly name: string;
  readonly ssh: string;
  readonly lines: readonly string[];
  readonly notes?: RegExp;
}[] = [
  { name: "nothing without a jump host", ssh: "Host github.com\n  User git\nHost web\n", lines: [] },
  {
    name: "the domain that hosts behind one jump host share",
    ssh: "Host bastion\n  HostName bastion.corp.example\n" +
      "Host db1 db2\n  HostName %h.prod.corp.example\n  ProxyJump bastion\n",
    lines: [
      "transports:",
      "  bastion: { ssh: bastion }",
      "routes:",
      "  - { to: .prod.corp.example, via: bastion }",
    ],
  },
  {
    name: "single hosts when another host of their domain needs no jump host",
    ssh: "Host bastion\nHost a b\n  HostName %h.corp.example\n  ProxyJump bastion\nHost www.corp.example\n",
    lines: [
      "transports:",
      "  bastion: { ssh: bastion }",
      "routes:",
      "  - { to: [=a.corp.example, =b.corp.example], via: bastion }",
    ],
  },
  {
    name: "a single host alone",
    ssh: "Host bastion\nHost a.corp.example\n  ProxyJump bastion\n",
    lines: [
      "transports:",
      "  bastion: { ssh: bastion }",
      "routes:",
      "  - { to: =a.corp.example, via: bastion }",
    ],
  },
  {
    name: "single hosts in a public or shared domain",
    ssh: "Host gw\nHost a.co.uk b.co.uk\n  ProxyJump gw\n" +
      "Host x.eu-west-1.compute.amazonaws.com y.eu-west-1.compute.amazonaws.com\n  ProxyJump gw\n",
    lines: [
      "transports:",
      "  gw: { ssh: gw }",
      "routes:",
      "  - { to: =a.co.uk, via: gw }",
      "  - { to: =b.co.uk, via: gw }",
      "  - { to: =x.eu-west-1.compute.amazonaws.com, via: gw }",
      "  - { to: =y.eu-west-1.compute.amazonaws.com, via: gw }",
    ],
  },
  {
    name: "patterns that mean the same",
    ssh: "Host *.lab.example 10.20.* 10.30.1.* !gw.lab.example\n  ProxyJump gw.lab.example\n",
    lines: [
      "transports:",
      "  gw.lab.example: { ssh: gw.lab.example }",
      "routes:",
      "  - { to: .lab.example, via: gw.lab.example }",
      "  - { to: 10.20.0.0/16, via: gw.lab.example }",
      "  - { to: 10.30.1.0/24, via: gw.lab.example }",
    ],
  },
  {
    name: "no route for a host that a pattern contains",
    ssh:
      "Host gw\nHost db.lab.example\n  LocalForward 1 pg.lab.example:1\nHost *.lab.example\n  ProxyJump gw\n",
    lines: [
      "transports:",
      "  gw: { ssh: gw }",
      "  db.lab.example: { ssh: db.lab.example }",
      "routes:",
      "  - { to: .lab.example, via: gw }",
      "  - { to: =pg.lab.example, via: db.lab.example }",
    ],
  },
  {
    name: "no route for a loopback address",
    ssh:
      "Host gw\nHost a\n  HostName localhost\n  ProxyJump gw\nHost b\n  HostName 127.0.0.1\n  ProxyJump gw\n" +
      "Host 127.* *.localhost\n  ProxyJump gw\n",
    lines: ["transports:", "  gw: { ssh: gw }"],
  },
  {
    name: "no route for patterns that are too broad or have no equal",
    ssh: "Host *.com db-*\n  ProxyJump gw\n",
    lines: ["transports:", "  gw: { ssh: gw }"],
  },
  {
    name: "no jump host for every host",
    ssh: "Host *\n  ProxyJump gw\n",
    lines: [],
    notes: /config:1: Host \*: postern does not propose gw for every host/,
  },
  {
    name: "private addresses of one network",
    ssh:
      "Host gw\nHost a\n  HostName 10.1.2.3\n  ProxyJump gw\nHost b\n  HostName 10.1.2.9\n  ProxyJump gw\n" +
      "Host c\n  HostName 192.0.2.7\n  ProxyJump gw\n",
    lines: [
      "transports:",
      "  gw: { ssh: gw }",
      "routes:",
      "  - { to: 10.1.2.0/24, via: gw }",
      '  - { to: "192.0.2.7", via: gw }',
    ],
  },
  {
    name: "the targets of LocalForward, but not the server itself",
    ssh:
      "Host eu\n  HostName eu.example\n  LocalForward 5432 pg.eu.internal:5432\n  LocalForward 8080 localhost:80\n" +
      "  LocalForward [::1]:9090 [fd00::1]:90\n  LocalForward /tmp/s /run/s\n",
    lines: [
      "transports:",
      "  eu: { ssh: eu }",
      "routes:",
      "  - { to: =pg.eu.internal, via: eu }",
      '  - { to: "fd00::1", via: eu }',
    ],
  },
  {
    name: "a jump host by its name, with its domain as a comment",
    ssh: "Host my-bastion-2\n  HostName jump.corp.example\n",
    lines: ["transports:", "  my-bastion-2: { ssh: my-bastion-2 }"],
  },
  {
    name: "a jump host by DynamicForward",
    ssh: "Host office\n  HostName office.corp.example\n  DynamicForward 1080\n",
    lines: ["transports:", "  office: { ssh: office }"],
  },
  {
    name: "a chain of jump hosts that Host entries describe",
    ssh:
      "Host one\nHost two\n  HostName two.corp.example\n  ProxyJump one\nHost db\n  HostName db.inner.example\n  ProxyJump two\n",
    lines: [
      "transports:",
      "  one: { ssh: one }",
      "  two: { ssh: two }",
      "routes:",
      "  - { to: =two.corp.example, via: one }",
      "  - { to: =db.inner.example, via: two }",
    ],
  },
  {
    name: "a chain in one ProxyJump",
    ssh: "Host one\nHost two\nHost db\n  HostName db.inner.example\n  ProxyJump one,two\n",
    lines: [
      "transports:",
      "  one: { ssh: one }",
      "  two: { ssh: two, via: one }",
      "routes:",
      "  - { to: =db.inner.example, via: two }",
    ],
  },
  {
    name: "no jump host with a user or port that its Host does not have",
    ssh: "Host db\n  ProxyJump me@gw.example:2222\n",
    lines: [],
    notes: /config:1: ProxyJump sets the user or port of gw\.example: add a Host/,
  },
  {
    name: "a ProxyCommand of ssh -W",
    ssh: "Host gw\nHost db\n  HostName db.corp.example\n  ProxyCommand ssh -W %h:%p gw\n",
    lines: ["transports:", "  gw: { ssh: gw }", "routes:", "  - { to: =db.corp.example, via: gw }"],
  },
  {
    name: "one owner for a host that two jump hosts forward to",
    ssh: "Host a\n  LocalForward 1 x.internal:1\nHost b\n  LocalForward 1 x.internal:1\n",
    lines: [
      "transports:",
      "  a: { ssh: a }",
      "  b: { ssh: b }",
      "routes:",
      "  - { to: =x.internal, via: a }",
    ],
    notes: /=x\.internal: both a and b reach it; postern uses a/,
  },
  {
    name: "hosts whose condition needs a command as if it failed",
    ssh: 'Host db\n  HostName db.corp.example\nMatch host db* exec "touch /tmp/ran"\n  ProxyJump gw\n',
    lines: [],
  },
];

for (const { name, ssh, lines, notes } of cases) {
  Deno.test(`proposeHosts() proposes ${name}`, async () => {
    const found = await proposed({ ssh });
    assert.deepEqual(found.lines, lines);
    if (notes) assert.match(found.notes.join("\n"), notes);
    else assert.deepEqual(found.notes, []);
  });
}

Deno.test("proposeHosts() names the evidence in a comment", async () => {
  const { text } = await proposed({
    ssh:
      "# mine\nHost bastion\n  HostName bastion.corp.example\nHost db1 db2 db3 db4\n  HostName %h.x.example\n  ProxyJump bastion\n",
  });
  assert.match(text, /^ {2}# ProxyJump of db1, db2 and 2 more \(~\/\.ssh\/config:4\)\n {2}bastion: /m);
  assert.match(text, /^ {2}# db1, db2 and 2 more \(~\/\.ssh\/config:4\)\n {2}- \{ to: \.x\.example/m);
});

Deno.test("proposeHosts() writes a guess as a comment", async () => {
  const { text } = await proposed({ ssh: "Host bastion\n  HostName bastion.corp.example\n" });
  assert.match(text, /^# routes:\n# Only a guess, .*\n# {3}- \{ to: \.corp\.example, via: bastion \}$/m);
});

Deno.test("proposeHosts() reads included files", async () => {
  const { text } = await proposed({
    ssh: {
      "/home/me/.ssh/config": "Include work/*.conf ~/.ssh/more\nHost late\n",
      "/home/me/.ssh/work/a.conf": "Host gw\n",
      "/home/me/.ssh/more": "Host db.corp.example\n  ProxyJump gw\n",
    },
  });
  assert.match(text, /ProxyJump of db\.corp\.example \(~\/\.ssh\/more:1\)/);
});

Deno.test("proposeHosts() adds only new hosts behind a configured jump host", async () => {
  const ssh = "Host bastion\n  HostName bastion.corp.example\nHost a.one.example\n  ProxyJump bastion\n" +
    "Host b.two.example\n  ProxyJump bastion\n";
  const { lines } = await proposed({
    ssh,
    existing: {
      transports: { jump: { kind: "ssh", settings: "bastion" } },
      rules: [rule("one.example", "jump"), rule("any", "jump")],
    },
  });
  assert.deepEqual(lines, ["routes:", "  - { to: =b.two.example, via: jump }"]);
});

Deno.test("addThoseBehind() leaves out every transport behind one that failed", () => {
  const failed = new Set(["one"]);
  const chain = [{ name: "three", via: "two" }, { name: "two", via: "one" }, { name: "one" }, {
    name: "four",
  }];
  addThoseBehind(failed, chain);
  assert.deepEqual([...failed], ["one", "two", "three"]);
});
