import { PosternError } from "../../words/mod.ts";
import { http2CodeText } from "./http2_frames.ts";

/** An error that ends a whole HTTP/2 connection; the peer gets `http2Code`. */
export class Http2Fault extends PosternError {
  readonly http2Code: number;

  constructor(http2Code: number, what: string) {
    super("protocol", `Cannot continue the HTTP/2 connection: ${what} (${http2CodeText(http2Code)})`);
    this.http2Code = http2Code;
  }
}
