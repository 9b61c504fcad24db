import { type Clock, unlessAborted } from "../../core/mod.ts";
import type { Files, Process } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { encodeBasic } from "../../wire/mod.ts";
import { mayHaveCredentials } from "../../clusters/mod.ts";
import type { KubeContext, PemSource } from "./kube_context.ts";
import { type PluginCredentials, runPlugin } from "./kube_plugin.ts";
import type { Impersonation, KubeUser } from "./kube_user.ts";
import { PluginSignIn } from "./plugin_sign_in.ts";

export interface CredentialParts {
  readonly clock: Clock;
  readonly files: Pick<Files, "readText">;
  readonly process: Pick<Process, "run">;
  /** The user as the kubeconfig has it now: whoever signs in again by hand writes it there. */
  readonly reread?: () => Promise<KubeUser>;
  /** Runs a credential plugin that failed again at the next request: for programs that no person waits for. */
  readonly isUnattended?: boolean;
}

/** What a connection and a request show of who we are. */
export interface Credentials {
  /** Authorization, and what impersonation needs. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** For TLS; PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Tells the certificates of one time from those of another: connections made with others are of no use. */
  readonly identity: string;
  /** What a credential plugin gave, where that is who we are. */
  readonly plugin?: PluginCredentials | undefined;
}

/** How long what a file says is taken for true, in ms. */
const fresh = 10_000;
const longest = 1024 * 1024;

/** Who a context of a kubeconfig signs in as, now: files are read again, and a plugin signs in once for all requests. */
export class KubeCredentials implements Disposable {
  readonly #context: KubeContext;
  #user: KubeUser;
  readonly #parts: CredentialParts;
  readonly #files = new Map<string, { readonly text: string; readonly at: number }>();
  readonly #signIn: PluginSignIn;

  constructor(context: KubeContext, parts: CredentialParts) {
    this.#context = context;
    this.#user = context.user;
    this.#parts = parts;
    const { clock, isUnattended } = parts;
    this.#signIn = new PluginSignIn({ clock, isUnattended, run: (options) => this.#runPlugin(options) });
  }

  /** The credential plugin that runs now. */
  get signingInWith(): string | undefined {
    return this.#signIn.isRunning ? this.#user.exec?.command : undefined;
  }

