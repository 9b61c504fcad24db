import * as yaml from "yaml";

/** The YAML library. An import of the package itself has no named exports once it is bundled. */
export { yaml };
