export { type ExecCluster, execCredential, readExecInfo } from "./exec_info.ts";
export { givenToken, tokenFileNote, type TokenSource } from "./given_token.ts";
export { openBrowser } from "./open_browser.ts";
export { type ClusterToken, signInToOpenShift } from "./openshift_sign_in.ts";
export {
  type SignedIn,
  signIn,
  type SignInOptions,
  type SignInParts,
  signOut,
  withSignIn,
} from "./sign_in.ts";
export { TokenCache } from "./token_cache.ts";
export { TokenRefusal } from "./token_refusal.ts";
