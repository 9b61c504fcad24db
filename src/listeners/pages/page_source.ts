import type { Metric } from "../../core/mod.ts";
import type { Target } from "../../words/mod.ts";
import type {
  ConnectionInfo,
  ExplanationInfo,
  InstancePhase,
  ProxyEnvironment,
  ReloadReport,
  Status,
  WatchUpdate,
} from "../../control/mod.ts";

/** What the pages and the control socket ask of the running door; the app implements it. */
export interface PageSource {
  /** What a browser must bring to see more than that a door runs here. New at every start. */
  readonly token: string;
  health(): InstancePhase;
  metrics(): readonly Metric[];
  status(): Status;
  connections(): readonly ConnectionInfo[];
  /** Tells what happens until nobody listens or the door closes; undefined when too many watch already. */
  watch(): AsyncIterable<WatchUpdate> | undefined;
  /**
   * Whether the page may bring its token along for whoever asks at `local`, our address on that connection: who may use
   * the door there may also see what it does.
   */
  sharesToken(local: string | undefined): boolean;
  /** Drops one connection; false when there is none with this id. */
  closeConnection(id: number): boolean;
  /** Fails with `config`, and changes nothing, when the new configuration is wrong. */
  reload(): Promise<ReloadReport>;
  /**
   * Returns at once; the door ends when its connections have ended or `drain` has passed, in ms. The answer is how long
   * that is, where it is known.
   */
  stop(options: { drain?: number }): number | undefined;
  explain(target: Target, options: { dial: boolean; signal: AbortSignal }): Promise<ExplanationInfo>;
  /**
   * The PAC file for a browser that reaches the door at `authority` (`127.0.0.1:12000`). `local` is the door's own
   * address, where that is another one: a tunnel may lie between.
   */
  pac(authority: string, local?: string): string;
  /**
   * With `credentials` its URLs hold the user and the password that the door asks for. `client` is the kind of
   * program that will read the exceptions; without it they are what all kinds understand.
   */
  env(options: { credentials: boolean; client?: string }): ProxyEnvironment;
  /** The same as lines to evaluate, without credentials. */
  environmentLines(shell: "sh" | "fish" | "powershell"): string;
}
