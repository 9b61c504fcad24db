import { connContract } from "./conn_contract.ts";
import { connKinds, slowConnKinds } from "./conn_kinds.ts";

for (const kind of connKinds) if (!slowConnKinds.includes(kind)) connContract(kind);
