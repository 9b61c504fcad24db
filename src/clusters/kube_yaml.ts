/** The reader of YAML. An import of the package itself has no named exports once it is bundled. */
export { parseDocument } from "yaml";
