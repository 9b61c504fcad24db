import assert from "node:assert/strict";
import { programTests } from "../../../scripts/program_tests.ts";

const files: Readonly<Record<string, string>> = {
  "tests/cli/a_test.ts": `import { Household } from "../support/postern_process.ts";\n`,
  "tests/interop/b_test.ts": `import {\n  instance,\n} from "../support/instance.ts";\n`,
  "tests/interop/c_test.ts":
    `import { clock } from "../support/clock.ts";\nimport type { Household } from "../support/postern_process.ts";\nimport "../../src/core/mod.ts";\n`,
  "tests/support/instance.ts": `export { Household } from "./postern_process.ts";\n`,
  "tests/support/clock.ts": `// a circle\nimport "./clock.ts";\nconst text = "./postern_process.ts";\n`,
  "tests/support/postern_process.ts": "",
};
const read = (path: string) => Promise.resolve(files[path] ?? assert.fail(`${path} was read`));

Deno.test("programTests() keeps the tests that start the program, directly or through support modules", async () => {
  const tests = Object.keys(files).filter((path) => path.endsWith("_test.ts"));
  assert.deepEqual(await programTests(tests, read), ["tests/cli/a_test.ts", "tests/interop/b_test.ts"]);
});
