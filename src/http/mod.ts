export { type Connect, firstConnected, type FirstConnectedOptions, interleaved } from "./happy_eyeballs.ts";
export { readAnswerBody } from "./http_answer_body.ts";
export { copyBody, joined, readBody } from "./http_body.ts";
export { type HttpAnswer, HttpClient, type HttpClientParts, placeOf } from "./http_client.ts";
export { httpConnect } from "./http_connect.ts";
export { fetchWith } from "./http_fetch.ts";
export { type Asking, noAnswer } from "./proxy_asking.ts";
