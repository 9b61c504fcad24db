import assert from "node:assert/strict";
import { PosternError } from "../../../../src/words/mod.ts";
import type { Question } from "../../../../src/world/mod.ts";
import { type Prompt, signInToSsh } from "../../../../src/ssh/sign_in/ssh_auth.ts";
import type { SshHost } from "../../../../src/ssh/mod.ts";
import type { Identities, Identity } from "../../../../src/ssh/keys/ssh_identities.ts";
import type { SignInAnswer, SignInLink } from "../../../../src/ssh/sign_in/ssh_sign_in.ts";
import { SshReader } from "../../../../src/ssh/session/ssh_writer.ts";
import { blobOf } from "../../../support/ssh_public_keys.ts";
import { sshHost } from "../../../support/ssh_host.ts";

const signal = new AbortController().signal;

const host = sshHost("jump", { hostName: "jump.example" });

/**
 * A server that answers each message as the test says; the callback gets the method, or the answers to its
 * questions.
 */
class ScriptedLink implements SignInLink {
  readonly lost: AbortSignal;
  /** The requests, abbreviated. */
  readonly heard: string[] = [];
  readonly #answer: (heard: string) => SignInAnswer;

  constructor(answer: (heard: string) => SignInAnswer, lost = signal) {
    this.#answer = answer;
    this.lost = lost;
  }

  sessionId(): Uint8Array {
    return Uint8Array.of(1, 2, 3);
  }

