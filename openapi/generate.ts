// Writes openapi.json from the schemas of the routes and types.d.ts from that; with --check only says what is stale.
import { readFileSync, writeFileSync } from "node:fs";
import { clientTypesText } from "./client-types.ts";
import { openApiText } from "./document.ts";

const document = await openApiText();
const files = { "openapi.json": document, "types.d.ts": await clientTypesText(document) };

for (const [name, text] of Object.entries(files)) {
  const file = new URL(name, import.meta.url);
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    console.error(`openapi/${name} is stale: run npm run generate`);
    process.exitCode = 1;
  }
}
