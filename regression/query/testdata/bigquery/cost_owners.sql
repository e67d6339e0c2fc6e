-- What methods cost, with weights formed once. Three kinds of rows:
--
-- method   one of each version: calls, measurements, its time with and without what
--          it calls, and the sums over its own clusters as of a group
-- group    one of each group asked for: the sums over clusters (instance x slot) of
--          the squares and cubes of what its self time there differs from what its
--          methods' means say, from which its interval follows
-- edge     what a method paid for one callee; caller NULL where it is not known and
--          can't be inferred. wall_n are the calls that were timed by the wall, wall_x those
--          whose CPU was timed: their probes are in the caller's time
--
-- x and n are of the metric: of CPU, or of wall time, where dollars mean nothing.
--
-- waits are how often the calls of n gave up the processor. both_x is the wall time of the calls whose CPU was timed, for n of them.
--
-- By goroutine group there are edges of each group, and
--
-- part     the part of a method in one group. Weights are those of the method, so parts add
--          up to it. Its interval is that of a domain: residuals are of what it is a call of
--          the whole method, because how many calls are of the group is an estimate, too
WITH scoped AS  (
  SELECT
    c.* REPLACE (CAST(r.usd_per_core_hour AS FLOAT64) AS usd_per_core_hour),
    -- What was counted needs no slot.
    CASE WHEN c.start_ns >= @from_ns AND c.start_ns < @to_ns
      THEN CASE WHEN CASE c.kind WHEN 'counts' THEN TRUE ELSE FALSE END AND CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END THEN 0 ELSE c.start_ns - MOD(c.start_ns, @slot_ns) END END AS slot_ns
  FROM (SELECT * REPLACE (CASE WHEN start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN start_ns END AS start_ns, CASE WHEN end_ns BETWEEN start_ns AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN end_ns ELSE start_ns END AS end_ns, CASE WHEN process_start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN process_start_ns END AS process_start_ns, CASE WHEN measured BETWEEN 0 AND 9007199254740992 THEN measured ELSE 0 END AS measured, CASE WHEN cpu_measured BETWEEN 0 AND 9007199254740992 THEN cpu_measured ELSE 0 END AS cpu_measured, CASE WHEN calls BETWEEN 1e-09 AND 1152921504606846976 THEN calls ELSE 0 END AS calls, CASE WHEN errors BETWEEN 0 AND 1152921504606846976 THEN errors ELSE 0 END AS errors, CASE WHEN wall_ns BETWEEN 0 AND 1152921504606846976 THEN wall_ns ELSE NULL END AS wall_ns, CASE WHEN cpu_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_ns ELSE NULL END AS cpu_ns, CASE WHEN p BETWEEN 1e-18 AND 1 THEN p ELSE NULL END AS p, CASE WHEN cpu_p BETWEEN 1e-18 AND 1000000000000000000 THEN cpu_p ELSE NULL END AS cpu_p, CASE WHEN usd_per_core_hour BETWEEN 0 AND 1048576 THEN usd_per_core_hour ELSE NULL END AS usd_per_core_hour, CASE WHEN rss_bytes BETWEEN 0 AND 1152921504606846976 THEN rss_bytes ELSE NULL END AS rss_bytes, CASE WHEN calls_total BETWEEN 0 AND 9007199254740992 THEN calls_total ELSE NULL END AS calls_total, CASE WHEN wall_max_ns BETWEEN 0 AND 1152921504606846976 THEN wall_max_ns ELSE NULL END AS wall_max_ns, CASE WHEN cpu_max_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_max_ns ELSE NULL END AS cpu_max_ns, CASE WHEN wall_sq BETWEEN 0 AND 1e+36 THEN wall_sq ELSE NULL END AS wall_sq, CASE WHEN cpu_sq BETWEEN 0 AND 1e+36 THEN cpu_sq ELSE NULL END AS cpu_sq, CASE WHEN cpu_waits BETWEEN 0 AND 1152921504606846976 THEN cpu_waits ELSE NULL END AS cpu_waits, CASE WHEN cores BETWEEN 0 AND 65536 THEN cores ELSE NULL END AS cores, CASE WHEN host_cores BETWEEN 0 AND 65536 THEN host_cores ELSE NULL END AS host_cores, CASE WHEN cpu_limit BETWEEN 0 AND 65536 THEN cpu_limit ELSE NULL END AS cpu_limit, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(wall_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN wall_hist END AS wall_hist, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(cpu_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN cpu_hist END AS cpu_hist) FROM method_calls WHERE event_date BETWEEN @from_date AND @to_date) AS c
  LEFT JOIN UNNEST(@repriced) AS r ON COALESCE(c.cloud_provider, '') = COALESCE(r.cloud_provider, '') AND COALESCE(c.region, '') = COALESCE(r.region, '') AND COALESCE(c.host_type, '') = COALESCE(r.host_type, '') AND COALESCE(c.capacity_type, '') = COALESCE(r.capacity_type, '')
  WHERE true  AND c.service_namespace = @service_namespace AND c.service = @service AND c.environment = @environment
),

-- Rows or sums of them, over their probabilities, with the factors that turn them into
-- estimates: cpu_factor for what is over p * cpu_p, wall_factor for what is over p.
-- What a row weighs. q = p * cpu_p is the probability that a row's CPU was
-- measured with, p that of its wall time.
--
-- A row of the tail stratum weighs 1/q and leaves the rest of its cell N_G calls:
-- those counted less those that tail rows stand for. A row outside of it weighs
-- N_G * (1/q) / sum over its cell of (cpu_measured / q). The same with p for wall
-- time, errors and callers.
--
-- Cells are nested: the minute of start, if every minute of its hour with calls
-- holds 20 effective records (less what adding 20 equal ones may round); else what
-- such hours leave of the hour, if every hour of the date with calls holds them;
-- else what is left of the date. Each call and each row is in one cell. Minutes and
-- hours are told apart by the collector's directory, too, what is left of a date is
-- not: it may have counted here what it timed there. So records without calls are in what
-- is left. If that has calls and no record, all others of the method's date weigh as much
-- more as to stand for these, too (scale).
--
-- The reason of a row of level minute or hour says in which cells its rows were, as
-- in 'minute/rest' for CPU and wall time. It weighs 1/q, which is final, unless that
-- is 'rest': then it is in what is left of the date, with the rows of other
-- directories, added up or not. ('none' is final, as is 'date', of older sums.)
--
-- All rows of a cell weigh its factor, over their own probability. So rows are added up
-- first, each over its probability, and sums are weighed. By hour at first: minutes are
-- told apart only where they may be cells. n records weigh as n effective ones at most, so
-- an hour needs 20 of them for each of its minutes with calls; most hours of most methods
-- have fewer, and as many minutes as records. Rows of the others are added up by minute, and
-- of those hours without calls whose minutes are cells because nothing was measured.
--
-- Nearly all rows count calls and measure nothing. They are added up by hour on their own
-- (tallies), without the columns that only measurements have; measured are the rows that may
-- have a weight. Their kinds are in a list, by which engines skip row groups of counts.
--
-- Statements that want sums weigh these, if they are much fewer than rows (summed), which
-- is in what they tell apart.
--
-- hour_ns and minute_ns tell directories apart by their last digits, from 1; with
-- none a time stands for the sums of a date. Where minutes are not told apart minute_ns
-- is the hour.
--
-- Methods of versions go by number: six names are dear to group and to join by.
-- holes says whether the caller of some of a method's measurements is not known,
-- name_id which methods of a version have the same full name.
--
-- Counts arrive up to a minute after measurements. A measurement that started after the end of
-- the last counts of its process is pending: its calls are in no N_G, so it is in no cell and has
-- no weight until they are. Only measurements of the newest hour can be: a process that was
-- killed sends no last counts, and its measurements count like those of other processes then.
uncounted AS  (
  -- Processes with measurements that started after the end of their last counts.
  SELECT service_namespace, service, environment, version, instance, process_start_ns, MAX(CASE WHEN CASE kind WHEN 'counts' THEN TRUE WHEN 'process' THEN TRUE ELSE FALSE END THEN end_ns ELSE 0 END) AS until_ns
  FROM (
    SELECT c.service_namespace, c.service, c.environment, c.version, c.instance, c.process_start_ns, c.kind, MAX(c.start_ns) AS start_ns, MAX(c.end_ns) AS end_ns
    FROM (SELECT * REPLACE (CASE WHEN start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN start_ns END AS start_ns, CASE WHEN end_ns BETWEEN start_ns AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN end_ns ELSE start_ns END AS end_ns, CASE WHEN process_start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN process_start_ns END AS process_start_ns, CASE WHEN measured BETWEEN 0 AND 9007199254740992 THEN measured ELSE 0 END AS measured, CASE WHEN cpu_measured BETWEEN 0 AND 9007199254740992 THEN cpu_measured ELSE 0 END AS cpu_measured, CASE WHEN calls BETWEEN 1e-09 AND 1152921504606846976 THEN calls ELSE 0 END AS calls, CASE WHEN errors BETWEEN 0 AND 1152921504606846976 THEN errors ELSE 0 END AS errors, CASE WHEN wall_ns BETWEEN 0 AND 1152921504606846976 THEN wall_ns ELSE NULL END AS wall_ns, CASE WHEN cpu_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_ns ELSE NULL END AS cpu_ns, CASE WHEN p BETWEEN 1e-18 AND 1 THEN p ELSE NULL END AS p, CASE WHEN cpu_p BETWEEN 1e-18 AND 1000000000000000000 THEN cpu_p ELSE NULL END AS cpu_p, CASE WHEN usd_per_core_hour BETWEEN 0 AND 1048576 THEN usd_per_core_hour ELSE NULL END AS usd_per_core_hour, CASE WHEN rss_bytes BETWEEN 0 AND 1152921504606846976 THEN rss_bytes ELSE NULL END AS rss_bytes, CASE WHEN calls_total BETWEEN 0 AND 9007199254740992 THEN calls_total ELSE NULL END AS calls_total, CASE WHEN wall_max_ns BETWEEN 0 AND 1152921504606846976 THEN wall_max_ns ELSE NULL END AS wall_max_ns, CASE WHEN cpu_max_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_max_ns ELSE NULL END AS cpu_max_ns, CASE WHEN wall_sq BETWEEN 0 AND 1e+36 THEN wall_sq ELSE NULL END AS wall_sq, CASE WHEN cpu_sq BETWEEN 0 AND 1e+36 THEN cpu_sq ELSE NULL END AS cpu_sq, CASE WHEN cpu_waits BETWEEN 0 AND 1152921504606846976 THEN cpu_waits ELSE NULL END AS cpu_waits, CASE WHEN cores BETWEEN 0 AND 65536 THEN cores ELSE NULL END AS cores, CASE WHEN host_cores BETWEEN 0 AND 65536 THEN host_cores ELSE NULL END AS host_cores, CASE WHEN cpu_limit BETWEEN 0 AND 65536 THEN cpu_limit ELSE NULL END AS cpu_limit, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(wall_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN wall_hist END AS wall_hist, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(cpu_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN cpu_hist END AS cpu_hist) FROM method_calls WHERE event_date BETWEEN @from_date AND @to_date) AS c
    WHERE CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END AND c.weight_basis = 'exact' AND c.process_start_ns IS NOT NULL AND c.start_ns >= (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - 3600000000000)
       AND c.service_namespace = @service_namespace AND c.service = @service AND c.environment = @environment
    GROUP BY c.service_namespace, c.service, c.environment, c.version, c.instance, c.process_start_ns, c.kind
  )
  GROUP BY service_namespace, service, environment, version, instance, process_start_ns
  HAVING MAX(CASE WHEN CASE kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END THEN start_ns END)
    >= MAX(CASE WHEN CASE kind WHEN 'counts' THEN TRUE WHEN 'process' THEN TRUE ELSE FALSE END THEN end_ns ELSE 0 END)
),
measured AS  (
  SELECT c.*
  FROM scoped AS c
  WHERE c.start_ns < (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - 3600000000000) AND c.kind IN ('call', 'aggregate')
  UNION ALL
  SELECT c.*
  FROM scoped AS c
  LEFT JOIN uncounted AS u ON u.process_start_ns = CASE WHEN c.start_ns >= (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - 3600000000000) AND CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END AND CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.weight_basis = 'exact' THEN c.process_start_ns END
    AND COALESCE(u.service_namespace, '') = COALESCE(c.service_namespace, '') AND COALESCE(u.service, '') = COALESCE(c.service, '') AND COALESCE(u.environment, '') = COALESCE(c.environment, '') AND COALESCE(u.version, '') = COALESCE(c.version, '') AND COALESCE(u.instance, '') = COALESCE(c.instance, '') AND c.start_ns >= u.until_ns
  WHERE c.start_ns >= (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - 3600000000000) AND c.kind IN ('call', 'aggregate') AND u.until_ns IS NULL
),
tallies AS  (
  SELECT
    service_namespace, service, environment, version, class, method, instance, slot_ns, signature, start_ns - MOD(start_ns, 3600000000000) + 1 AS hour_ns,
    BIT_OR(CASE WHEN calls > 0 THEN CAST(1 AS INT64) << DIV(MOD(start_ns, 3600000000000), 60000000000) END) AS minutes_with_calls,
    SUM(calls) AS calls
  FROM scoped
  WHERE CASE kind WHEN 'counts' THEN TRUE ELSE FALSE END AND CASE level WHEN 'raw' THEN TRUE ELSE FALSE END
  GROUP BY service_namespace, service, environment, version, class, method, instance, slot_ns, signature, start_ns - MOD(start_ns, 3600000000000) + 1
),
rolled AS  (
  SELECT
    service_namespace, service, environment, version, class, method, start_ns - MOD(start_ns, 86400000000000) AS date_ns,
    MAX(hole) AS holes,
    SUM(CASE WHEN reason LIKE 'rest/%' THEN calls - CASE WHEN stratum = 'tail' THEN COALESCE(cpu_n, 0) ELSE 0 END END) AS cpu_left,
    SUM(CASE WHEN reason LIKE 'rest/%' THEN CASE WHEN stratum = 'tail' THEN 0 ELSE cpu_n END END) AS cpu_sum,
    SUM(CASE WHEN reason LIKE 'rest/%' OR stratum = 'tail' THEN 0 ELSE COALESCE(cpu_n, 0) END) AS cpu_held,
    SUM(CASE WHEN reason LIKE '%/rest' THEN calls - CASE WHEN stratum = 'tail' THEN COALESCE(wall_n, 0) ELSE 0 END END) AS wall_left,
    SUM(CASE WHEN reason LIKE '%/rest' THEN CASE WHEN stratum = 'tail' THEN 0 ELSE wall_n END END) AS wall_sum,
    SUM(CASE WHEN reason LIKE '%/rest' OR stratum = 'tail' THEN 0 ELSE COALESCE(wall_n, 0) END) AS wall_held
  FROM (
    -- Rows over their probabilities. timed are those that may have weights.
    SELECT
      c.service_namespace, c.service, c.environment, c.version, c.class, c.method, c.level, c.reason,
      c.instance, c.slot_ns, c.caller, c.signature, c.usd_per_core_hour, c.start_ns, c.stratum, c.calls, CAST(c.measured AS FLOAT64) AS measured,
      CASE WHEN c.measured > 0 AND c.caller IS NULL THEN 1 ELSE 0 END AS hole,
      CASE WHEN CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.measured > 0 AND c.p <> 0 THEN 1 ELSE 0 END AS timed,
      c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS cpu_n, c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) / NULLIF(c.p * c.cpu_p, 0) AS cpu_nn,
      c.measured / NULLIF(c.p, 0) AS wall_n, c.measured / NULLIF(c.p, 0) / NULLIF(c.p, 0) AS wall_nn,
      CAST(c.cpu_measured AS FLOAT64) AS cpu_measured, CASE WHEN c.cpu_measured > 0 THEN c.cpu_ns END / NULLIF(c.p * c.cpu_p, 0) AS x,
      c.wall_ns / NULLIF(c.p, 0) AS wall_x, c.wall_ns / NULLIF(c.measured, 0) * c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS both_x, c.errors / NULLIF(c.p, 0) AS errors,
      c.cpu_waits / NULLIF(c.p * c.cpu_p, 0) AS waits
    FROM scoped AS c
    WHERE c.level <> 'raw' AND CASE c.kind WHEN 'call' THEN TRUE WHEN 'counts' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END
  )
  GROUP BY service_namespace, service, environment, version, class, method, start_ns - MOD(start_ns, 86400000000000)
),
by_hour AS  (
  SELECT
    service_namespace, service, environment, version, class, method, stratum, timed, instance, slot_ns, caller, signature, usd_per_core_hour,
    start_ns - MOD(start_ns, 3600000000000) + 1 AS hour_ns,
    MAX(hole) AS holes,
    BIT_OR(CASE WHEN calls > 0 THEN CAST(1 AS INT64) << DIV(MOD(start_ns, 3600000000000), 60000000000) END) AS minutes_with_calls,
    SUM(calls) AS calls, SUM(measured) AS measured,
    SUM(cpu_n) AS cpu_n, SUM(cpu_nn) AS cpu_nn, SUM(wall_n) AS wall_n, SUM(wall_nn) AS wall_nn,
    SUM(cpu_measured) AS cpu_measured, SUM(x) AS x, SUM(wall_x) AS wall_x, SUM(both_x) AS both_x, SUM(errors) AS errors, SUM(waits) AS waits
  FROM (
    -- Rows over their probabilities. timed are those that may have weights.
    SELECT
      c.service_namespace, c.service, c.environment, c.version, c.class, c.method, c.level, c.reason,
      c.instance, c.slot_ns, c.caller, c.signature, c.usd_per_core_hour, c.start_ns, c.stratum, c.calls, CAST(c.measured AS FLOAT64) AS measured,
      CASE WHEN c.measured > 0 AND c.caller IS NULL THEN 1 ELSE 0 END AS hole,
      CASE WHEN CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.measured > 0 AND c.p <> 0 THEN 1 ELSE 0 END AS timed,
      c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS cpu_n, c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) / NULLIF(c.p * c.cpu_p, 0) AS cpu_nn,
      c.measured / NULLIF(c.p, 0) AS wall_n, c.measured / NULLIF(c.p, 0) / NULLIF(c.p, 0) AS wall_nn,
      CAST(c.cpu_measured AS FLOAT64) AS cpu_measured, CASE WHEN c.cpu_measured > 0 THEN c.cpu_ns END / NULLIF(c.p * c.cpu_p, 0) AS x,
      c.wall_ns / NULLIF(c.p, 0) AS wall_x, c.wall_ns / NULLIF(c.measured, 0) * c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS both_x, c.errors / NULLIF(c.p, 0) AS errors,
      c.cpu_waits / NULLIF(c.p * c.cpu_p, 0) AS waits
    FROM measured AS c
    WHERE CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END
  )
  GROUP BY service_namespace, service, environment, version, class, method, stratum, timed, instance, slot_ns, caller, signature, usd_per_core_hour, hour_ns
  UNION ALL
  SELECT
    service_namespace, service, environment, version, class, method, CAST(NULL AS STRING) AS stratum, 0 AS timed, instance, slot_ns, CAST(NULL AS STRING) AS caller, signature, CAST(NULL AS FLOAT64) AS usd_per_core_hour, hour_ns,
    0 AS holes,
    minutes_with_calls,
    calls, CAST(0 AS FLOAT64) AS measured,
    CAST(NULL AS FLOAT64) AS cpu_n, CAST(NULL AS FLOAT64) AS cpu_nn, CAST(NULL AS FLOAT64) AS wall_n, CAST(NULL AS FLOAT64) AS wall_nn,
    CAST(0 AS FLOAT64) AS cpu_measured, CAST(NULL AS FLOAT64) AS x, CAST(NULL AS FLOAT64) AS wall_x, CAST(NULL AS FLOAT64) AS both_x, CAST(NULL AS FLOAT64) AS errors, CAST(NULL AS FLOAT64) AS waits
  FROM (
    SELECT service_namespace, service, environment, version, class, method, instance, slot_ns, signature, hour_ns, BIT_OR(minutes_with_calls) AS minutes_with_calls, SUM(calls) AS calls
    FROM tallies
    GROUP BY service_namespace, service, environment, version, class, method, instance, slot_ns, signature, hour_ns
  )
),
keys AS  (
  SELECT *, MIN(key_id) OVER (PARTITION BY service_namespace, service, environment, version, name) AS name_id
  FROM (
    SELECT
      *,
      CASE WHEN COALESCE(class, '') = '' THEN method WHEN COALESCE(method, '') = '' THEN class ELSE class || '.' || method END AS name,
      ROW_NUMBER() OVER (ORDER BY service_namespace, service, environment, version, class, method) AS key_id
    FROM (
      SELECT service_namespace, service, environment, version, class, method, MAX(holes) AS holes
      FROM (
        SELECT service_namespace, service, environment, version, class, method, holes FROM rolled
        UNION ALL
        SELECT service_namespace, service, environment, version, class, method, holes FROM by_hour
      )
      GROUP BY service_namespace, service, environment, version, class, method
    )
  )
),
enough AS  (
  SELECT service_namespace, service, environment, version, class, method, hour_ns
  FROM by_hour
  GROUP BY service_namespace, service, environment, version, class, method, hour_ns
  HAVING CASE
    WHEN BIT_OR(minutes_with_calls) IS NULL THEN COALESCE(SUM(cpu_n), 0) = 0 OR COALESCE(SUM(wall_n), 0) = 0
    ELSE SUM(measured) >= 20 * CAST(BIT_COUNT(BIT_OR(minutes_with_calls)) AS INT64) END
),
by_minute AS (
  SELECT
    service_namespace, service, environment, version, class, method, stratum, timed, instance, slot_ns, caller, signature, usd_per_core_hour,
    start_ns - MOD(start_ns, 3600000000000) + 1 AS hour_ns,
    start_ns - MOD(start_ns, 60000000000) + 1 AS minute_ns,
    SUM(calls) AS calls, SUM(measured) AS measured,
    SUM(cpu_n) AS cpu_n, SUM(cpu_nn) AS cpu_nn, SUM(wall_n) AS wall_n, SUM(wall_nn) AS wall_nn,
    SUM(cpu_measured) AS cpu_measured, SUM(x) AS x, SUM(wall_x) AS wall_x, SUM(both_x) AS both_x, SUM(errors) AS errors, SUM(waits) AS waits
  FROM (
    -- Rows over their probabilities. timed are those that may have weights.
    SELECT
      c.service_namespace, c.service, c.environment, c.version, c.class, c.method, c.level, c.reason,
      c.instance, c.slot_ns, c.caller, c.signature, c.usd_per_core_hour, c.start_ns, c.stratum, c.calls, CAST(c.measured AS FLOAT64) AS measured,
      CASE WHEN c.measured > 0 AND c.caller IS NULL THEN 1 ELSE 0 END AS hole,
      CASE WHEN CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.measured > 0 AND c.p <> 0 THEN 1 ELSE 0 END AS timed,
      c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS cpu_n, c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) / NULLIF(c.p * c.cpu_p, 0) AS cpu_nn,
      c.measured / NULLIF(c.p, 0) AS wall_n, c.measured / NULLIF(c.p, 0) / NULLIF(c.p, 0) AS wall_nn,
      CAST(c.cpu_measured AS FLOAT64) AS cpu_measured, CASE WHEN c.cpu_measured > 0 THEN c.cpu_ns END / NULLIF(c.p * c.cpu_p, 0) AS x,
      c.wall_ns / NULLIF(c.p, 0) AS wall_x, c.wall_ns / NULLIF(c.measured, 0) * c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS both_x, c.errors / NULLIF(c.p, 0) AS errors,
      c.cpu_waits / NULLIF(c.p * c.cpu_p, 0) AS waits
    FROM measured AS c
    JOIN enough AS e
      ON COALESCE(c.service_namespace, '') = COALESCE(e.service_namespace, '') AND COALESCE(c.service, '') = COALESCE(e.service, '') AND COALESCE(c.environment, '') = COALESCE(e.environment, '') AND COALESCE(c.version, '') = COALESCE(e.version, '') AND COALESCE(c.class, '') = COALESCE(e.class, '') AND COALESCE(c.method, '') = COALESCE(e.method, '')
        AND e.hour_ns = c.start_ns - MOD(c.start_ns, 3600000000000) + 1
    WHERE CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END
  )
  GROUP BY service_namespace, service, environment, version, class, method, stratum, timed, instance, slot_ns, caller, signature, usd_per_core_hour, hour_ns, minute_ns
  UNION ALL
  SELECT
    service_namespace, service, environment, version, class, method, CAST(NULL AS STRING) AS stratum, 0 AS timed, instance, slot_ns, CAST(NULL AS STRING) AS caller, signature, CAST(NULL AS FLOAT64) AS usd_per_core_hour, hour_ns, minute_ns,
    calls, CAST(0 AS FLOAT64) AS measured,
    CAST(NULL AS FLOAT64) AS cpu_n, CAST(NULL AS FLOAT64) AS cpu_nn, CAST(NULL AS FLOAT64) AS wall_n, CAST(NULL AS FLOAT64) AS wall_nn,
    CAST(0 AS FLOAT64) AS cpu_measured, CAST(NULL AS FLOAT64) AS x, CAST(NULL AS FLOAT64) AS wall_x, CAST(NULL AS FLOAT64) AS both_x, CAST(NULL AS FLOAT64) AS errors, CAST(NULL AS FLOAT64) AS waits
  FROM (
    SELECT
      c.service_namespace, c.service, c.environment, c.version, c.class, c.method, c.instance, c.slot_ns, c.signature, e.hour_ns,
      c.start_ns - MOD(c.start_ns, 60000000000) + 1 AS minute_ns,
      SUM(c.calls) AS calls
    FROM scoped AS c
    JOIN enough AS e
      ON COALESCE(c.service_namespace, '') = COALESCE(e.service_namespace, '') AND COALESCE(c.service, '') = COALESCE(e.service, '') AND COALESCE(c.environment, '') = COALESCE(e.environment, '') AND COALESCE(c.version, '') = COALESCE(e.version, '') AND COALESCE(c.class, '') = COALESCE(e.class, '') AND COALESCE(c.method, '') = COALESCE(e.method, '')
        AND e.hour_ns = c.start_ns - MOD(c.start_ns, 3600000000000) + 1
    WHERE CASE c.kind WHEN 'counts' THEN TRUE ELSE FALSE END AND CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END
    GROUP BY c.service_namespace, c.service, c.environment, c.version, c.class, c.method, c.instance, c.slot_ns, c.signature, e.hour_ns, c.start_ns - MOD(c.start_ns, 60000000000) + 1
  )
),
pieces AS  (
  SELECT k.key_id, k.name_id, k.holes, h.* EXCEPT (service_namespace, service, environment, version, class, method)
  FROM (
    SELECT h.hour_ns AS minute_ns, 0 AS may_hold, h.* EXCEPT (minutes_with_calls, holes)
    FROM by_hour AS h
    LEFT JOIN enough AS e
      ON e.hour_ns = h.hour_ns AND COALESCE(h.service_namespace, '') = COALESCE(e.service_namespace, '') AND COALESCE(h.service, '') = COALESCE(e.service, '') AND COALESCE(h.environment, '') = COALESCE(e.environment, '') AND COALESCE(h.version, '') = COALESCE(e.version, '') AND COALESCE(h.class, '') = COALESCE(e.class, '') AND COALESCE(h.method, '') = COALESCE(e.method, '')
    WHERE e.hour_ns IS NULL
    UNION ALL
    SELECT minute_ns, 1 AS may_hold, m.* EXCEPT (minute_ns)
    FROM by_minute AS m
  ) AS h
  JOIN keys AS k ON COALESCE(h.service_namespace, '') = COALESCE(k.service_namespace, '') AND COALESCE(h.service, '') = COALESCE(k.service, '') AND COALESCE(h.environment, '') = COALESCE(k.environment, '') AND COALESCE(h.version, '') = COALESCE(k.version, '') AND COALESCE(h.class, '') = COALESCE(k.class, '') AND COALESCE(h.method, '') = COALESCE(k.method, '')
),
minutes AS (
  SELECT
    key_id, hour_ns, minute_ns, may_hold,
    SUM(calls) AS calls,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN cpu_n END), 0) AS cpu_tail,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN NULL ELSE cpu_n END), 0) AS cpu_sum,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN NULL ELSE cpu_nn END), 0) AS cpu_squares,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN wall_n END), 0) AS wall_tail,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN NULL ELSE wall_n END), 0) AS wall_sum,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN NULL ELSE wall_nn END), 0) AS wall_squares
  FROM pieces
  GROUP BY key_id, hour_ns, minute_ns, may_hold
),
hours AS (
  SELECT
    key_id, hour_ns,
    hour_ns - MOD(hour_ns, 86400000000000) + MOD(hour_ns, 3600000000000) AS date_ns,
    SUM(calls) AS calls,
    SUM(cpu_tail) AS cpu_tail, SUM(cpu_sum) AS cpu_sum, SUM(cpu_squares) AS cpu_squares,
    SUM(wall_tail) AS wall_tail, SUM(wall_sum) AS wall_sum, SUM(wall_squares) AS wall_squares,
    MIN(CASE
      WHEN calls > 0 AND (may_hold = 0 OR COALESCE(cpu_sum * cpu_sum / NULLIF(cpu_squares, 0), 0) < 19.99999998) THEN 0
      WHEN calls <= 0 AND (cpu_sum <> 0 OR cpu_tail <> 0) THEN 0
      ELSE 1 END) AS cpu_minutes_hold,
    MIN(CASE
      WHEN calls > 0 AND (may_hold = 0 OR COALESCE(wall_sum * wall_sum / NULLIF(wall_squares, 0), 0) < 19.99999998) THEN 0
      WHEN calls <= 0 AND (wall_sum <> 0 OR wall_tail <> 0) THEN 0
      ELSE 1 END) AS wall_minutes_hold
  FROM minutes
  GROUP BY key_id, hour_ns
),
dates AS (
  SELECT
    key_id, date_ns,
    MIN(CASE WHEN calls > 0 AND COALESCE(cpu_sum * cpu_sum / NULLIF(cpu_squares, 0), 0) < 19.99999998 THEN 0 ELSE 1 END) AS cpu_hours_hold,
    MIN(CASE WHEN calls > 0 AND COALESCE(wall_sum * wall_sum / NULLIF(wall_squares, 0), 0) < 19.99999998 THEN 0 ELSE 1 END) AS wall_hours_hold,
    SUM(calls - cpu_tail) AS cpu_calls,
    SUM(CASE WHEN cpu_minutes_hold = 0 THEN calls - cpu_tail END) AS cpu_calls_left,
    SUM(CASE WHEN cpu_minutes_hold = 0 AND calls <= 0 THEN calls - cpu_tail END) AS cpu_calls_alone,
    SUM(CASE WHEN cpu_minutes_hold = 0 THEN cpu_sum END) AS cpu_sum_left,
    SUM(CASE WHEN cpu_minutes_hold = 0 AND calls <= 0 THEN cpu_sum END) AS cpu_sum_alone,
    SUM(calls - wall_tail) AS wall_calls,
    SUM(CASE WHEN wall_minutes_hold = 0 THEN calls - wall_tail END) AS wall_calls_left,
    SUM(CASE WHEN wall_minutes_hold = 0 AND calls <= 0 THEN calls - wall_tail END) AS wall_calls_alone,
    SUM(CASE WHEN wall_minutes_hold = 0 THEN wall_sum END) AS wall_sum_left,
    SUM(CASE WHEN wall_minutes_hold = 0 AND calls <= 0 THEN wall_sum END) AS wall_sum_alone
  FROM hours
  GROUP BY key_id, date_ns
),
left_of_dates AS (
  SELECT
    key_id, date_ns, cpu_hours_hold, wall_hours_hold,
    SUM(cpu_left) OVER of_date / NULLIF(SUM(cpu_sum) OVER of_date, 0) AS cpu_factor,
    CASE WHEN COALESCE(SUM(cpu_sum) OVER of_date, 0) = 0 AND SUM(cpu_left) OVER of_date > 0 AND SUM(cpu_held) OVER of_date > 0
      THEN 1 + SUM(cpu_left) OVER of_date / NULLIF(SUM(cpu_held) OVER of_date, 0) ELSE 1 END AS cpu_scale,
    SUM(wall_left) OVER of_date / NULLIF(SUM(wall_sum) OVER of_date, 0) AS wall_factor,
    CASE WHEN COALESCE(SUM(wall_sum) OVER of_date, 0) = 0 AND SUM(wall_left) OVER of_date > 0 AND SUM(wall_held) OVER of_date > 0
      THEN 1 + SUM(wall_left) OVER of_date / NULLIF(SUM(wall_held) OVER of_date, 0) ELSE 1 END AS wall_scale
  FROM (
    SELECT
      key_id, date_ns, cpu_hours_hold, wall_hours_hold,
      CASE WHEN cpu_hours_hold = 0 THEN cpu_calls_left ELSE cpu_calls_alone END AS cpu_left,
      CASE WHEN cpu_hours_hold = 0 THEN cpu_sum_left ELSE cpu_sum_alone END AS cpu_sum,
      cpu_calls - COALESCE(CASE WHEN cpu_hours_hold = 0 THEN cpu_calls_left ELSE cpu_calls_alone END, 0) AS cpu_held,
      CASE WHEN wall_hours_hold = 0 THEN wall_calls_left ELSE wall_calls_alone END AS wall_left,
      CASE WHEN wall_hours_hold = 0 THEN wall_sum_left ELSE wall_sum_alone END AS wall_sum,
      wall_calls - COALESCE(CASE WHEN wall_hours_hold = 0 THEN wall_calls_left ELSE wall_calls_alone END, 0) AS wall_held
    FROM dates
    UNION ALL
    SELECT
      k.key_id, r.date_ns, 0 AS cpu_hours_hold, 0 AS wall_hours_hold,
      r.cpu_left, r.cpu_sum, r.cpu_held, r.wall_left, r.wall_sum, r.wall_held
    FROM rolled AS r
    JOIN keys AS k ON COALESCE(r.service_namespace, '') = COALESCE(k.service_namespace, '') AND COALESCE(r.service, '') = COALESCE(k.service, '') AND COALESCE(r.environment, '') = COALESCE(k.environment, '') AND COALESCE(r.version, '') = COALESCE(k.version, '') AND COALESCE(r.class, '') = COALESCE(k.class, '') AND COALESCE(r.method, '') = COALESCE(k.method, '')
  )
  WINDOW of_date AS (PARTITION BY key_id, date_ns - MOD(date_ns, 86400000000000))
),
hourly AS (
  -- A factor is of an hour or a date; those of minutes follow.
  SELECT
    h.key_id, h.hour_ns,
    CASE WHEN h.cpu_minutes_hold = 1 THEN 'minute' WHEN d.cpu_hours_hold = 1 AND h.calls > 0 THEN 'hour' ELSE 'date' END AS cell,
    CASE WHEN d.cpu_hours_hold = 1 AND h.calls > 0 THEN h.hour_ns - MOD(h.hour_ns, 3600000000000) ELSE h.hour_ns - MOD(h.hour_ns, 86400000000000) END AS cell_ns,
    CASE
      WHEN h.cpu_minutes_hold = 1 THEN NULL
      WHEN d.cpu_hours_hold = 1 AND h.calls > 0 THEN d.cpu_scale * (h.calls - h.cpu_tail) / NULLIF(h.cpu_sum, 0)
      ELSE d.cpu_factor END AS cpu_factor,
    d.cpu_scale,
    CASE WHEN h.wall_minutes_hold = 1 THEN 'minute' WHEN d.wall_hours_hold = 1 AND h.calls > 0 THEN 'hour' ELSE 'date' END AS cell_wall,
    CASE WHEN d.wall_hours_hold = 1 AND h.calls > 0 THEN h.hour_ns - MOD(h.hour_ns, 3600000000000) ELSE h.hour_ns - MOD(h.hour_ns, 86400000000000) END AS cell_wall_ns,
    CASE
      WHEN h.wall_minutes_hold = 1 THEN NULL
      WHEN d.wall_hours_hold = 1 AND h.calls > 0 THEN d.wall_scale * (h.calls - h.wall_tail) / NULLIF(h.wall_sum, 0)
      ELSE d.wall_factor END AS wall_factor,
    d.wall_scale
  FROM hours AS h
  JOIN left_of_dates AS d ON h.key_id = d.key_id AND h.date_ns = d.date_ns
),
factors AS (
  SELECT key_id, hour_ns, cell, cell_ns, cpu_factor, cpu_scale, cell_wall, cell_wall_ns, wall_factor, wall_scale FROM hourly
  UNION ALL
  SELECT
    key_id, date_ns AS hour_ns,
    'date' AS cell, date_ns AS cell_ns, cpu_factor, cpu_scale, 'date' AS cell_wall, date_ns AS cell_wall_ns, wall_factor, wall_scale
  FROM left_of_dates
  WHERE MOD(date_ns, 86400000000000) = 0
),
tight AS (
  SELECT
    m.key_id, m.minute_ns,
    CASE WHEN a.cell = 'minute' THEN a.cpu_scale * (m.calls - m.cpu_tail) / NULLIF(m.cpu_sum, 0) END AS cpu_factor,
    CASE WHEN a.cell_wall = 'minute' THEN a.wall_scale * (m.calls - m.wall_tail) / NULLIF(m.wall_sum, 0) END AS wall_factor
  FROM minutes AS m
  JOIN hourly AS a ON m.key_id = a.key_id AND m.hour_ns = a.hour_ns
  WHERE a.cell = 'minute' OR a.cell_wall = 'minute'
)
,
weighed AS (
  SELECT
    c.*,
    CASE WHEN c.timed = 1 THEN LEAST(GREATEST((CASE WHEN c.stratum = 'tail' THEN 1 WHEN c.level = 'raw' OR c.reason LIKE 'rest/%' THEN COALESCE(t.cpu_factor, a.cpu_factor) ELSE COALESCE(a.cpu_scale, 1) END), -1e+30), 1e+30) END AS cpu_factor,
    CASE WHEN c.timed = 1 THEN LEAST(GREATEST((CASE WHEN c.stratum = 'tail' THEN 1 WHEN c.level = 'raw' OR c.reason LIKE '%/rest' THEN COALESCE(t.wall_factor, a.wall_factor) ELSE COALESCE(a.wall_scale, 1) END), -1e+30), 1e+30) END AS wall_factor,
    CASE
      WHEN c.level = 'raw' OR c.reason LIKE 'rest/%' THEN CASE WHEN COALESCE(t.cpu_factor, a.cpu_factor) IS NULL AND a.cpu_scale = 1 AND a.cell <> 'minute' THEN 'none' ELSE a.cell END
      WHEN c.reason LIKE 'none/%' THEN 'none'
      WHEN c.reason LIKE 'hour/%' THEN 'hour'
      WHEN c.reason LIKE 'date/%' THEN 'date'
      ELSE c.level END AS cell,
    CASE
      WHEN c.level = 'raw' AND a.cell = 'minute' THEN c.start_ns - MOD(c.start_ns, 60000000000)
      WHEN c.level = 'raw' OR c.reason LIKE 'rest/%' THEN a.cell_ns
      WHEN c.reason LIKE 'date/%' THEN c.start_ns - MOD(c.start_ns, 86400000000000)
      WHEN c.reason LIKE 'hour/%' OR c.level = 'hour' THEN c.start_ns - MOD(c.start_ns, 3600000000000)
      ELSE c.start_ns - MOD(c.start_ns, 60000000000) END AS cell_ns,
    CASE
      WHEN c.level = 'raw' OR c.reason LIKE '%/rest' THEN CASE WHEN COALESCE(t.wall_factor, a.wall_factor) IS NULL AND a.wall_scale = 1 AND a.cell_wall <> 'minute' THEN 'none' ELSE a.cell_wall END
      WHEN c.reason LIKE '%/none' THEN 'none'
      WHEN c.reason LIKE '%/hour' THEN 'hour'
      WHEN c.reason LIKE '%/date' THEN 'date'
      ELSE c.level END AS cell_wall,
    CASE
      WHEN c.level = 'raw' AND a.cell_wall = 'minute' THEN c.start_ns - MOD(c.start_ns, 60000000000)
      WHEN c.level = 'raw' OR c.reason LIKE '%/rest' THEN a.cell_wall_ns
      WHEN c.reason LIKE '%/date' THEN c.start_ns - MOD(c.start_ns, 86400000000000)
      WHEN c.reason LIKE '%/hour' OR c.level = 'hour' THEN c.start_ns - MOD(c.start_ns, 3600000000000)
      ELSE c.start_ns - MOD(c.start_ns, 60000000000) END AS cell_wall_ns
  FROM (
    SELECT
      key_id, name_id, holes, instance, slot_ns, caller, signature, usd_per_core_hour, stratum, timed, 'raw' AS level, '' AS reason,
      minute_ns AS start_ns, hour_ns, minute_ns,
      calls, measured, cpu_measured, cpu_n, wall_n, x, wall_x, both_x, errors, waits
    FROM pieces
    UNION ALL
    SELECT
      k.key_id, k.name_id, k.holes, r.instance, r.slot_ns, r.caller, r.signature, r.usd_per_core_hour, r.stratum, r.timed, r.level, r.reason,
      r.start_ns,
      r.start_ns - MOD(r.start_ns, 86400000000000) AS hour_ns, CAST(NULL AS INT64) AS minute_ns,
      r.calls, r.measured, r.cpu_measured, r.cpu_n, r.wall_n, r.x, r.wall_x, r.both_x, r.errors, r.waits
    FROM (
    -- Rows over their probabilities. timed are those that may have weights.
    SELECT
      c.service_namespace, c.service, c.environment, c.version, c.class, c.method, c.level, c.reason,
      c.instance, c.slot_ns, c.caller, c.signature, c.usd_per_core_hour, c.start_ns, c.stratum, c.calls, CAST(c.measured AS FLOAT64) AS measured,
      CASE WHEN c.measured > 0 AND c.caller IS NULL THEN 1 ELSE 0 END AS hole,
      CASE WHEN CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.measured > 0 AND c.p <> 0 THEN 1 ELSE 0 END AS timed,
      c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS cpu_n, c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) / NULLIF(c.p * c.cpu_p, 0) AS cpu_nn,
      c.measured / NULLIF(c.p, 0) AS wall_n, c.measured / NULLIF(c.p, 0) / NULLIF(c.p, 0) AS wall_nn,
      CAST(c.cpu_measured AS FLOAT64) AS cpu_measured, CASE WHEN c.cpu_measured > 0 THEN c.cpu_ns END / NULLIF(c.p * c.cpu_p, 0) AS x,
      c.wall_ns / NULLIF(c.p, 0) AS wall_x, c.wall_ns / NULLIF(c.measured, 0) * c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS both_x, c.errors / NULLIF(c.p, 0) AS errors,
      c.cpu_waits / NULLIF(c.p * c.cpu_p, 0) AS waits
      FROM scoped AS c
    WHERE c.level <> 'raw' AND CASE c.kind WHEN 'call' THEN TRUE WHEN 'counts' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END
    ) AS r
    JOIN keys AS k
      ON COALESCE(r.service_namespace, '') = COALESCE(k.service_namespace, '') AND COALESCE(r.service, '') = COALESCE(k.service, '') AND COALESCE(r.environment, '') = COALESCE(k.environment, '') AND COALESCE(r.version, '') = COALESCE(k.version, '') AND COALESCE(r.class, '') = COALESCE(k.class, '') AND COALESCE(r.method, '') = COALESCE(k.method, '')
  ) AS c
  LEFT JOIN factors AS a ON a.key_id = c.key_id AND a.hour_ns = c.hour_ns
  LEFT JOIN tight AS t ON t.key_id = c.key_id AND t.minute_ns = c.minute_ns
)
,
seen AS (
  -- What was counted needs no slot and, as what has a caller, no cell. named says
  -- whether rows name instances (1), groups of them, as sums in the place of rows do (2), or
  -- some the one and some the other (3).
  SELECT
    key_id, name_id, caller, instance,
    CASE WHEN measured > 0 THEN slot_ns ELSE 0 END AS slot_ns,
    CASE WHEN measured > 0 AND holes = 1 THEN cell ELSE '' END AS cell,
    CASE WHEN measured > 0 AND holes = 1 THEN cell_ns ELSE 0 END AS cell_ns,
    MIN(COALESCE(signature, '')) AS first_signature, MAX(COALESCE(signature, '')) AS last_signature,
    BIT_OR(CASE WHEN level = 'raw' THEN 1 WHEN COALESCE(instance, '') = '' THEN 3 WHEN instance LIKE 'group-__' THEN 2 ELSE 1 END) AS named,
    SUM(calls) AS calls,
    SUM(CASE WHEN cell_wall = 'none' THEN calls - COALESCE(wall_factor * wall_n, 0) ELSE 0 END) AS unmeasured_calls,
    SUM(measured) AS measured,
    SUM(cpu_measured) AS cpu_measured,
    COALESCE(SUM(wall_factor * wall_n), 0) AS flow,
    COALESCE(SUM(wall_factor * wall_x), 0) AS wall_x,
    COALESCE(SUM(cpu_factor * both_x), 0) AS both_x,
    COALESCE(SUM(wall_factor * errors), 0) AS errors,
    COALESCE(SUM(cpu_factor * waits), 0) AS waits,
    COALESCE(SUM(cpu_factor * cpu_n), 0) AS n,
    COALESCE(SUM(cpu_factor * x), 0) AS x,
    COALESCE(SUM(cpu_factor * x * usd_per_core_hour / 3.6e12), 0) AS usd,
    COALESCE(SUM(CASE WHEN usd_per_core_hour IS NULL THEN cpu_factor * x END), 0) AS unpriced_x
  FROM weighed
  WHERE slot_ns IS NOT NULL
  GROUP BY
    key_id, name_id, caller, instance,
    CASE WHEN measured > 0 THEN weighed.slot_ns ELSE 0 END,
    CASE WHEN measured > 0 AND holes = 1 THEN cell ELSE '' END,
    CASE WHEN measured > 0 AND holes = 1 THEN cell_ns ELSE 0 END
),
known AS (
  SELECT key_id, cell, cell_ns, caller, SUM(flow) AS flow
  FROM seen
  WHERE caller IS NOT NULL
  GROUP BY key_id, cell, cell_ns, caller
),
shares AS (
  SELECT *, LEAST(GREATEST(flow / NULLIF(SUM(flow) OVER (PARTITION BY key_id, cell, cell_ns), 0), -1000000000000000), 1000000000000000) AS share
  FROM known
),
paid AS (
  SELECT key_id, name_id, instance, slot_ns, named, caller, flow, n, x, waits, usd, unpriced_x, measured - cpu_measured AS timed_wall, cpu_measured AS timed_cpu
  FROM seen
  WHERE caller IS NOT NULL
  UNION ALL
  SELECT
    u.key_id, u.name_id, u.instance, u.slot_ns, u.named,
    s.caller,
    u.flow * COALESCE(s.share, 1) AS flow,
    u.n * COALESCE(s.share, 1) AS n,
    u.x * COALESCE(s.share, 1) AS x,
    u.waits * COALESCE(s.share, 1) AS waits,
    u.usd * COALESCE(s.share, 1) AS usd,
    u.unpriced_x * COALESCE(s.share, 1) AS unpriced_x,
    (u.measured - u.cpu_measured) * COALESCE(s.share, 1) AS timed_wall,
    u.cpu_measured * COALESCE(s.share, 1) AS timed_cpu
  FROM seen AS u
  LEFT JOIN shares AS s ON COALESCE(u.key_id, 0) = COALESCE(s.key_id, 0) AND COALESCE(u.cell, '') = COALESCE(s.cell, '') AND COALESCE(u.cell_ns, 0) = COALESCE(s.cell_ns, 0)
  WHERE u.caller IS NULL AND u.flow > 0
),
names AS (
  SELECT service_namespace, service, environment, version, name, name_id, MAX(class) AS class, MAX(method) AS method
  FROM keys
  GROUP BY service_namespace, service, environment, version, name, name_id
),
callers AS (
  -- Which method of ours a caller is, if it is one.
  SELECT c.name_id, c.caller, o.name_id AS caller_id
  FROM (SELECT DISTINCT name_id, caller FROM paid WHERE caller IS NOT NULL) AS c
  JOIN names AS e ON e.name_id = c.name_id
  JOIN names AS o ON o.name = c.caller AND COALESCE(e.service_namespace, '') = COALESCE(o.service_namespace, '') AND COALESCE(e.service, '') = COALESCE(o.service, '') AND COALESCE(e.environment, '') = COALESCE(o.environment, '') AND COALESCE(e.version, '') = COALESCE(o.version, '')
),
entries AS (
  SELECT name_id, instance, slot_ns, named, n, x AS self_x, usd AS self_usd, unpriced_x AS self_unpriced_x, 0 AS orphan_x
  FROM seen
  UNION ALL
  SELECT c.caller_id AS name_id, p.instance, p.slot_ns, p.named, 0 AS n, -p.x AS self_x, -p.usd AS self_usd, -p.unpriced_x AS self_unpriced_x, 0 AS orphan_x
  FROM paid AS p
  JOIN callers AS c ON c.name_id = p.name_id AND c.caller = p.caller
  UNION ALL
  SELECT name_id, instance, slot_ns, named, 0 AS n, 0 AS self_x, 0 AS self_usd, 0 AS self_unpriced_x, x AS orphan_x
  FROM paid
  WHERE caller IS NULL
),
clusters AS (
  SELECT
    name_id, instance, slot_ns, BIT_OR(named) AS named,
    SUM(n) AS n, SUM(self_x) AS self_x, SUM(self_usd) AS self_usd, SUM(self_unpriced_x) AS self_unpriced_x, SUM(orphan_x) AS orphan_x
  FROM entries
  GROUP BY name_id, instance, slot_ns
),
totals AS (
  SELECT
    name_id,
    SUM(CASE WHEN n > 0 THEN 1 ELSE 0 END) AS clusters,
    SUM(n) AS n, SUM(self_x) AS self_x, SUM(self_usd) AS self_usd, SUM(self_unpriced_x) AS self_unpriced_x, SUM(orphan_x) AS orphan_x
  FROM clusters
  GROUP BY name_id
),
own AS (
  SELECT
    name_id,
    CASE WHEN MIN(first_signature) = MAX(last_signature) THEN MAX(last_signature) END AS signature,
    SUM(calls) AS calls, SUM(unmeasured_calls) AS unmeasured_calls,
    CAST(LEAST(SUM(CAST(measured AS FLOAT64)), 9e18) AS INT64) AS measured, CAST(LEAST(SUM(CAST(cpu_measured AS FLOAT64)), 9e18) AS INT64) AS cpu_measured,
    SUM(flow) AS wall_n, SUM(wall_x) AS wall_x, SUM(both_x) AS both_x, SUM(errors) AS errors, SUM(waits) AS waits, SUM(x) AS x
  FROM seen
  GROUP BY name_id
),
means AS (
  -- A version of too few clusters would be its own mean.
  SELECT
    e.service_namespace, e.service, e.environment, e.version, e.class, e.method, e.name, t.*,
    o.owner AS owner,
    LEAST(GREATEST(CASE WHEN t.clusters >= 3 THEN t.self_x / NULLIF(t.n, 0)
      ELSE SUM(t.self_x) OVER versions / NULLIF(SUM(t.n) OVER versions, 0) END, -1e+20), 1e+20) AS mean
  FROM totals AS t
  JOIN names AS e ON e.name_id = t.name_id
  LEFT JOIN UNNEST(@owned) AS o ON COALESCE(e.service_namespace, '') = COALESCE(o.service_namespace, '') AND COALESCE(e.service, '') = COALESCE(o.service, '') AND COALESCE(e.environment, '') = COALESCE(o.environment, '') AND COALESCE(e.class, '') = COALESCE(o.class, '')
  WINDOW versions AS (PARTITION BY e.service_namespace, e.service, e.environment, e.name)
),
ranked AS (
  SELECT
    *,
    DENSE_RANK() OVER (ORDER BY service_namespace, service, environment) AS service_id,
    DENSE_RANK() OVER (ORDER BY service_namespace, service, environment, version) AS version_id,
    DENSE_RANK() OVER (ORDER BY owner) AS group_id
  FROM means
),
single AS (
  SELECT
    c.name_id,
    SUM((c.self_x - COALESCE(m.mean, 0) * c.n) * (c.self_x - COALESCE(m.mean, 0) * c.n)) AS residual_squares
  FROM clusters AS c
  JOIN means AS m ON c.name_id = m.name_id
  GROUP BY c.name_id
),
grouped AS (
  SELECT
    m.group_id, m.service_id, m.version_id, c.instance, c.slot_ns,
    BIT_OR(c.named) AS named, SUM(c.n) AS n, LEAST(GREATEST(SUM(c.self_x - COALESCE(m.mean, 0) * c.n), -1e+90), 1e+90) AS residual
  FROM clusters AS c
  JOIN ranked AS m ON c.name_id = m.name_id
  GROUP BY m.group_id, m.service_id, m.version_id, c.instance, c.slot_ns
),
of_services AS (
  SELECT
    group_id, service_id,
    SUM(n) AS n,
    SUM(residual * residual) AS residual_squares, SUM(residual * residual * residual) AS residual_cubes,
    SUM(CASE WHEN n > 0 THEN 1 ELSE 0 END) AS clusters,
    GREATEST(
      COUNT(DISTINCT CASE WHEN named <> 2 THEN COALESCE(instance, '') END),
      COUNT(DISTINCT CASE WHEN named <> 1 THEN COALESCE(instance, '') END)) AS instances
  FROM grouped
  GROUP BY group_id, service_id
),
spread AS (
  SELECT
    group_id,
    SUM(n) AS n, SUM(residual_squares) AS residual_squares, SUM(residual_cubes) AS residual_cubes,
    CAST(SUM(clusters) AS INT64) AS clusters, CAST(SUM(instances) AS INT64) AS instances
  FROM of_services
  GROUP BY group_id
)
SELECT
  'method' AS what, m.service_namespace, m.service, m.environment, m.version, m.class, m.method, m.owner, CAST(NULL AS STRING) AS goroutine_group, m.name, CAST(NULL AS STRING) AS caller, o.signature,
  o.calls, o.unmeasured_calls, o.measured, o.cpu_measured, o.wall_n, o.wall_x, o.both_x, o.errors, o.waits,
  m.n, o.x, m.self_x, m.self_usd, m.self_unpriced_x, m.orphan_x, a.residual_squares, 0 AS residual_cubes, CAST(m.clusters AS INT64) AS clusters, 0 AS instances
