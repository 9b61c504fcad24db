import type { ErrorCode, ErrorDetail } from "../words/mod.ts";
import type { LogLevel, TransportStatus } from "../core/mod.ts";

// The reports of a running instance on its pages and to the command line. All values are plain JSON: times are
// ISO 8601, durations milliseconds, sizes bytes.

/** The ssh patterns of the targets that an instance sends through a transport, and the rules without one. */
export interface SshHosts {
  readonly routed: readonly {
    readonly patterns: readonly string[];
    readonly transport: string;
    readonly because: string;
  }[];
  readonly left: readonly { readonly rule: string; readonly why: string }[];
}

/** The answer of `/healthz` and `/readyz`. */
export type InstancePhase = "starting" | "ready" | "draining";

/** The identity of the instance on a control socket. */
export interface Hello {
  readonly version: string;
  readonly id: string;
  readonly pid: number;
  /** Incremented when an older client would misread an answer. */
  readonly protocol: number;
}

/** The status of one instance, as `postern status` shows it. */
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
  /** Absent if the instance does not answer DNS. */
  readonly dns?: DnsInfo;
  /** Absent if the instance relays no UDP. */
  readonly udp?: UdpInfo;
  readonly connections: { readonly open: number; readonly total: number; readonly failed: number };
  readonly bytes: { readonly up: number; readonly down: number };
  readonly memory: { readonly resident: number };
}

/** The DNS service of an instance. */
export interface DnsInfo {
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  /** The domains that the instance answers for. */
  readonly domains: readonly string[];
  /** The number of names with an address in the fake range. */
  readonly fakeAddresses?: number;
  /** The listeners on loopback addresses of names. Any local user can connect to them. */
  readonly loopback?: { readonly range: string; readonly names: number; readonly listeners: number };
}

/** The names of a hosts file with their loopback addresses. */
export interface HostsInfo {
  /** `127.64.0.0/12`. */
  readonly range: string;
  readonly hosts: readonly {
    readonly address: string;
    readonly name: string;
    /** The ports on which the instance listens. */
    readonly ports: readonly number[];
  }[];
  readonly problems: readonly LeftOutHost[];
}

/** A name without a loopback address, or a transport whose names cannot be listed. */
interface LeftOutHost {
  readonly name: string;
  readonly reason: string;
}

/** The UDP relays of an instance. */
export interface UdpInfo {
  /** The number of clients. */
  readonly associations: number;
  /** How many datagrams had a route that carries no UDP, or were not allowed. */
  readonly refused: number;
  readonly lastRefusal?: string;
}

export interface ListenerState {
  /** `mixed`, `socks`, `http`, `unix`, `forward`, `dns`, `admin`. */
  readonly kind: string;
  readonly address: string;
  /** Whether it requires a user and a password. */
  readonly auth: boolean;
  /** Where a forward connects to. */
  readonly target?: string;
  /** The name of a forward, if it has one. */
  readonly name?: string;
  /** Present if the forward ends with the command that requested it. */
  readonly ofCommand?: true;
}

/** A transport under its name in the configuration, with the fields of its type. */
export interface TransportState extends TransportStatus {
  readonly name: string;
  readonly type: string;
  readonly via?: string;
  readonly dials: number;
  readonly failures: number;
  /** The table of its cluster, if rules use the cluster. */
  readonly table?: TableState;
}

/**
 * The state of a cluster's table of Services and pods. While the table is unknown, postern refuses targets
 * that may belong to the cluster.
 */
export interface TableState {
  readonly state: "known" | "asking" | "unknown";
  readonly reason?: string;
  readonly hint?: string;
}

export interface ConfigState {
  /** Absent if the instance runs without a file. */
  readonly path?: string;
  readonly loadedAt: string;
  /** Why the current content of the file is not applied. */
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
  /** The name of the forward, if it has one. */
  readonly forward?: string;
  /** Present while the target is not connected yet. */
  readonly isDialling?: true;
}

export interface EndedConnection extends ConnectionInfo {
  readonly endedAt: string;
  readonly outcome: string;
  /** The error message, if an error ended it. */
  readonly reason?: string;
}

export interface LoggedLine {
  /** The number of the line in the log of this instance. */
  readonly number: number;
  readonly time: string;
  readonly level: LogLevel;
  readonly event: string;
  /** The fields as written to the log: `conn=1 outcome=done`. */
  readonly fields: string;
}

/** Traffic of one step in bytes per second, and the open connections at its end. */
export interface TrafficSample {
  readonly up: number;
  readonly down: number;
  readonly open: number;
}

/** The values that change all the time. */
export type InstanceCounts = Pick<Status, "connections" | "bytes" | "memory">;