  signatureAlgorithms(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  ask(method: string, message: Uint8Array): Promise<SignInAnswer> {
    const heard = inShort(method, new Uint8Array(message));
    this.heard.push(heard);
    return Promise.try(this.#answer, heard);
  }
}

function inShort(method: string, message: Uint8Array<ArrayBuffer>): string {
  const reader = new SshReader(message);
  if (reader.byte() === 61) {
    const replies = Array.from({ length: reader.u32() ?? 0 }, () => reader.text() ?? "missing");
    return `answers ${JSON.stringify(replies)}`;
  }
  for (let field = 0; field < 3; field++) reader.string();
  if (method === "publickey") return reader.byte() === 0 ? "offer" : "signature";
  return method;
}

const failure = (...methods: readonly string[]): SignInAnswer => ({
  kind: "failure",
  methods,
  isPartial: false,
});
const success: SignInAnswer = { kind: "success" };

function questions(...prompts: readonly string[]): SignInAnswer {
  const asked = prompts.map((prompt) => ({ prompt, echo: false }));
  return { kind: "questions", name: "", instructions: "", questions: asked };
}

async function run(
  link: SignInLink,
  { keys = [], prompt, more = {} }: { keys?: readonly Identity[]; prompt?: Prompt; more?: Partial<SshHost> } =
    {},
): Promise<void> {
  const identities: Promise<Identities> = Promise.resolve({ all: keys, notes: [] });
  await signInToSsh(link, {
    host: { ...host, ...more },
    label: "ssh jump",
    identities,
    signal,
    ...(prompt && { prompt }),
  });
}

function answering(...answers: readonly (string | undefined)[]): { prompt: Prompt; asked: Question[] } {
  const asked: Question[] = [];
  return { asked, prompt: ({ text, echo }) => Promise.resolve(answers[asked.push({ text, echo }) - 1]) };
}

const key = (label: string, more: Partial<Identity> = {}): Identity => ({
  label,
  blob: blobOf.ed25519(label.length),
  sign: () => Promise.resolve(Uint8Array.of(1)),
  ...more,
});

Deno.test("signInToSsh() needs nothing when the server requires nothing", async () => {
  const link = new ScriptedLink(() => success);
  await run(link);
  assert.deepEqual(link.heard, ["none"]);
});

Deno.test("signInToSsh() offers one key after the other and signs with the accepted one", async () => {
  let offers = 0;
  const link = new ScriptedLink((heard) => {
    if (heard === "offer") return ++offers === 3 ? { kind: "key_known" } : failure("publickey");
    return success;
  });
  await run(link, { keys: ["a", "bb", "ccc", "dddd"].map((label) => key(label)) });
  assert.deepEqual(link.heard, ["offer", "offer", "offer", "signature"]);
});

Deno.test("signInToSsh() opens only a key that the server accepts", async () => {
  const opened: string[] = [];
  const locked = (label: string) =>
    key(label, {
      lock: {
        path: `/keys/${label}`,
        opened: () => undefined,
        open: (words) => Promise.resolve((opened.push(words), key(label))),
      },
      sign: () => Promise.reject(new Error("the key is locked")),
    });
  let offers = 0;
  const link = new ScriptedLink((heard) => {
    if (heard === "offer") return ++offers === 2 ? { kind: "key_known" } : failure("publickey");
    return success;
  });
  const { prompt, asked } = answering("words");
  await run(link, { keys: [locked("a"), locked("bb")], prompt });
  assert.deepEqual(opened, ["words"]);
  assert.deepEqual(asked, [{ text: "Passphrase of /keys/bb: ", echo: false }]);
});

Deno.test("signInToSsh() suggests a fix when it cannot prompt", async () => {
  const locked = key("a", {
    lock: {
      path: "/keys/a",
      opened: () => undefined,
      open: () => Promise.reject(new Error("no prompt expected")),
    },
  });
  const link = new ScriptedLink((heard) =>
    heard === "offer" ? { kind: "key_known" } : failure("publickey", "password")
  );
  await assert.rejects(run(link, { keys: [locked] }), {
    code: "auth",
    message: /^Cannot sign in to ssh jump as me: the server accepts publickey/,
    hint: "add the key to the agent: ssh-add /keys/a",
  });
});

Deno.test("signInToSsh() marks a server's prompt, and removes terminal sequences", async () => {
  const { prompt, asked } = answering("1", "2");
  const link = new ScriptedLink((heard) => {
    if (heard === "none") return failure("keyboard-interactive");
    if (heard !== "keyboard-interactive") return success;
    return {
      kind: "questions",
      name: "Welcome\x1b[2J",
      instructions: "Two\r\nlines",
      questions: [{ prompt: "Pässwort:\x07 ", echo: false }, { prompt: "Token: ", echo: true }],
    };
  });
  await run(link, { prompt });
  assert.deepEqual(asked, [
    { text: "Welcome?[2J\nTwo\nlines\n(me at ssh jump) Pässwort:? ", echo: false },
    { text: "(me at ssh jump) Token: ", echo: true },
  ]);
  assert.equal(link.heard.at(-1), 'answers ["1","2"]');
});

Deno.test("signInToSsh() answers a server's further requests, also those without a question", async () => {
  const { prompt, asked } = answering("1", "2");
  const rounds = [questions("One: "), questions(), questions("Two: "), questions(), success];
  const link = new ScriptedLink((heard) =>
    heard === "none" ? failure("keyboard-interactive") : rounds.shift() ?? assert.fail("asked too often")
  );
  await run(link, { prompt });
  assert.equal(asked.length, 2);
  assert.deepEqual(link.heard.slice(2), ['answers ["1"]', "answers []", 'answers ["2"]', "answers []"]);
});

Deno.test("signInToSsh() rejects a server that never stops asking", async () => {
  for (const question of [[], ["Again: "], Array(40).fill("Again: ")]) {
    const { prompt, asked } = answering(...Array(100).fill("yes"));
    const link = new ScriptedLink((heard) =>
      heard === "none" ? failure("keyboard-interactive") : questions(...question)
    );
    await assert.rejects(run(link, { prompt }), {
      code: "auth",
      message: /the server asks more than 32 questions/,
    });
    assert.ok(asked.length <= 32);
    assert.ok(link.heard.length <= 40);
  }
});

Deno.test("signInToSsh() stops prompting after a missing answer, however often the server asks", async () => {
  const { prompt, asked } = answering(undefined, "late");
  let rounds = 0;
  const link = new ScriptedLink((heard) => {
    if (heard === "none" || ++rounds > 4) return failure("keyboard-interactive");
    return questions("One: ", "Two: ");
  });
  await assert.rejects(run(link, { prompt }), { code: "auth" });
  assert.equal(asked.length, 1);
});

Deno.test("signInToSsh() ends when the user interrupts", async () => {
  const link = new ScriptedLink(() => failure("password"));
  const interrupted = new PosternError("cancelled", "The user interrupted the prompt");
  await assert.rejects(run(link, { prompt: () => Promise.reject(interrupted) }), interrupted);
});

Deno.test("signInToSsh() withdraws a prompt when its session ends", async () => {
  const lost = new AbortController();
  const gone = new PosternError("unreachable", "The connection was lost");
  const link = new ScriptedLink(() => failure("password"), lost.signal);
  const prompt: Prompt = (_question, { signal }) => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    queueMicrotask(() => lost.abort(gone));
    return promise;
  };
  await assert.rejects(run(link, { prompt }), gone);
});

Deno.test("signInToSsh() reports an expired password, and how to change it", async () => {
  const link = new ScriptedLink((heard) =>
    heard === "password" ? { kind: "password_expired" } : failure("password")
  );
  const { prompt, asked } = answering("old", "old", "old");
  await assert.rejects(run(link, { prompt }), { code: "auth", hint: "change the password: ssh jump" });
  assert.equal(asked.length, 1);
});

Deno.test("signInToSsh() retries a spent method after a partial success", async () => {
  const rounds: SignInAnswer[] = [
    failure("publickey"),
    { kind: "failure", methods: ["password"], isPartial: true },
    { kind: "failure", methods: ["password"], isPartial: true },
    success,
  ];
  const link = new ScriptedLink(() => rounds.shift() ?? assert.fail("asked too often"));
  const { prompt } = answering("first", "second");
  await run(link, { prompt, keys: [key("a"), key("bb")] });
  assert.deepEqual(link.heard, ["offer", "offer", "password", "password"]);
});

Deno.test("signInToSsh() names the key without a common signature algorithm", async () => {
  const link = new ScriptedLink(() => failure("publickey"));
  const more = { pubkeyAcceptedAlgorithms: ["ssh-rsa"] };
  await assert.rejects(run(link, { keys: [key("a")], more }), {
    code: "auth",
    message: /a has no signature algorithm that both sides support/,
    hint: /PubkeyAcceptedAlgorithms/,
  });
});
