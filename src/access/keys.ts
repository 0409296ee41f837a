import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Database } from "../db/database.ts";
import { type ApiKeyRow, anyKey, keyById, putKey, revokeOthers, touchKey } from "../db/keys.ts";
import type { Principal, Role } from "./roles.ts";

export interface NewKey {
  readonly name: string;
  readonly roles: readonly Role[];
  readonly raw_artifacts: boolean;
  readonly expires_at_ms: number | null;
}

/** Who may use the service. `null` from `authenticate`: no key, or one that is unknown, wrong, expired or revoked. */
export interface Keys {
  /** True while there is no key at all: everyone who reaches the service may do everything. */
  isOpen(): Promise<boolean>;
  /** @param authorization the value of the header `Authorization` (RFC 6750). */
  authenticate(authorization: string | undefined): Promise<Principal | null>;
  /** Makes a key and returns it: the only time its secret is seen. */
  create(key: NewKey): Promise<string>;
  /** Takes in a key that was made elsewhere, in the same form; it takes the place of others of its name. */
  replace(token: string, key: NewKey): Promise<void>;
}

const TOKEN = /^Bearer +pk_([a-z0-9]{8,32})_([A-Za-z0-9_-]{22,128})$/i;
/** How long "there is no key" is believed: a key made by another process closes the service within this time. */
const OPEN_CHECK_MS = 1_000;
/** `last_used_at` is for people who clean up: to the minute is enough. */
const TOUCH_INTERVAL_MS = 60_000;
/** 256 bits, so that a plain hash is enough to store it: there is nothing to guess. */
const SECRET_BYTES = 32;

const hash = (secret: string): Buffer => createHash("sha256").update(secret).digest();

/** @param now the clock, Unix milliseconds. */
export function openKeys(database: Database, now: () => number = Date.now): Keys {
  const db = database.kysely;
  let openUntil = 0;
  let closed = false;

  const put = async (id: string, secret: string, key: NewKey): Promise<void> => {
    await putKey(db, {
      id,
      secret_sha256: hash(secret).toString("hex"),
      name: key.name,
      roles: JSON.stringify(key.roles),
      raw_artifacts: key.raw_artifacts ? 1 : 0,
      created_at_ms: now(),
      expires_at_ms: key.expires_at_ms,
      revoked_at_ms: null,
      last_used_at_ms: null,
    });
    closed = true;
  };

  return {
    async isOpen() {
      if (closed) return false;
      if (now() < openUntil) return true;
      closed = await anyKey(db);
      openUntil = now() + OPEN_CHECK_MS;
      return !closed;
    },
    async authenticate(authorization) {
      const match = TOKEN.exec(authorization ?? "");
      const [, id, secret] = match ?? [];
      if (!id || !secret) return null;
      const row = await keyById(db, id.toLowerCase());
      // Compared also where there is no such key: the time of the answer must not tell.
      const expected = row ? Buffer.from(row.secret_sha256, "hex") : hash("");
      const equal = timingSafeEqual(hash(secret), expected);
      if (!row || !equal || !isLive(row, now())) return null;
      if (now() - (row.last_used_at_ms ?? 0) > TOUCH_INTERVAL_MS) await touchKey(db, row.id, now());
      return { keyId: row.id, roles: new Set(JSON.parse(row.roles)), rawArtifacts: row.raw_artifacts === 1 };
    },
    async create(key) {
      const id = randomBytes(6).toString("hex");
      const secret = randomBytes(SECRET_BYTES).toString("base64url");
      await put(id, secret, key);
      return `pk_${id}_${secret}`;
    },
    async replace(token, key) {
      const [, id, secret] = TOKEN.exec(`Bearer ${token}`) ?? [];
      if (!id || !secret) throw new TypeError("expected a key of the form pk_<id>_<secret>");
      await put(id, secret, key);
      await revokeOthers(db, key.name, id, now());
    },
  };
}

const isLive = (row: ApiKeyRow, now: number): boolean =>
  row.revoked_at_ms === null && (row.expires_at_ms === null || row.expires_at_ms > now);
