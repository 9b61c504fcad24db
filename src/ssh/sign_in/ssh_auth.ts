import { asCause, PosternError, reasonOf } from "../../words/mod.ts";
import type { Question } from "../../world/mod.ts";
import { foreignText } from "./foreign_text.ts";
import { signatureAlgorithm } from "../keys/signature_algorithm.ts";
import { blobType, plainType } from "../keys/ssh_certificate.ts";
import type { SshHost } from "../config/ssh_host.ts";
import type { Identities, Identity } from "../keys/ssh_identities.ts";
import type { SignInAnswer, SignInLink } from "./ssh_sign_in.ts";
import { SshWriter } from "../session/ssh_writer.ts";

/** A question to the user whose answer may be known by the time of its turn. */
export interface SshQuestion extends Question {
  readonly isNeedless?: () => boolean;
  /** Awaited before the next question, which the answer may make unnecessary. */
  readonly onAnswer?: (answer: string) => Promise<unknown>;
}

/** Prompts the user; undefined when the user gives no answer, or the answer is no longer needed. */
export type Prompt = (
  question: SshQuestion,
  options: { readonly signal: AbortSignal },
) => Promise<string | undefined>;

export interface SshSignInOptions {
  readonly host: SshHost;
  /** The server's name in messages. */
  readonly label: string;
  readonly identities: Promise<Identities>;
  /** Absent when postern cannot prompt the user. */
  readonly prompt?: Prompt | undefined;
  readonly signal: AbortSignal;
  readonly onStep?: ((step: string) => void) | undefined;
}

/** Tries every method that both sides allow (RFC 4252); the error lists the attempts and suggests a fix. */
export async function signInToSsh(link: SignInLink, options: SshSignInOptions): Promise<void> {
  await new Authentication(link, options).run();
}

type Questions = Extract<SignInAnswer, { readonly kind: "questions" }>;
type Method = "publickey" | "keyboard-interactive" | "password";

class Authentication {
  readonly #link: SignInLink;
  readonly #options: SshSignInOptions;
  /** Aborts prompts when the session ends. */
  readonly #signal: AbortSignal;
  readonly #hints: string[] = [];
  readonly #tried: string[] = [];
  readonly #failures: unknown[] = [];
  /** Methods with nothing left to try. */
  readonly #spent = new Set<Method>();
  /** The methods that the server allows, once known. */
  #allowed: readonly string[] | undefined;
  #keys: Identity[] | undefined;
  #passwordsLeft = mostAnswers;
  #roundsLeft = mostAnswers;
  #isIn = false;

