export { doctor, type Finding } from "./doctor.ts";
