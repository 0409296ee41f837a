import { styleText } from "node:util";

/** How text may look where it goes. */
export interface Terminal {
  /** Columns to fill; lines made for reading stay inside. */
  readonly width: number;
  readonly colour: boolean;
}

export type Style = "bold" | "dim" | "red" | "yellow" | "green" | "cyan" | "magenta" | "blue";

const NARROWEST = 60;
const WIDEST = 200;

/**
 * Width from COLUMNS, else from the terminal, else 80. Colour only on a terminal that can show it, and never with NO_COLOR
 * (https://no-color.org: set and not empty).
 */
export function terminalOf(
  stream: { readonly isTTY?: boolean; readonly columns?: number },
  env: Readonly<Record<string, string | undefined>>,
): Terminal {
  const asked = Number(env.COLUMNS);
  const columns = Number.isInteger(asked) && asked > 0 ? asked : (stream.columns ?? 80);
  return {
    width: Math.min(WIDEST, Math.max(NARROWEST, columns)),
    colour: stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb",
  };
}

/** `text` in a style where the terminal shows colours. */
export const paint = (terminal: Terminal, style: Style, text: string): string =>
  terminal.colour ? styleText(style, text, { validateStream: false }) : text;
