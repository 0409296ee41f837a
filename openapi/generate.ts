// Writes openapi.json from the schemas of the routes; with --check only says whether it is stale.
import { readFileSync, writeFileSync } from "node:fs";
import { openApiText } from "./document.ts";

const file = new URL("openapi.json", import.meta.url);
const text = await openApiText();
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
  console.error("openapi/openapi.json is stale: run npx tsx openapi/generate.ts");
  process.exitCode = 1;
}
