import { connContract } from "./conn_contract.ts";
import { slowConnKinds } from "./conn_kinds.ts";

// In a file of its own, which runs beside the others.
for (const kind of slowConnKinds) connContract(kind);
