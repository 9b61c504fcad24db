import type { Metric } from "../../core/mod.ts";
import type { Target } from "../../words/mod.ts";
import type {
  ConnectionInfo,
  ExplanationInfo,
  ForwardUpdate,
  HostsInfo,
  InstancePhase,
  ProxyEnvironment,
  ReloadReport,
  SshHosts,
  Status,
  WatchUpdate,
} from "../../control/mod.ts";
import type { ForwardSettings } from "../forward_settings.ts";

/**
 * The data and actions of a running instance for the pages and the control socket; the instance implements
 * it.
 */
export interface PageSource {
  /** The token for everything beyond the locked page. New at every start. */
  readonly token: string;
  health(): InstancePhase;
  metrics(): readonly Metric[];
  status(): Status;
  connections(): readonly ConnectionInfo[];
  /** Updates until the reader stops or the instance stops; undefined with too many watchers. */
  watch(): AsyncIterable<WatchUpdate> | undefined;
  /**
   * Whether the page may contain its token for a client of `local`, our address on that connection. A client
   * that may use the listener without a password may also see its state.
   */
  sharesToken(local: string | undefined): boolean;
  /** Listens for these names instead of those requested before; for all known names if there are none. */
  hosts(names: readonly string[] | "none", options: { signal: AbortSignal }): Promise<HostsInfo>;
  /** Closes a connection; false if no connection has this id. */
  closeConnection(id: number): boolean;
  /** Opens forwards when the reader starts, and ends them when the reader stops. */
  forward(forwards: readonly ForwardSettings[]): AsyncIterable<ForwardUpdate>;
  /** Ends the forwards of this number at once; unknown ones have ended. */
  endForward(id: number): Promise<void>;
  /** Throws `config` and changes nothing if the new configuration is invalid. */
  reload(): Promise<ReloadReport>;
  /**
   * Returns immediately; the instance stops when its connections have ended or after `drain` ms. Returns that
   * limit if known.
   */
  stop(options: { drain?: number }): number | undefined;
  explain(target: Target, options: { dial: boolean; signal: AbortSignal }): Promise<ExplanationInfo>;
  /**
   * The PAC file for a browser that reaches the listener at `authority` (`127.0.0.1:12000`). `local` is the
   * listener's own address if different, for example behind a tunnel.
   */
  pac(authority: string, local?: string): string;
  /**
   * The proxy settings. With `credentials` the URLs contain the user and the password. `client` selects the
   * syntax of exceptions; by default all clients understand them.
   */
  env(options: { credentials: boolean; client?: string }): ProxyEnvironment;
  /** The same as shell lines, without credentials. */
  environmentLines(shell: "sh" | "fish" | "powershell"): string;
  /** The ssh patterns of routed targets. */
  sshHosts(): Promise<SshHosts>;
}
