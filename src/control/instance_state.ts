import type { ErrorCode, ErrorDetail } from "../words/mod.ts";
import type { LogLevel, TransportStatus } from "../core/mod.ts";

// What a running door tells about itself, on its pages and to the command line. Everything here is plain JSON: times
// are ISO 8601, lengths of time milliseconds, sizes bytes.

/** The one word of `/healthz` and `/readyz`. */
export type InstancePhase = "starting" | "ready" | "draining";

/** Who answers on a control socket. */
export interface Hello {
  readonly version: string;
  readonly id: string;
  readonly pid: number;
  /** Grows when a client of before would misread an answer. */
  readonly protocol: number;
}

/** What `postern status` shows of one door. */
export interface Status {
  readonly version: string;
  readonly id: string;
  readonly pid: number;
  readonly startedAt: string;
  readonly state: InstancePhase;
  readonly listeners: readonly ListenerState[];
  readonly transports: readonly TransportState[];
  readonly config: ConfigState;
  readonly catalogues?: readonly CatalogueState[];
  /** Absent where it answers no DNS. */
  readonly dns?: DnsInfo;
  readonly connections: { readonly open: number; readonly total: number; readonly failed: number };
  readonly bytes: { readonly up: number; readonly down: number };
  readonly memory: { readonly resident: number };
}

/** What a door answers of DNS. */
export interface DnsInfo {
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  /** The domains whose names are its own. */
  readonly domains: readonly string[];
  /** How many names have an address of the fake range. */
  readonly fakeAddresses?: number;
}

export interface ListenerState {
  /** `mixed`, `socks`, `http`, `unix`, `dns`, `admin`. */
  readonly kind: string;
  readonly address: string;
  /** Whether it asks for a user and a password. */
  readonly auth: boolean;
}

/** A transport by its name in the configuration; further fields are its own. */
export interface TransportState extends TransportStatus {
  readonly name: string;
  readonly type: string;
  readonly via?: string;
  readonly dials: number;
  readonly failures: number;
  /** The table of its cluster, where rules ask for it. */
  readonly table?: TableState;
}

/** What is known of a cluster's Services and pods; while that is nothing, targets that may be the cluster's are refused. */
export interface TableState {
  readonly state: "known" | "asking" | "unknown";
  readonly reason?: string;
  readonly hint?: string;
}

export interface ConfigState {
  /** Absent where a door runs without a file. */
  readonly path?: string;
  readonly loadedAt: string;
  /** Why the file as it is now is not in force. */
  readonly problem?: string;
}

export interface CatalogueState {
  readonly name: string;
  readonly fetchedAt?: string;
  readonly clusters: number;
  readonly problem?: string;
}

/** One live connection. */
export interface ConnectionInfo {
  readonly id: number;
  readonly client: string;
  readonly protocol: string;
  readonly target: string;
  readonly transport: string;
  readonly because: string;
  readonly startedAt: string;
  readonly ageMs: number;
  readonly up: number;
  readonly down: number;
  readonly user?: string;
  /** Present while its target has not been reached yet. */
  readonly isDialling?: true;
}

/** A connection that has ended, and how. */
export interface EndedConnection extends ConnectionInfo {
  readonly endedAt: string;
  readonly outcome: string;
  /** The sentence of the error, where it ended by one. */
  readonly reason?: string;
}

/** A line of the log. */
export interface LoggedLine {
  /** Its place among all lines of this door. */
  readonly number: number;
  readonly time: string;
  readonly level: LogLevel;
  readonly event: string;
  /** Its fields as the log has them: `conn=1 outcome=done`. */
  readonly fields: string;
}

/** What moved in one step of a watch, in bytes a second, and how many connections were open at its end. */
export interface TrafficSample {
  readonly up: number;
  readonly down: number;
  readonly open: number;
}

/** What changes all the time. */
export type InstanceCounts = Pick<Status, "connections" | "bytes" | "memory">;

