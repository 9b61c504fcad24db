export { runDemo } from "./run_demo.ts";
