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
  /** Reads the user from the kubeconfig again, because a manual sign-in may have changed it. */
  readonly reread?: () => Promise<KubeUser>;
  /** Reruns a failed credential plugin at the next request, for programs without a user at the terminal. */
  readonly isUnattended?: boolean;
}

/** The credentials that a connection and its requests present. */
export interface Credentials {
  /** The Authorization and impersonation headers. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The client certificate for TLS, in PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Changes with the client certificate; connections made with another certificate must not be reused. */
  readonly identity: string;
  /** The output of the credential plugin, if it provided the credentials. */
  readonly plugin?: PluginCredentials | undefined;
}

/** How long a file's content is used before it is read again, in ms. */
const fresh = 10_000;
const longest = 1024 * 1024;

/**
 * The current credentials of a context. Rereads files, and signs in with a plugin once for all waiting
 * requests.
 */
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

  /** The credential plugin that is running. */
  get signingInWith(): string | undefined {
    return this.#signIn.isRunning ? this.#user.exec?.command : undefined;
  }

  async current({ signal }: { readonly signal: AbortSignal }): Promise<Credentials> {
    // Like kubectl, send no credentials over an unencrypted connection.
    if (!mayHaveCredentials(this.#context.cluster.server)) return { fields: [], identity: "" };
    const user = this.#user;
    const token = await this.#token(user);
    // Like kubectl, run the plugin only if the user has no other credentials.
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

  /** Records that the server accepted these credentials. */
  accepted({ plugin }: Credentials): void {
    if (plugin) this.#signIn.accept(plugin);
  }

  /**
   * Handles a 401: drops everything that may have changed and returns whether a retry makes sense. Throws
   * `auth` if the credentials came from a plugin and the server never accepted them: that sign-in failed.
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

  /** Allows a failed credential plugin to run again 10 s after its failure, with `atOnce` immediately. */
  allowSignIn(options?: { readonly atOnce?: boolean }): void {
    this.#signIn.allow(options);
  }

  /** The certificate authority of the cluster. */
  ca(): Promise<string | undefined> {
    return this.#pem(this.#context.cluster.ca);
  }

  /** Stops a running plugin. */
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
      `Cannot sign in to the cluster "${name}": its API server rejects the credentials of ${plugin} with 401`,
      {
        detail: "sign_in",
        hint: `show the user that the plugin signs in: kubectl --context ${name} auth whoami`,
      },
    );
  }

  /** Like kubectl, prefers the token file to `token`, which is used only if the file is unreadable. */
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
    throw new PosternError("config", `Cannot sign in with the token in "${path}": it is not a single word`, {
      hint: "write only the token into this file",
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
      // The file may be in the middle of a replacement; its last content may still be valid.
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

/**
 * The headers as the API server parses them: keys of `extra` percent-encoded, values beyond Latin-1 as UTF-8.
 */
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
