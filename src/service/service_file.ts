/** A file of a service, as it is to be written. */
export interface ServiceFile {
  readonly path: string;
  readonly name: string;
  readonly content: string;
}

/** What the files of a service are made from. */
export interface ServicePlanOptions {
  /** Runs from log-in on, instead of from the first client to the last. */
  readonly isAlways: boolean;
  /** The command line that starts postern. */
  readonly self: readonly string[];
  /** From `proxy` on. */
  readonly serviceArguments: readonly string[];
  readonly updateArguments: readonly string[];
  readonly hasTimer: boolean;
  /** Where the door is, `127.0.0.1:12000`. */
  readonly addresses: readonly string[];
  /** The socket of the person's ssh agent, where it is at the same place after each log-in. */
  readonly agent?: string;
  /** The directory of the person's sockets, without our own part. */
  readonly runtime?: string;
  /** `KUBECONFIG` at the installation, with absolute paths. */
  readonly kubeconfigs?: string;
  /** How long live connections may go on at the end, in ms. */
  readonly drain: number;
}

/** The units of systemd are named after it. */
export const servicesName = "postern";

/** Stands in every file of ours: what has not got it is somebody else's. */
export const writtenBy = "Written by postern service-install";
