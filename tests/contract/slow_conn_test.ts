import { connContract } from "./conn_contract.ts";
import { slowConnKinds } from "./conn_kinds.ts";

// A separate file, so that it runs in parallel with the others.
for (const kind of slowConnKinds) connContract(kind);