  async current({ signal }: { readonly signal: AbortSignal }): Promise<Credentials> {
    // As kubectl: nothing is shown where anybody on the way could read it.
    if (!mayHaveCredentials(this.#context.cluster.server)) return { fields: [], identity: "" };
    const user = this.#user;
    const token = await this.#token(user);
    // As kubectl: a plugin is asked where nothing else says who we are.
    const isKnown = token !== undefined || user.username !== undefined || user.certificate !== undefined;
    const plugin = user.exec && !isKnown ? await this.#signIn.credentials({ signal }) : undefined;
    const cert = plugin?.certificate ?? await this.#pem(user.certificate);
    const key = plugin?.key ?? await this.#pem(user.key);
    const authorization = authorizationOf(token ?? plugin?.token, user);
    return {
      fields: [
        ...(authorization === undefined ? [] : [["Authorization", authorization] as const]),
        ...impersonationFields(user.impersonate),
      ],
      ...(cert !== undefined && key !== undefined && { certificate: { cert, key } }),
      identity: cert ?? "",
      plugin,
    };
  }

  /** The server knows who showed this. */
  accepted({ plugin }: Credentials): void {
    if (plugin) this.#signIn.accept(plugin);
  }

  /**
   * The server refuses what it was shown: forgets all that may have changed since; whether anything may have. What a
   * plugin gave and the server never accepted is `auth`: the sign-in has failed.
   */
  async renew({ plugin }: Credentials, { signal }: { readonly signal: AbortSignal }): Promise<boolean> {
    this.#files.clear();
    const before = this.#user;
    if (this.#parts.reread) this.#user = await unlessAborted(this.#parts.reread(), signal);
    const { exec, tokenFile, certificate, key } = this.#user;
    if (!sameUser(before, this.#user)) {
      this.#signIn.forget();
      return true;
    }
    if (plugin) this.#signIn.refuse(plugin, this.#refused());
    const hasFiles = [certificate, key].some((source) => source && "file" in source);
    return exec !== undefined || tokenFile !== undefined || hasFiles;
  }

  /** A credential plugin that failed may run again, unless it has just failed; `atOnce` also then. */
  allowSignIn(options?: { readonly atOnce?: boolean }): void {
    this.#signIn.allow(options);
  }

  /** The cluster's certificate authority. */
  ca(): Promise<string | undefined> {
    return this.#pem(this.#context.cluster.ca);
  }

  /** Ends a plugin that runs. */
  [Symbol.dispose](): void {
    this.#signIn[Symbol.dispose]();
  }

  async #runPlugin({ signal }: { readonly signal: AbortSignal }): Promise<PluginCredentials> {
    const { cluster } = this.#context;
    const { exec } = this.#user;
    if (!exec) return {};
    const ca = exec.providesClusterInfo ? await this.ca() : undefined;
    return await runPlugin(exec, { ...this.#parts, cluster, ca, signal });
  }

  #refused(): PosternError {
    const { name } = this.#context;
    const plugin = `the credential plugin "${this.#user.exec?.command ?? ""}"`;
    return new PosternError(
      "auth",
      `Cannot sign in to the cluster "${name}": its API server answers 401 to what ${plugin} gave`,
      { detail: "sign_in", hint: `see who the plugin signs in as: kubectl --context ${name} auth whoami` },
    );
  }

  /** As kubectl: the file goes before the token beside it, which counts where there is nothing to be read. */
  async #token({ token, tokenFile }: KubeUser): Promise<string | undefined> {
    if (tokenFile === undefined) return token;
    try {
      return await this.#tokenIn(tokenFile);
    } catch (error) {
      if (token === undefined) throw error;
      return token;
    }
  }

  async #tokenIn(path: string): Promise<string> {
    const token = (await this.#file(path, isToken)).trim();
    if (isToken(token)) return token;
    throw new PosternError("config", `Cannot sign in with the token in "${path}": it is not one word`, {
      hint: "write the token into it, and nothing else",
    });
  }

  #pem(source: PemSource | undefined): Promise<string | undefined> {
    if (!source) return Promise.resolve(undefined);
    return "pem" in source ? Promise.resolve(source.pem) : this.#file(source.file);
  }

  async #file(path: string, isWhole: (text: string) => boolean = () => true): Promise<string> {
    const now = this.#parts.clock.now();
    const known = this.#files.get(path);
    if (known && now - known.at < fresh) return known.text;
    try {
      const text = await this.#parts.files.readText(path, { limit: longest });
      if (isWhole(text)) this.#files.set(path, { text, at: now });
      else if (known) return known.text;
      return text;
    } catch (error) {
      // It is being replaced, perhaps: what it said last may still be good.
      if (known) return known.text;
      throw error;
    }
  }
}

function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text.trim());
}

function authorizationOf(
  token: string | undefined,
  { username, password = "" }: { readonly username?: string; readonly password?: string },
): string | undefined {
  if (token !== undefined) return `Bearer ${token}`;
  if (username === undefined) return undefined;
  return encodeBasic({ user: username, password });
}

/** As the API server reads them: the key of an extra is percent-encoded, what is not Latin stays as UTF-8. */
function impersonationFields(as: Impersonation | undefined): (readonly [string, string])[] {
  if (!as) return [];
  const value = (text: string) => String.fromCharCode(...new TextEncoder().encode(text));
  return [
    ["Impersonate-User", value(as.user)],
    ...(as.uid === undefined ? [] : [["Impersonate-Uid", value(as.uid)] as const]),
    ...as.groups.map((group) => ["Impersonate-Group", value(group)] as const),
    ...Object.entries(as.extra).flatMap(([key, texts]) =>
      texts.map((text) => [`Impersonate-Extra-${encodeURIComponent(key)}`, value(text)] as const)
    ),
  ];
}

function sameUser(one: KubeUser, other: KubeUser): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