/** The whole state of an instance, for a new watcher or one that missed a step. */
export interface WatchedWhole {
  readonly kind: "whole";
  /** The time on the instance, in RFC 3339. */
  readonly time: string;
  /** The interval between steps in ms. */
  readonly every: number;
  readonly status: Status;
  readonly live: readonly ConnectionInfo[];
  /** The most recent ones, oldest first. */
  readonly ended: readonly EndedConnection[];
  readonly log: readonly LoggedLine[];
  readonly traffic: readonly TrafficSample[];
}

/** Changes since the previous step. A step may repeat known items; ids and numbers identify them. */
export interface WatchedStep {
  readonly kind: "step";
  readonly time: string;
  readonly counts: InstanceCounts;
  /** Present if the status changed, apart from the counts. */
  readonly status?: Status;
  /** Connections that are new or now connected. */
  readonly begun: readonly ConnectionInfo[];
  /** Total bytes of the connections with traffic. */
  readonly moved: readonly (readonly [id: number, up: number, down: number])[];
  /** The ids of connections that ended. */
  readonly gone: readonly number[];
  readonly ended: readonly EndedConnection[];
  readonly log: readonly LoggedLine[];
  readonly traffic: TrafficSample;
}

/**
 * An update of a watch: first the whole state, then a step a second; the whole state again after a missed
 * step.
 */
export type WatchUpdate = WatchedWhole | WatchedStep;

/** The forwards that a command asks an instance for, as entries of `listen.forward`. */
export interface ForwardRequest {
  readonly forwards: readonly { readonly listen: string; readonly target: string }[];
  readonly allowOpen: boolean;
}

/**
 * An update about the forwards of a command: first the bound addresses or a failure, then a heartbeat each
 * second, and the end when the instance stops.
 */
export type ForwardUpdate =
  | { readonly kind: "bound"; readonly id: number; readonly forwards: readonly BoundForward[] }
  | { readonly kind: "failed"; readonly error: ErrorInfo }
  | { readonly kind: "alive" }
  | { readonly kind: "stopped" };

export interface BoundForward {
  readonly address: string;
  readonly target: string;
  readonly name?: string;
}

/** The result of a reload. A failed reload throws `config` with all problems and changes nothing. */
export interface ReloadReport {
  /** Whether the reload changed anything. */
  readonly changed: boolean;
  /** One line per change: `route .svc now goes to lab (was direct)`. */
  readonly changes: readonly string[];
  readonly warnings: readonly string[];
}

/** The route of a target, with its reason. */
export interface ExplanationInfo {
  readonly target: string;
  readonly transport: string;
  readonly because: string;
  /** The transport that reaches the target, followed by the transports below it. */
  readonly hops: readonly HopInfo[];
  readonly losers: readonly LoserInfo[];
  /** The forward that listens on the address of the target. */
  readonly forward?: BoundForward;
  /** The loopback address on which the instance listens for the target now: `127.64.0.1:5432`. */
  readonly loopback?: string;
  /** Why postern refuses the target: a cluster owns it, or may own it, and does not have it. */
  readonly held?: ErrorInfo;
  /** Present if the route was tried. */
  readonly dial?: DialReport;
}

export interface HopInfo {
  readonly name: string;
  readonly type: string;
  /** The address without secrets: `http://proxy.corp.example:3128`. */
  readonly detail?: string;
  /** The ssh hosts on the path, nearest first. */
  readonly hosts?: readonly { readonly host: string; readonly address: string }[];
  /** Why it cannot be used, and the remedy. */
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
  /** Each step with its time in ms since the start. */
  readonly steps: readonly { readonly step: string; readonly ms: number }[];
  readonly error?: ErrorInfo;
}

/** The proxy settings for programs, before they are formatted for a shell. */
export interface ProxyEnvironment {
  /** For HTTP clients: `http://127.0.0.1:12000`, or `socks5h://…` if the listener speaks only SOCKS. */
  readonly http: string;
  /** For all other clients: `socks5h://127.0.0.1:12000`, or `http://…` if the listener speaks only HTTP. */
  readonly socks: string;
  /** The `proxy-url` for a kubeconfig: `socks5://127.0.0.1:12000`. Older instances do not report it. */
  readonly proxyUrl?: string;
  readonly noProxy: readonly string[];
  /** For people: which entries `noProxy` leaves out, and why. */
  readonly notes: readonly string[];
  /** Whether the listener requires a user and a password that the URLs do not contain. */
  readonly needsAuth: boolean;
}

/** An error in a form for another process. */
export interface ErrorInfo {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly detail?: ErrorDetail;
  readonly exit?: number;
}
