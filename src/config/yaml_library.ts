import * as yaml from "yaml";

/** The YAML library. In a bundle, an import of the package itself has no named exports. */
export { yaml };
