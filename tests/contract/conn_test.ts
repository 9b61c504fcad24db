import { connContract } from "./conn_contract.ts";
import { connKinds } from "./conn_kinds.ts";

for (const kind of connKinds) connContract(kind);
