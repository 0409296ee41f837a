// A process that opens (and so migrates) a database when it is told to.
import { once } from "node:events";
import { openPostgres, openSqlite } from "../../src/db/database.ts";

const { DATA_DIR, DATABASE_URL } = JSON.parse(process.argv[2] ?? "{}");
console.log("loaded");
await once(process.stdin, "data");
const database = DATABASE_URL === undefined ? await openSqlite(DATA_DIR) : await openPostgres(DATABASE_URL, () => {});
await database.close();
process.exit(0);
