import type { ReadFailure } from "../src/model/report.ts";
import { EXIT } from "./exit-codes.ts";
import { CommandFailure } from "./failure.ts";

/** A reader's refusal as a failure that names the file: exit code 4 where it holds no kernel, else 3. */
export function readFailure(file: string, failure: ReadFailure): CommandFailure {
  const exitCode = failure.code === "no_kernels" ? EXIT.noKernel : EXIT.unreadable;
  return new CommandFailure(exitCode, {
    code: failure.code,
    message: `${file}: ${failure.message}`,
    hint: failure.hint,
    evidence: { file, ...failure.evidence },
  });
}