FROM means AS m
JOIN own AS o ON m.name_id = o.name_id
JOIN single AS a ON m.name_id = a.name_id
UNION ALL
SELECT
  'group' AS what,
  CAST(NULL AS STRING) AS service_namespace, CAST(NULL AS STRING) AS service, CAST(NULL AS STRING) AS environment, CAST(NULL AS STRING) AS version,
  CAST(NULL AS STRING) AS class, CAST(NULL AS STRING) AS method, owner, CAST(NULL AS STRING) AS goroutine_group, CAST(NULL AS STRING) AS name, CAST(NULL AS STRING) AS caller, CAST(NULL AS STRING) AS signature,
  0 AS calls, 0 AS unmeasured_calls, 0 AS measured, 0 AS cpu_measured, 0 AS wall_n, 0 AS wall_x, 0 AS both_x, 0 AS errors, 0 AS waits,
  s.n, 0 AS x, 0 AS self_x, 0 AS self_usd, 0 AS self_unpriced_x, 0 AS orphan_x,
  s.residual_squares, s.residual_cubes, s.clusters, s.instances
FROM spread AS s
JOIN (SELECT DISTINCT group_id, owner FROM ranked) AS g ON g.group_id = s.group_id
UNION ALL
SELECT
  'edge' AS what, e.service_namespace, e.service, e.environment, e.version, CAST(NULL AS STRING) AS class, CAST(NULL AS STRING) AS method, CAST(NULL AS STRING) AS owner, CAST(NULL AS STRING) AS goroutine_group, e.name, p.caller, CAST(NULL AS STRING) AS signature,
  p.flow AS calls, 0 AS unmeasured_calls, 0 AS measured, 0 AS cpu_measured, COALESCE(p.timed_wall, 0) AS wall_n, COALESCE(p.timed_cpu, 0) AS wall_x, 0 AS both_x, 0 AS errors, p.waits,
  p.n, p.x, 0 AS self_x, p.usd AS self_usd, 0 AS self_unpriced_x, 0 AS orphan_x, 0 AS residual_squares, 0 AS residual_cubes, 0 AS clusters, 0 AS instances
FROM (
  SELECT name_id, caller, SUM(flow) AS flow, SUM(n) AS n, SUM(x) AS x, SUM(waits) AS waits, SUM(usd) AS usd, SUM(timed_wall) AS timed_wall, SUM(timed_cpu) AS timed_cpu
  FROM paid
  GROUP BY name_id, caller
) AS p
JOIN names AS e ON e.name_id = p.name_id
ORDER BY what, service_namespace, service, environment, version, name, caller, class, method, owner, goroutine_group