  constructor(link: SignInLink, options: SshSignInOptions) {
    this.#link = link;
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, link.lost]);
  }

  async run(): Promise<void> {
    const wanted = this.#wantedMethods();
    // Most servers accept keys: requesting "none" first would only cost a round trip.
    if (wanted[0] !== "publickey" || (await this.#keysLeft()).length === 0) await this.#askForMethods();
    while (!this.#isIn) {
      const method = wanted.find((method) =>
        (this.#allowed?.includes(method) ?? method === "publickey") && !this.#spent.has(method)
      );
      if (method) await this.#try(method);
      else if (this.#allowed) throw await this.#failure();
      else await this.#askForMethods();
    }
  }

  #wantedMethods(): Method[] {
    const { host } = this.#options;
    const order = host.preferredAuthentications ?? ["publickey", "keyboard-interactive", "password"];
    const isOn: Readonly<Record<Method, boolean>> = {
      publickey: host.pubkey,
      "keyboard-interactive": host.kbdInteractive,
      password: host.password,
    };
    return order.filter((name): name is Method => Object.hasOwn(isOn, name) && isOn[name as Method]);
  }

  async #askForMethods(): Promise<void> {
    await this.#answer("none", this.#request("none").bytes());
  }

  async #try(method: Method): Promise<void> {
    switch (method) {
      case "publickey":
        return await this.#tryKey();
      case "password":
        return await this.#tryPassword();
      case "keyboard-interactive":
        return await this.#tryQuestions();
    }
  }

  async #tryKey(): Promise<void> {
    const found = (await this.#keysLeft()).shift();
    if (!found) return void this.#spent.add("publickey");
    // Without a readable public part, only the passphrase reveals what to offer.
    const key = found.blob ? found : await this.#unlocked(found);
    if (!key?.blob) return;
    const { blob, label } = key;
    const { host } = this.#options;
    const algorithm = signatureAlgorithm(blobType(blob) ?? "", {
      accepted: host.pubkeyAcceptedAlgorithms,
      server: await this.#link.signatureAlgorithms(),
    });
    if (algorithm === undefined) {
      this.#failures.push(new Error(`${label} has no signature algorithm that both sides support`));
      this.#hints.push(`see PubkeyAcceptedAlgorithms: ssh -G ${host.alias}`);
      return;
    }
    this.#tried.push(label);
    this.#options.onStep?.(`offers ${label}`);
    const offer = this.#request("publickey").byte(0).string(algorithm).string(blob);
    const answer = await this.#answer("publickey", offer.bytes());
    if (answer.kind !== "key_known") return;
    const open = await this.#unlocked(key);
    if (open) await this.#signWith(open, { blob, algorithm });
  }

  /** Returns the key, after prompting for its passphrase if needed; undefined without a passphrase. */
  async #unlocked(key: Identity): Promise<Identity | undefined> {
    const { lock } = key;
    if (!lock) return key;
    let failure: unknown;
    for (let left = mostAnswers; left > 0; left--) {
      let opening: Promise<Identity> | undefined;
      const passphrase = await this.#asked({
        text: `Passphrase of ${lock.path}: `,
        echo: false,
        isNeedless: () => lock.opened() !== undefined,
        onAnswer: (answer) => opening = lock.open(answer),
      });
      // As in ssh, an empty answer skips this key.
      if (!passphrase) break;
      try {
        return await (opening ?? lock.open(passphrase));
      } catch (error) {
        failure = error;
      }
    }
    const opened = lock.opened();
    if (opened) return opened;
    if (failure !== undefined) this.#failures.push(failure);
    this.#hints.unshift(`add the key to the agent: ssh-add ${lock.path}`);
    return undefined;
  }

  async #signWith(
    key: Identity,
    { blob, algorithm }: { readonly blob: Uint8Array<ArrayBuffer>; readonly algorithm: string },
  ): Promise<void> {
    const message = this.#request("publickey").byte(1).string(algorithm).string(blob);
    const signed = new SshWriter().string(this.#link.sessionId()).raw(message.bytes()).bytes();
    this.#options.onStep?.(`signs with ${key.label}`);
    let signature: Uint8Array;
    try {
      signature = await key.sign(signed, { algorithm: plainType(algorithm), signal: this.#signal });
    } catch (error) {
      this.#signal.throwIfAborted();
      this.#failures.push(error);
      return;
    }
    await this.#answer("publickey", message.string(signature).bytes());
  }

  async #tryPassword(): Promise<void> {
    const { host, label } = this.#options;
    const password = this.#passwordsLeft-- > 0 && this.#canAsk()
      ? await this.#asked({ text: `Password of ${host.user} at ${label}: `, echo: false })
      : undefined;
    if (password === undefined) return void this.#spent.add("password");
    this.#tried.push("a password");
    const message = this.#request("password").byte(0).string(password).bytes();
    const answer = await this.#answer("password", message);
    if (answer.kind !== "password_expired") return;
    this.#hints.unshift(`change the password: ssh ${host.alias}`);
    this.#spent.add("password");
  }

  async #tryQuestions(): Promise<void> {
    if (this.#roundsLeft <= 0 || !this.#canAsk()) return void this.#spent.add("keyboard-interactive");
    this.#roundsLeft--;
    this.#tried.push("answers to its questions");
    const message = this.#request("keyboard-interactive").string("").string("").bytes();
    let answer = await this.#answer("keyboard-interactive", message);
    let asked = 0;
    while (answer.kind === "questions") {
      asked += Math.max(1, answer.questions.length);
      if (asked > mostQuestions) {
        this.#failures.push(new Error(`the server asks more than ${mostQuestions} questions`));
        return void this.#spent.add("keyboard-interactive");
      }
      const response = new SshWriter().byte(infoResponse).u32(answer.questions.length);
      for (const reply of await this.#replies(answer)) response.string(reply);
      answer = await this.#answer("keyboard-interactive", response.bytes());
    }
  }

  async #replies({ name, instructions, questions }: Questions): Promise<string[]> {
    const { host, label, onStep } = this.#options;
    let before = foreignText([name, instructions].filter((text) => text !== "").join("\n"));
    if (before !== "") onStep?.(before.replaceAll("\n", " "));
    const replies: string[] = [];
    for (const { prompt, echo } of questions) {
      // Our name for the server comes first: the text after it is the server's.
      const own = `(${host.user} at ${label}) ${foreignText(prompt, { limit: 200 })}`;
      const text = before === "" ? own : `${before}\n${own}`;
      before = "";
      // A user who gives no answer does not want the next question either.
      const reply = this.#roundsLeft < 0 ? undefined : await this.#asked({ text, echo });
      if (reply === undefined) this.#roundsLeft = -1;
      replies.push(reply ?? "");
    }
    return replies;
  }

  #canAsk(): boolean {
    const { prompt, host } = this.#options;
    if (!prompt) this.#hints.push(`use a key instead of answering questions: ssh-copy-id ${host.alias}`);
    return prompt !== undefined;
  }

  async #keysLeft(): Promise<Identity[]> {
    return this.#keys ??= [...(await this.#options.identities).all];
  }

  async #asked(question: SshQuestion): Promise<string | undefined> {
    return await this.#options.prompt?.(question, { signal: this.#signal });
  }

  #request(method: string): SshWriter {
    const { user } = this.#options.host;
    return new SshWriter().byte(userauthRequest).string(user).string("ssh-connection").string(method);
  }

  /** Sends a message and records the answer. */
  async #answer(method: string, message: Uint8Array): Promise<SignInAnswer> {
    const answer = await this.#link.ask(method, message);
    if (answer.kind === "success") this.#isIn = true;
    if (answer.kind !== "failure") return answer;
    this.#allowed = answer.methods;
    // After a partial success, the server may require the same method again.
    if (answer.isPartial) this.#spent.clear();
    return answer;
  }

  async #failure(): Promise<PosternError> {
    const { host, label, identities } = this.#options;
    const allowed = this.#allowed ?? [];
    const { notes } = await identities;
    const tried = this.#tried.length > 0 ? `the server refused ${this.#tried.join(", ")}` : "no key to offer";
    const all = [
      `the server accepts ${allowed.join(", ") || "no sign-in method"}`,
      tried,
      ...notes.map(asCause),
    ];
    all.push(...this.#failures.map(reasonOf));
    const hint = this.#hints[0] ??
      (this.#tried.length === 0
        ? "start an ssh agent and add a key to it, or name an IdentityFile"
        : `see what ssh does: ssh -v ${host.alias}`);
    return new PosternError("auth", `Cannot sign in to ${label} as ${host.user}: ${all.join("; ")}`, {
      hint,
    });
  }
}

/** How many times to repeat one question: ssh's default for NumberOfPasswordPrompts. */
const mostAnswers = 3;
/** How many prompts a server may send in one attempt; a message without prompts counts as one. */
const mostQuestions = 32;
const userauthRequest = 50;
const infoResponse = 61;
