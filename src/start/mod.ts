export { type Program, start } from "./start.ts";
