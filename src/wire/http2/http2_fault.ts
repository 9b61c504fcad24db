import { PosternError } from "../../words/mod.ts";
import { http2CodeText } from "./http2_frames.ts";

/** What a whole HTTP/2 connection ends for; `http2Code` is what its peer is told. */
export class Http2Fault extends PosternError {
  readonly http2Code: number;

  constructor(http2Code: number, what: string) {
    super("protocol", `Cannot go on with the HTTP/2 connection: ${what} (${http2CodeText(http2Code)})`);
    this.http2Code = http2Code;
  }
}
