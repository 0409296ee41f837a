/** Names of variables and options whose values are secrets. */
const SECRET_NAME =
  /(?:^|[_\W])(?:.*(?:token|secret|passw(?:or)?d|passphrase|credential|private_?key|api_?key|access_?key)|auth|authorization|cookie|pwd)(?:$|[_\W])/i;

/** What such a name may look like at the end of a longer one: HF_TOKEN, AWS_SECRET_ACCESS_KEY, MYSQL_PWD, DATABASE_URL. */
const SECRET_ENDING =
  /(?:token|secret|passw(?:or)?d|passphrase|credentials?|_key|_pwd|_auth|_dsn|_pat|database_url|redis_url)$/i;

export const looksSecret = (name: string): boolean => SECRET_NAME.test(name) || SECRET_ENDING.test(name);

export const REDACTED = "[redacted]";

/** Shorter values would take ordinary words out of a log. */
const SHORTEST_VALUE = 6;

const NAME =
  "[A-Za-z0-9_.-]{0,64}(?:token|secret|passw(?:or)?d|passphrase|credential|api[_-]?key|access[_-]?key|private[_-]?key)[A-Za-z0-9_.-]{0,64}";

/** Known shapes of secrets in running text, each with what replaces it. Linear: no pattern repeats within a repetition. */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  // name=value, name: value, --name value, "name": "value"
  [new RegExp(`(\\b${NAME}["']?\\s?[=:]\\s?["']?)(?!\\[redacted\\])[^\\s"',;&]{4,}`, "gi"), `$1${REDACTED}`],
  [new RegExp(`(--${NAME}\\s)(?!\\[redacted\\]|-)[^\\s"']{4,}`, "gi"), `$1${REDACTED}`],
  [/\b(Bearer|Basic)\s[A-Za-z0-9._~+/=-]{8,}/g, `$1 ${REDACTED}`],
  // scheme://user:password@host
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@]{0,128}):[^\s/@]{1,256}@/gi, `$1:${REDACTED}@`],
  // Hugging Face, OpenAI, GitHub, AWS, Slack, JSON web tokens, this service's own keys
  [/\bhf_[A-Za-z0-9]{16,}/g, REDACTED],
  [/\bsk-[A-Za-z0-9_-]{16,}/g, REDACTED],
  [/\bgh[pousr]_[A-Za-z0-9]{20,}/g, REDACTED],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, REDACTED],
  [/\bxox[abprs]-[A-Za-z0-9-]{10,}/g, REDACTED],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g, REDACTED],
  [/\bpk_[A-Za-z0-9_-]{20,}/g, REDACTED],
];

/**
 * Takes secrets out of lines of a log: the values given (of variables handed to the program), and what looks like one.
 * Give whole lines; a secret that is cut in two is not recognised.
 */
export function redactor(values: Iterable<string> = []): (text: string) => string {
  const known = [...new Set(values)]
    .filter((value) => value.length >= SHORTEST_VALUE)
    .sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const value of known) clean = clean.replaceAll(value, REDACTED);
    for (const [shape, replacement] of SHAPES) clean = clean.replace(shape, replacement);
    return clean;
  };
}
