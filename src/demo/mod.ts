export { type DemoOptions, runDemo } from "./run_demo.ts";
