import type { ProfileResult } from "../../src/model/result.ts";
import type { Terminal } from "../terminal.ts";
import { detailView } from "./detail.ts";
import { rankingView, type ViewOptions } from "./ranking.ts";

/** The lines of a result for people: the ranked table of a pipeline, or all about one kernel. */
export const resultView = (terminal: Terminal, result: ProfileResult, options: ViewOptions): string[] =>
  result.kind === "pipeline" ? rankingView(terminal, result, options) : detailView(terminal, result, options);
