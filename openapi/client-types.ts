import openapiTS, { astToString } from "openapi-typescript";

const HEAD = `// biome-ignore-all lint: generated
// biome-ignore-all format: generated
// biome-ignore-all assist: generated
/** Types of the API for clients, made from openapi.json by \`npm run generate\`. */
`;

/** The types of a client of the OpenAPI document. */
export async function clientTypesText(openApiText: string): Promise<string> {
  return HEAD + astToString(await openapiTS(openApiText, { alphabetize: false }));
}
