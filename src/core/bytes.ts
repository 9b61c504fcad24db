/** Bytes that are not shared with another thread. */
export type Bytes = Uint8Array<ArrayBuffer>;
