import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";

/** From here on a thread of its own costs less than hashing beside the reader would. */
const THREAD_BYTES = 16 * 1024 ** 2;

/** Runs in the thread: hashes the file that it is given the path of. Plain JavaScript, without anything to load. */
const THREAD = `
const { createHash } = require("node:crypto");
const { closeSync, openSync, readSync } = require("node:fs");
const { parentPort, workerData } = require("node:worker_threads");
const file = openSync(workerData, "r");
const hash = createHash("sha256");
const buffer = Buffer.allocUnsafe(1 << 20);
for (let position = 0; ; ) {
  const length = readSync(file, buffer, 0, buffer.length, position);
  if (length === 0) break;
  hash.update(buffer.subarray(0, length));
  position += length;
}
closeSync(file);
parentPort.postMessage(hash.digest("hex"));
`;

/** SHA-256 of a file, hexadecimal. A large one is hashed in a thread, while this one reads the report. */
export async function sha256OfFile(path: string): Promise<string> {
  if ((await stat(path)).size >= THREAD_BYTES) {
    return new Promise((resolve, reject) => {
      const thread = new Worker(THREAD, { eval: true, workerData: path });
      thread.once("message", resolve).once("error", reject);
    });
  }
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest("hex");
}