/** Everything that a door tells to who begins to watch it, or has fallen behind. */
export interface WatchedWhole {
  readonly kind: "whole";
  /** The door's calendar, in RFC 3339. */
  readonly time: string;
  /** How often a step comes, in ms. */
  readonly every: number;
  readonly status: Status;
  readonly live: readonly ConnectionInfo[];
  /** The last ones, oldest first. */
  readonly ended: readonly EndedConnection[];
  readonly log: readonly LoggedLine[];
  readonly traffic: readonly TrafficSample[];
}

/** What has changed since the step before. All of it may be told twice: ids and numbers say what is known already. */
export interface WatchedStep {
  readonly kind: "step";
  readonly time: string;
  readonly counts: InstanceCounts;
  /** Where anything of it but the counts has changed. */
  readonly status?: Status;
  /** Connections that are new or have got through. */
  readonly begun: readonly ConnectionInfo[];
  /** Bytes so far of the connections that moved some. */
  readonly moved: readonly (readonly [id: number, up: number, down: number])[];
  /** The ids of connections that live no more. */
  readonly gone: readonly number[];
  readonly ended: readonly EndedConnection[];
  readonly log: readonly LoggedLine[];
  readonly traffic: TrafficSample;
}

/** What a watch tells: first the whole, then a step a second; the whole again to who could not follow. */
export type WatchUpdate = WatchedWhole | WatchedStep;

/** What a reload did. A reload that fails throws `config` with all problems, and changes nothing. */
export interface ReloadReport {
  /** Whether anything is different now. */
  readonly changed: boolean;
  /** One line for each difference: `route .svc now goes to lab (was direct)`. */
  readonly changes: readonly string[];
  readonly warnings: readonly string[];
}

/** Where a target would go, and why. */
export interface ExplanationInfo {
  readonly target: string;
  readonly transport: string;
  readonly because: string;
  /** The transport and those it goes through, the one that reaches the target first. */
  readonly hops: readonly HopInfo[];
  readonly losers: readonly LoserInfo[];
  /** Why the target goes nowhere; present where a cluster owns it, or may own it, and does not have it. */
  readonly held?: ErrorInfo;
  /** Present when it was tried. */
  readonly dial?: DialReport;
}

export interface HopInfo {
  readonly name: string;
  readonly type: string;
  /** Where that is, without secrets: `http://proxy.corp.example:3128`. */
  readonly detail?: string;
  /** The hosts that it goes through, nearest first. */
  readonly hosts?: readonly { readonly host: string; readonly address: string }[];
  /** Why it cannot be used, and what to do about that. */
  readonly problem?: string;
  readonly hint?: string | undefined;
}

export interface LoserInfo {
  readonly rule: string;
  readonly source: string;
  readonly transport: string;
  readonly why: string;
}

export interface DialReport {
  readonly ms: number;
  /** Each step and when it was reached, in ms after the start. */
  readonly steps: readonly { readonly step: string; readonly ms: number }[];
  readonly error?: ErrorInfo;
}

/** What programs need to be told to use the door, before it is put into a shell's words. */
export interface ProxyEnvironment {
  /** For the web: `http://127.0.0.1:12000`, or `socks5h://…` of a door that speaks SOCKS only. */
  readonly http: string;
  /** For all else: `socks5h://127.0.0.1:12000`, or `http://…` of a door that speaks HTTP only. */
  readonly socks: string;
  /** What a kubeconfig has as `proxy-url`: `socks5://127.0.0.1:12000`. A door of an older postern does not tell it. */
  readonly proxyUrl?: string;
  readonly noProxy: readonly string[];
  /** For people: what was left out of `noProxy` and why. */
  readonly notes: readonly string[];
  /** Whether the URLs lack a user and a password that the door asks for. */
  readonly needsAuth: boolean;
}

/** A failure on its way to another process. */
export interface ErrorInfo {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly detail?: ErrorDetail;
  readonly exit?: number;
}
