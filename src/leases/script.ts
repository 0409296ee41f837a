/**
 * The one script that changes leases, so that every change is atomic. It needs Redis 5 or newer (effects of a script
 * are replicated, so it may read the clock and write).
 *
 * KEYS: `live` (hash: id → record), `ended` (the same, of the last hour), `ended-at` (sorted set: id by its end), `meta`
 * (hash: `sequence`, `token`, `settle_at`). ARGV: operation, channel, arguments as JSON.
 * Answers {status, Redis's clock in ms, `settle_at` or -1, record…}; a record is JSON.
 *
 * Most calls touch one record only. All are looked at ("settled") when a lease is asked for or ends, and when the clock
 * passes `settle_at`, which is never later than the earliest expiry.
 */
export const LEASE_SCRIPT = `
local LIVE, ENDED, ENDED_AT, META = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local operation, channel, given = ARGV[1], ARGV[2], cjson.decode(ARGV[3])
local clock = redis.call("TIME")
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local changed = false

local function read(key, id)
  local text = redis.call("HGET", key, id)
  return text and cjson.decode(text) or nil
end

local function settle_by(time)
  local due = tonumber(redis.call("HGET", META, "settle_at"))
  if not due or time < due then redis.call("HSET", META, "settle_at", time) end
end

local function write(lease)
  redis.call("HSET", LIVE, lease.id, cjson.encode(lease))
  settle_by(lease.expires_at_ms)
end

local function forget(ids)
  for _, id in ipairs(ids) do
    redis.call("HDEL", ENDED, id)
    redis.call("ZREM", ENDED_AT, id)
  end
end

local function finish(lease, reason)
  lease.state = "ended"
  lease.end_reason = reason
  lease.wanted = false
  lease.blocked_by = ""
  lease.expires_at_ms = math.min(lease.expires_at_ms, now)
  redis.call("HDEL", LIVE, lease.id)
  redis.call("HSET", ENDED, lease.id, cjson.encode(lease))
  redis.call("ZADD", ENDED_AT, now, lease.id)
  forget(redis.call("ZRANGEBYSCORE", ENDED_AT, "-inf", now - ENDED_KEPT_MS, "LIMIT", 0, 100))
  local surplus = redis.call("ZCARD", ENDED_AT) - MAX_ENDED
  if surplus > 0 then forget(redis.call("ZRANGE", ENDED_AT, 0, surplus - 1)) end
  redis.call("PEXPIRE", ENDED, ENDED_KEPT_MS)
  redis.call("PEXPIRE", ENDED_AT, ENDED_KEPT_MS)
  changed = true
end

local function each_gpu(lease) return string.gmatch(lease.gpus, "[^,]+") end

-- A token is above all before it, also where Redis has lost its data: it is never below the time in seconds.
local function grant(lease)
  local last = tonumber(redis.call("HGET", META, "token")) or 0
  lease.token = math.max(last + 1, tonumber(clock[1]))
  redis.call("HSET", META, "token", lease.token)
  lease.state = "held"
  lease.granted_at_ms = now
  lease.expires_at_ms = now + lease.ttl_ms
end

-- Ends what has expired, grants what can be granted, and writes who waits for whom.
local function settle()
  local leases = {}
  for _, text in ipairs(redis.call("HVALS", LIVE)) do
    local lease = cjson.decode(text)
    if lease.expires_at_ms <= now then finish(lease, "expired") else leases[#leases + 1] = lease end
  end
  table.sort(leases, function(a, b) return a.sequence < b.sequence end)

  local claims, wanted, before, rewritten = {}, {}, {}, {}
  local function claim(gpu, lease)
    local list = claims[gpu] or {}
    claims[gpu] = list
    if #list < MAX_BLOCKERS then list[#list + 1] = lease.id end
  end
  for _, lease in ipairs(leases) do
    if lease.state == "held" then
      for gpu in each_gpu(lease) do claim(gpu, lease) end
    end
  end
  for _, lease in ipairs(leases) do
    if lease.state == "waiting" then
      local blockers, seen = {}, {}
      for gpu in each_gpu(lease) do
        for _, id in ipairs(claims[gpu] or {}) do
          if not seen[id] then
            seen[id] = true
            wanted[id] = true
            blockers[#blockers + 1] = id
          end
        end
      end
      before[lease.id] = table.concat(blockers, ",", 1, math.min(#blockers, MAX_BLOCKERS))
      if #blockers == 0 then
        grant(lease)
        rewritten[lease.id] = true
      end
      for gpu in each_gpu(lease) do claim(gpu, lease) end
    end
  end

  redis.call("HDEL", META, "settle_at")
  for _, lease in ipairs(leases) do
    local is_wanted = lease.state == "held" and wanted[lease.id] == true
    local blocked_by = before[lease.id] or ""
    if lease.wanted ~= is_wanted or lease.blocked_by ~= blocked_by then
      lease.wanted = is_wanted
      lease.blocked_by = blocked_by
      rewritten[lease.id] = true
    end
    if rewritten[lease.id] then
      write(lease)
      changed = true
    else
      settle_by(lease.expires_at_ms)
    end
  end
end

local function settle_if_due()
  local due = tonumber(redis.call("HGET", META, "settle_at"))
  if due and due <= now then settle() end
end

local function answer(status, ...)
  if changed then redis.call("PUBLISH", channel, operation) end
  return {status, now, tonumber(redis.call("HGET", META, "settle_at")) or -1, ...}
end

local function request()
  local known = redis.call("HGET", LIVE, given.id) or redis.call("HGET", ENDED, given.id)
  if known then return answer("ok", known) end
  if redis.call("HLEN", LIVE) >= MAX_LIVE then return answer("full") end
  local lease = given
  lease.state = "waiting"
  lease.sequence = redis.call("HINCRBY", META, "sequence", 1)
  lease.token = cjson.null
  lease.wanted = false
  lease.blocked_by = ""
  lease.end_reason = cjson.null
  lease.requested_at_ms = now
  lease.granted_at_ms = cjson.null
  lease.expires_at_ms = now + lease.ttl_ms
  write(lease)
  settle()
  return answer("ok", redis.call("HGET", LIVE, given.id))
end

-- Where it is not live: what is still known of it.
local function gone()
  local ended = redis.call("HGET", ENDED, given.id)
  if ended then return answer("ended", ended) end
  return answer("unknown")
end

local function get()
  local lease = read(LIVE, given.id)
  if not lease then return gone() end
  if given.renew_waiting and lease.state == "waiting" and lease.expires_at_ms - now < lease.ttl_ms * 2 / 3 then
    lease.expires_at_ms = now + lease.ttl_ms
    write(lease)
  end
  return answer("ok", cjson.encode(lease))
end

local function renew()
  local lease = read(LIVE, given.id)
  if not lease then return gone() end
  if given.token and given.token ~= lease.token then return answer("other_token", cjson.encode(lease)) end
  lease.ttl_ms = given.ttl_ms or lease.ttl_ms
  -- Its holder reckons with the later end: it has to look.
  if now + lease.ttl_ms < lease.expires_at_ms then changed = true end
  lease.expires_at_ms = now + lease.ttl_ms
  local refused = given.preemptible == false and lease.preemptible and lease.wanted
  if given.preemptible ~= nil and not refused then lease.preemptible = given.preemptible end
  write(lease)
  return answer(refused and "wanted" or "ok", cjson.encode(lease))
end

local function release()
  local lease = read(LIVE, given.id)
  if not lease then return gone() end
  finish(lease, "released")
  settle()
  return answer("ended", cjson.encode(lease))
end

local function list()
  return answer("ok", unpack(redis.call("HVALS", LIVE)))
end

settle_if_due()
local operations = {request = request, get = get, renew = renew, release = release, list = list}
return operations[operation]()
`
  .replaceAll("ENDED_KEPT_MS", String(60 * 60 * 1000))
  .replaceAll("MAX_ENDED", "10000")
  .replaceAll("MAX_BLOCKERS", "16")
  .replaceAll("MAX_LIVE", "500");
