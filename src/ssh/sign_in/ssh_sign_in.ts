/** The server's answer to a sign-in step (RFC 4252, RFC 4256). */
export type SignInAnswer =
  | { readonly kind: "success" }
  | { readonly kind: "failure"; readonly methods: readonly string[]; readonly isPartial: boolean }
  /** The server accepts the key and wants a signature. */
  | { readonly kind: "key_known" }
  | { readonly kind: "password_expired" }
  | {
    readonly kind: "questions";
    readonly name: string;
    readonly instructions: string;
    readonly questions: readonly { readonly prompt: string; readonly echo: boolean }[];
  };

/** The parts of the session that a sign-in uses. */
export interface SignInLink {
  /** Signatures are bound to this id. */
  sessionId(): Uint8Array;
  /** Aborted with the reason when the session ends. */
  readonly lost: AbortSignal;
  /** The signature algorithms that the server announces (RFC 8308); undefined when it announces none. */
  signatureAlgorithms(): Promise<readonly string[] | undefined>;
  /** Sends a complete message and waits for the server's answer. */
  ask(method: string, message: Uint8Array): Promise<SignInAnswer>;
}

/** The session's side of the sign-in: one request at a time. */
export class SshSignIn implements SignInLink {
  readonly #send: (method: string, message: Uint8Array) => void;
  readonly #sessionId: () => Uint8Array;
  readonly #accepted = Promise.withResolvers<void>();
  #waiting: PromiseWithResolvers<SignInAnswer> | undefined;
  #algorithms: readonly string[] | undefined;
  readonly #lost = new AbortController();

  constructor(send: (method: string, message: Uint8Array) => void, sessionId: () => Uint8Array) {
    this.#send = send;
    this.#sessionId = sessionId;
    this.#accepted.promise.catch(() => {});
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Servers that announce them do so before they accept the service. */
  async signatureAlgorithms(): Promise<readonly string[] | undefined> {
    await this.#accepted.promise;
    return this.#algorithms;
  }

  sessionId(): Uint8Array {
    return this.#sessionId();
  }

  async ask(method: string, message: Uint8Array): Promise<SignInAnswer> {
    await this.#accepted.promise;
    this.#lost.signal.throwIfAborted();
    this.#waiting = Promise.withResolvers<SignInAnswer>();
    this.#send(method, message);
    return await this.#waiting.promise;
  }

  onAccepted(): void {
    this.#accepted.resolve();
  }

  onExtensions(extensions: readonly { readonly name: string; readonly algs?: readonly string[] }[]): void {
    this.#algorithms = extensions.find(({ name }) => name === "server-sig-algs")?.algs ?? this.#algorithms;
  }

  onAnswer(answer: SignInAnswer): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }

  onLost(error: unknown): void {
    this.#lost.abort(error);
    this.#accepted.reject(error);
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}
