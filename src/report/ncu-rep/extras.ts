import type { OpenBytes } from "../../base/bytes.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { RuleMessage } from "../../model/launch.ts";
import type { InstanceValue, LaunchExtras, ReadFailure } from "../../model/report.ts";
import { Container, MAX_RESULT, Stop } from "./container.ts";
import { RESULT_FIELDS, type ResultFields } from "./results.ts";
import { readRule } from "./rules.ts";
import { emptySession } from "./session.ts";
import { Texts } from "./texts.ts";
import { Wire } from "./wire.ts";

/** Nested messages that are decoded: an instance takes three. */
const MAX_MESSAGES = 3_000_000;

/**
 * Instances of a metric and all messages of NVIDIA's rules of one launch: what stays in the file until somebody asks. Walks to the launch by the lengths of the entries before it and
 * decodes that one entry. Instances of the last metric with the name, as with its value.
 */
export async function readNcuRepExtras(
  open: OpenBytes,
  launchIndex: number,
  metric?: string,
): Promise<Result<LaunchExtras, ReadFailure>> {
  const names = metric === undefined ? [] : await readNames(open);
  const source = await open();
  try {
    const container = new Container(source, emptySession());
    await container.fileVersion();
    let index = 0;
    while ((await container.nextBlock()) !== null) {
      for (let entry = await container.nextEntry(); entry !== null; entry = await container.nextEntry()) {
        if (entry.kind === "source" || index++ !== launchIndex) {
          await container.pass(entry);
          continue;
        }
        if (entry.kind === null || entry.size > MAX_RESULT) return err(noLaunch(launchIndex));
        const fields = RESULT_FIELDS[entry.kind];
        return ok(
          await container.take(entry, (bytes) => readEntry(new Wire(bytes, MAX_MESSAGES), fields, names, metric)),
        );
      }
    }
    return err(noLaunch(launchIndex));
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    return err({
      code: "malformed",
      message: `launch ${launchIndex} cannot be read again: from byte ${error.at} on nothing is usable (${error.message})`,
      hint: "copy the report again or record it again",
      evidence: { offset: error.at, launch: launchIndex },
    });
  } finally {
    await source.close();
  }
}

/** All names of the report, as far as it is there: those of a launch's metrics may come with a later one. */
async function readNames(open: OpenBytes): Promise<string[]> {
  const names: string[] = [];
  const source = await open();
  try {
    const container = new Container(source, emptySession());
    await container.fileVersion();
    for (let block = await container.nextBlock(); block !== null; block = await container.nextBlock()) {
      for (const name of block.header.strings) names.push(name);
      await container.passBlock();
    }
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
  } finally {
    await source.close();
  }
  return names;
}

const noLaunch = (launchIndex: number): ReadFailure => ({
  code: "no_kernels",
  message: `the report has no launch ${launchIndex} that can be read`,
  hint: "use the index of a launch of this report",
  evidence: { launch: launchIndex },
});

function readEntry(
  wire: Wire,
  fields: ResultFields,
  names: readonly string[],
  metric: string | undefined,
): LaunchExtras {
  const texts = new Texts();
  const rules: RuleMessage[] = [];
  let instances: InstanceValue[] = [];
  wire.fields((field) => {
    if (field === fields.rules) readRule(wire, texts, false, (message) => rules.push(message));
    else if (field === fields.metrics && metric !== undefined) {
      instances = readInstances(wire, names, metric) ?? instances;
    } else wire.skip();
  });
  return { instances, rules };
}

/** The instances of the metric at hand, or null where it is another one than asked for. */
function readInstances(wire: Wire, names: readonly string[], metric: string): InstanceValue[] | null {
  const instances: InstanceValue[] = [];
  let name: string | undefined;
  wire.message((field) => {
    if (field === 1) name = names[wire.uint()];
    else if (field === 3 && name === metric) instances.push(readInstance(wire));
    else wire.skip();
  });
  return name === metric ? instances : null;
}

function readInstance(wire: Wire): InstanceValue {
  let id: InstanceValue["id"] = null;
  let value: InstanceValue["value"] = null;
  wire.message((field) => {
    if (field === 1) id = readValue(wire);
    else if (field === 2) {
      const read = readValue(wire);
      value =
        typeof read === "bigint" ? Number(read) : typeof read === "number" && !Number.isFinite(read) ? null : read;
    } else wire.skip();
  });
  return { id, value };
}

/** Integers above 2^53 (addresses, time stamps) come as bigint, so that no digit is lost. */
function readValue(wire: Wire): string | number | bigint | null {
  let value: string | number | bigint | null = null;
  wire.message((form) => {
    if (form === 1) value = wire.text();
    else if (form === 2) value = wire.float();
    else if (form === 3) value = wire.double();
    else if (form === 4 || form === 5) {
      const exact = wire.bigint();
      value = exact <= Number.MAX_SAFE_INTEGER ? Number(exact) : exact;
    } else wire.skip();
  });
  return value;
}
