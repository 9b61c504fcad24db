/** A file of a service before it is written. */
export interface ServiceFile {
  readonly path: string;
  readonly name: string;
  readonly content: string;
}

/** The input for the files of a service. */
export interface ServicePlanOptions {
  /** Runs from login on instead of on demand. */
  readonly isAlways: boolean;
  /** The command line that starts postern. */
  readonly self: readonly string[];
  /** The arguments from `proxy` on. */
  readonly serviceArguments: readonly string[];
  readonly updateArguments: readonly string[];
  readonly hasTimer: boolean;
  /** The listener addresses: `127.0.0.1:12000`. */
  readonly addresses: readonly string[];
  /** The socket of the user's ssh agent, if its path is the same after each login. */
  readonly agent?: string;
  /** The runtime directory of the user, without our subdirectory. */
  readonly runtime?: string;
  /** `KUBECONFIG` at installation time, with absolute paths. */
  readonly kubeconfigs?: string;
  /** How long live connections may continue during a stop, in ms. */
  readonly drain: number;
}

/** The base name of the systemd units. */
export const servicesName = "postern";

/** Marks our files; files without it belong to another program. */
export const writtenBy = "Written by postern service-install";
