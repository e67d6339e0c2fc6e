-- What one comparison is made of: sums by method, caller, member (a process, or a
-- group of them) and slot. The cap is the 99.5% quantile of the method and caller
-- over both versions. Where the base did not run at the same time but on earlier
-- days, its rows count in the slots of the same time of day. By age the slots are those of
-- the life of a process.
WITH scoped AS  (
  SELECT c.*
  FROM (SELECT * REPLACE (CASE WHEN start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN start_ns END AS start_ns, CASE WHEN end_ns BETWEEN start_ns AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN end_ns ELSE start_ns END AS end_ns, CASE WHEN process_start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN process_start_ns END AS process_start_ns, CASE WHEN measured BETWEEN 0 AND 9007199254740992 THEN measured ELSE 0 END AS measured, CASE WHEN cpu_measured BETWEEN 0 AND 9007199254740992 THEN cpu_measured ELSE 0 END AS cpu_measured, CASE WHEN calls BETWEEN 1e-09 AND 1152921504606846976 THEN calls ELSE 0 END AS calls, CASE WHEN errors BETWEEN 0 AND 1152921504606846976 THEN errors ELSE 0 END AS errors, CASE WHEN wall_ns BETWEEN 0 AND 1152921504606846976 THEN wall_ns ELSE NULL END AS wall_ns, CASE WHEN cpu_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_ns ELSE NULL END AS cpu_ns, CASE WHEN p BETWEEN 1e-18 AND 1 THEN p ELSE NULL END AS p, CASE WHEN cpu_p BETWEEN 1e-18 AND 1000000000000000000 THEN cpu_p ELSE NULL END AS cpu_p, CASE WHEN usd_per_core_hour BETWEEN 0 AND 1048576 THEN usd_per_core_hour ELSE NULL END AS usd_per_core_hour, CASE WHEN rss_bytes BETWEEN 0 AND 1152921504606846976 THEN rss_bytes ELSE NULL END AS rss_bytes, CASE WHEN calls_total BETWEEN 0 AND 9007199254740992 THEN calls_total ELSE NULL END AS calls_total, CASE WHEN wall_max_ns BETWEEN 0 AND 1152921504606846976 THEN wall_max_ns ELSE NULL END AS wall_max_ns, CASE WHEN cpu_max_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_max_ns ELSE NULL END AS cpu_max_ns, CASE WHEN wall_sq BETWEEN 0 AND 1e+36 THEN wall_sq ELSE NULL END AS wall_sq, CASE WHEN cpu_sq BETWEEN 0 AND 1e+36 THEN cpu_sq ELSE NULL END AS cpu_sq, CASE WHEN cpu_waits BETWEEN 0 AND 1152921504606846976 THEN cpu_waits ELSE NULL END AS cpu_waits, CASE WHEN cores BETWEEN 0 AND 65536 THEN cores ELSE NULL END AS cores, CASE WHEN host_cores BETWEEN 0 AND 65536 THEN host_cores ELSE NULL END AS host_cores, CASE WHEN cpu_limit BETWEEN 0 AND 65536 THEN cpu_limit ELSE NULL END AS cpu_limit, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(wall_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN wall_hist END AS wall_hist, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(cpu_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN cpu_hist END AS cpu_hist) FROM method_calls WHERE event_date BETWEEN @from_date AND @to_date) AS c
  WHERE CASE c.kind WHEN 'call' THEN TRUE WHEN 'counts' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND CASE c.version WHEN @base_version THEN TRUE WHEN @head_version THEN TRUE ELSE FALSE END
     AND c.service_namespace = @service_namespace AND c.service = @service AND COALESCE(c.environment, '') = ''
),

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
  SELECT version, instance, process_start_ns, MAX(CASE WHEN CASE kind WHEN 'counts' THEN TRUE WHEN 'process' THEN TRUE ELSE FALSE END THEN end_ns ELSE 0 END) AS until_ns
  FROM (
    SELECT c.version, c.instance, c.process_start_ns, c.kind, MAX(c.start_ns) AS start_ns, MAX(c.end_ns) AS end_ns
    FROM (SELECT * REPLACE (CASE WHEN start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN start_ns END AS start_ns, CASE WHEN end_ns BETWEEN start_ns AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN end_ns ELSE start_ns END AS end_ns, CASE WHEN process_start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN process_start_ns END AS process_start_ns, CASE WHEN measured BETWEEN 0 AND 9007199254740992 THEN measured ELSE 0 END AS measured, CASE WHEN cpu_measured BETWEEN 0 AND 9007199254740992 THEN cpu_measured ELSE 0 END AS cpu_measured, CASE WHEN calls BETWEEN 1e-09 AND 1152921504606846976 THEN calls ELSE 0 END AS calls, CASE WHEN errors BETWEEN 0 AND 1152921504606846976 THEN errors ELSE 0 END AS errors, CASE WHEN wall_ns BETWEEN 0 AND 1152921504606846976 THEN wall_ns ELSE NULL END AS wall_ns, CASE WHEN cpu_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_ns ELSE NULL END AS cpu_ns, CASE WHEN p BETWEEN 1e-18 AND 1 THEN p ELSE NULL END AS p, CASE WHEN cpu_p BETWEEN 1e-18 AND 1000000000000000000 THEN cpu_p ELSE NULL END AS cpu_p, CASE WHEN usd_per_core_hour BETWEEN 0 AND 1048576 THEN usd_per_core_hour ELSE NULL END AS usd_per_core_hour, CASE WHEN rss_bytes BETWEEN 0 AND 1152921504606846976 THEN rss_bytes ELSE NULL END AS rss_bytes, CASE WHEN calls_total BETWEEN 0 AND 9007199254740992 THEN calls_total ELSE NULL END AS calls_total, CASE WHEN wall_max_ns BETWEEN 0 AND 1152921504606846976 THEN wall_max_ns ELSE NULL END AS wall_max_ns, CASE WHEN cpu_max_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_max_ns ELSE NULL END AS cpu_max_ns, CASE WHEN wall_sq BETWEEN 0 AND 1e+36 THEN wall_sq ELSE NULL END AS wall_sq, CASE WHEN cpu_sq BETWEEN 0 AND 1e+36 THEN cpu_sq ELSE NULL END AS cpu_sq, CASE WHEN cpu_waits BETWEEN 0 AND 1152921504606846976 THEN cpu_waits ELSE NULL END AS cpu_waits, CASE WHEN cores BETWEEN 0 AND 65536 THEN cores ELSE NULL END AS cores, CASE WHEN host_cores BETWEEN 0 AND 65536 THEN host_cores ELSE NULL END AS host_cores, CASE WHEN cpu_limit BETWEEN 0 AND 65536 THEN cpu_limit ELSE NULL END AS cpu_limit, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(wall_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN wall_hist END AS wall_hist, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(cpu_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN cpu_hist END AS cpu_hist) FROM method_calls WHERE event_date BETWEEN @from_date AND @to_date) AS c
    WHERE CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END AND c.weight_basis = 'exact' AND c.process_start_ns IS NOT NULL AND c.start_ns >= (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - 3600000000000)
       AND c.service_namespace = @service_namespace AND c.service = @service AND COALESCE(c.environment, '') = ''
    GROUP BY c.version, c.instance, c.process_start_ns, c.kind
  )
  GROUP BY version, instance, process_start_ns
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
    AND COALESCE(u.version, '') = COALESCE(c.version, '') AND COALESCE(u.instance, '') = COALESCE(c.instance, '') AND c.start_ns >= u.until_ns
  WHERE c.start_ns >= (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - 3600000000000) AND c.kind IN ('call', 'aggregate') AND u.until_ns IS NULL
),
tallies AS  (
  SELECT
    version, class, method, start_ns - MOD(start_ns, 3600000000000) + 1 AS hour_ns,
    BIT_OR(CASE WHEN calls > 0 THEN CAST(1 AS INT64) << DIV(MOD(start_ns, 3600000000000), 60000000000) END) AS minutes_with_calls,
    SUM(calls) AS calls
  FROM scoped
  WHERE CASE kind WHEN 'counts' THEN TRUE ELSE FALSE END AND CASE level WHEN 'raw' THEN TRUE ELSE FALSE END
  GROUP BY version, class, method, start_ns - MOD(start_ns, 3600000000000) + 1
),
rolled AS  (
  SELECT
    version, class, method, start_ns - MOD(start_ns, 86400000000000) AS date_ns,
    SUM(CASE WHEN reason LIKE 'rest/%' THEN calls - CASE WHEN stratum = 'tail' THEN COALESCE(cpu_n, 0) ELSE 0 END END) AS cpu_left,
    SUM(CASE WHEN reason LIKE 'rest/%' THEN CASE WHEN stratum = 'tail' THEN 0 ELSE cpu_n END END) AS cpu_sum,
    SUM(CASE WHEN reason LIKE 'rest/%' OR stratum = 'tail' THEN 0 ELSE COALESCE(cpu_n, 0) END) AS cpu_held,
    SUM(CASE WHEN reason LIKE '%/rest' THEN calls - CASE WHEN stratum = 'tail' THEN COALESCE(wall_n, 0) ELSE 0 END END) AS wall_left,
    SUM(CASE WHEN reason LIKE '%/rest' THEN CASE WHEN stratum = 'tail' THEN 0 ELSE wall_n END END) AS wall_sum,
    SUM(CASE WHEN reason LIKE '%/rest' OR stratum = 'tail' THEN 0 ELSE COALESCE(wall_n, 0) END) AS wall_held
  FROM (
    -- Rows over their probabilities. timed are those that may have weights.
    SELECT
      c.version, c.class, c.method, c.level, c.reason,
      c.start_ns, c.stratum, c.calls, CAST(c.measured AS FLOAT64) AS measured,
      CASE WHEN CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.measured > 0 AND c.p <> 0 THEN 1 ELSE 0 END AS timed,
      c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS cpu_n, c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) / NULLIF(c.p * c.cpu_p, 0) AS cpu_nn,
      c.measured / NULLIF(c.p, 0) AS wall_n, c.measured / NULLIF(c.p, 0) / NULLIF(c.p, 0) AS wall_nn
    FROM scoped AS c
    WHERE c.level <> 'raw' AND CASE c.kind WHEN 'call' THEN TRUE WHEN 'counts' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END
  )
  GROUP BY version, class, method, start_ns - MOD(start_ns, 86400000000000)
),
by_hour AS  (
  SELECT
    version, class, method, stratum, timed,
    start_ns - MOD(start_ns, 3600000000000) + 1 AS hour_ns,
    BIT_OR(CASE WHEN calls > 0 THEN CAST(1 AS INT64) << DIV(MOD(start_ns, 3600000000000), 60000000000) END) AS minutes_with_calls,
    SUM(calls) AS calls, SUM(measured) AS measured,
    SUM(cpu_n) AS cpu_n, SUM(cpu_nn) AS cpu_nn, SUM(wall_n) AS wall_n, SUM(wall_nn) AS wall_nn
  FROM (
    -- Rows over their probabilities. timed are those that may have weights.
    SELECT
      c.version, c.class, c.method, c.level, c.reason,
      c.start_ns, c.stratum, c.calls, CAST(c.measured AS FLOAT64) AS measured,
      CASE WHEN CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.measured > 0 AND c.p <> 0 THEN 1 ELSE 0 END AS timed,
      c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS cpu_n, c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) / NULLIF(c.p * c.cpu_p, 0) AS cpu_nn,
      c.measured / NULLIF(c.p, 0) AS wall_n, c.measured / NULLIF(c.p, 0) / NULLIF(c.p, 0) AS wall_nn
    FROM measured AS c
    WHERE CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END
  )
  GROUP BY version, class, method, stratum, timed, hour_ns
  UNION ALL
  SELECT
    version, class, method, CAST(NULL AS STRING) AS stratum, 0 AS timed, hour_ns,
    minutes_with_calls,
    calls, CAST(0 AS FLOAT64) AS measured,
    CAST(NULL AS FLOAT64) AS cpu_n, CAST(NULL AS FLOAT64) AS cpu_nn, CAST(NULL AS FLOAT64) AS wall_n, CAST(NULL AS FLOAT64) AS wall_nn
  FROM (
    SELECT version, class, method, hour_ns, BIT_OR(minutes_with_calls) AS minutes_with_calls, SUM(calls) AS calls
    FROM tallies
    GROUP BY version, class, method, hour_ns
  )
),
keys AS  (
  SELECT *, MIN(key_id) OVER (PARTITION BY version, name) AS name_id
  FROM (
    SELECT
      *,
      CASE WHEN COALESCE(class, '') = '' THEN method WHEN COALESCE(method, '') = '' THEN class ELSE class || '.' || method END AS name,
      ROW_NUMBER() OVER (ORDER BY version, class, method) AS key_id
    FROM (
      SELECT version, class, method
      FROM (
        SELECT version, class, method FROM rolled
        UNION ALL
        SELECT version, class, method FROM by_hour
      )
      GROUP BY version, class, method
    )
  )
),
enough AS  (
  SELECT version, class, method, hour_ns
  FROM by_hour
  GROUP BY version, class, method, hour_ns
  HAVING CASE
    WHEN BIT_OR(minutes_with_calls) IS NULL THEN COALESCE(SUM(cpu_n), 0) = 0 OR COALESCE(SUM(wall_n), 0) = 0
    ELSE SUM(measured) >= 20 * CAST(BIT_COUNT(BIT_OR(minutes_with_calls)) AS INT64) END
),
by_minute AS (
  SELECT
    version, class, method, stratum, timed,
    start_ns - MOD(start_ns, 3600000000000) + 1 AS hour_ns,
    start_ns - MOD(start_ns, 60000000000) + 1 AS minute_ns,
    SUM(calls) AS calls, SUM(measured) AS measured,
    SUM(cpu_n) AS cpu_n, SUM(cpu_nn) AS cpu_nn, SUM(wall_n) AS wall_n, SUM(wall_nn) AS wall_nn
  FROM (
    -- Rows over their probabilities. timed are those that may have weights.
    SELECT
      c.version, c.class, c.method, c.level, c.reason,
      c.start_ns, c.stratum, c.calls, CAST(c.measured AS FLOAT64) AS measured,
      CASE WHEN CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.measured > 0 AND c.p <> 0 THEN 1 ELSE 0 END AS timed,
      c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS cpu_n, c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) / NULLIF(c.p * c.cpu_p, 0) AS cpu_nn,
      c.measured / NULLIF(c.p, 0) AS wall_n, c.measured / NULLIF(c.p, 0) / NULLIF(c.p, 0) AS wall_nn
    FROM measured AS c
    JOIN enough AS e
      ON COALESCE(c.version, '') = COALESCE(e.version, '') AND COALESCE(c.class, '') = COALESCE(e.class, '') AND COALESCE(c.method, '') = COALESCE(e.method, '')
        AND e.hour_ns = c.start_ns - MOD(c.start_ns, 3600000000000) + 1
    WHERE CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END
  )
  GROUP BY version, class, method, stratum, timed, hour_ns, minute_ns
  UNION ALL
  SELECT
    version, class, method, CAST(NULL AS STRING) AS stratum, 0 AS timed, hour_ns, minute_ns,
    calls, CAST(0 AS FLOAT64) AS measured,
    CAST(NULL AS FLOAT64) AS cpu_n, CAST(NULL AS FLOAT64) AS cpu_nn, CAST(NULL AS FLOAT64) AS wall_n, CAST(NULL AS FLOAT64) AS wall_nn
  FROM (
    SELECT
      c.version, c.class, c.method, e.hour_ns,
      c.start_ns - MOD(c.start_ns, 60000000000) + 1 AS minute_ns,
      SUM(c.calls) AS calls
    FROM scoped AS c
    JOIN enough AS e
      ON COALESCE(c.version, '') = COALESCE(e.version, '') AND COALESCE(c.class, '') = COALESCE(e.class, '') AND COALESCE(c.method, '') = COALESCE(e.method, '')
        AND e.hour_ns = c.start_ns - MOD(c.start_ns, 3600000000000) + 1
    WHERE CASE c.kind WHEN 'counts' THEN TRUE ELSE FALSE END AND CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END
    GROUP BY c.version, c.class, c.method, e.hour_ns, c.start_ns - MOD(c.start_ns, 60000000000) + 1
  )
),
pieces AS  (
  SELECT k.key_id, k.name_id, h.* EXCEPT (version, class, method)
  FROM (
    SELECT h.hour_ns AS minute_ns, 0 AS may_hold, h.* EXCEPT (minutes_with_calls)
    FROM by_hour AS h
    LEFT JOIN enough AS e
      ON e.hour_ns = h.hour_ns AND COALESCE(h.version, '') = COALESCE(e.version, '') AND COALESCE(h.class, '') = COALESCE(e.class, '') AND COALESCE(h.method, '') = COALESCE(e.method, '')
    WHERE e.hour_ns IS NULL
    UNION ALL
    SELECT minute_ns, 1 AS may_hold, m.* EXCEPT (minute_ns)
    FROM by_minute AS m
  ) AS h
  JOIN keys AS k ON COALESCE(h.version, '') = COALESCE(k.version, '') AND COALESCE(h.class, '') = COALESCE(k.class, '') AND COALESCE(h.method, '') = COALESCE(k.method, '')
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
    JOIN keys AS k ON COALESCE(r.version, '') = COALESCE(k.version, '') AND COALESCE(r.class, '') = COALESCE(k.class, '') AND COALESCE(r.method, '') = COALESCE(k.method, '')
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
weighted AS (
  -- Rows with their weights.
  SELECT
    c.*, k.key_id,
    CASE WHEN CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.measured > 0 AND c.cpu_measured > 0 THEN LEAST(GREATEST((CASE WHEN c.stratum = 'tail' THEN 1 WHEN c.level = 'raw' OR c.reason LIKE 'rest/%' THEN COALESCE(t.cpu_factor, a.cpu_factor) ELSE COALESCE(a.cpu_scale, 1) END), -1e+30), 1e+30) / NULLIF(c.p * c.cpu_p, 0) END AS w,
    CASE WHEN CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.measured > 0 THEN LEAST(GREATEST((CASE WHEN c.stratum = 'tail' THEN 1 WHEN c.level = 'raw' OR c.reason LIKE '%/rest' THEN COALESCE(t.wall_factor, a.wall_factor) ELSE COALESCE(a.wall_scale, 1) END), -1e+30), 1e+30) / NULLIF(c.p, 0) END AS w_wall,
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
  FROM measured AS c
  LEFT JOIN keys AS k ON COALESCE(c.version, '') = COALESCE(k.version, '') AND COALESCE(c.class, '') = COALESCE(k.class, '') AND COALESCE(c.method, '') = COALESCE(k.method, '')
  LEFT JOIN factors AS a
    ON a.key_id = k.key_id
      AND a.hour_ns = CASE WHEN c.level = 'raw' THEN c.start_ns - MOD(c.start_ns, 3600000000000) + 1 ELSE c.start_ns - MOD(c.start_ns, 86400000000000) END
  LEFT JOIN tight AS t
    ON t.key_id = CASE WHEN a.cell = 'minute' OR a.cell_wall = 'minute' THEN k.key_id END AND t.minute_ns = c.start_ns - MOD(c.start_ns, 60000000000) + 1
),
names AS (
  -- Methods by number: the same in both versions.
  SELECT key_id, name, class, method, DENSE_RANK() OVER (ORDER BY name) AS method_id
  FROM keys
),
seen AS (
  SELECT
    e.method_id, m.member, w.signature, w.caller,
    CASE WHEN @by_age = 1 THEN w.start_ns - CASE WHEN m.process_start_ns < 0 THEN 0 ELSE m.process_start_ns END
      WHEN @daily = 1 AND t.side = 'base'
      THEN MOD(MOD(w.start_ns - @begin_ns, 86400000000000) + 86400000000000, 86400000000000)
      ELSE w.start_ns - @begin_ns END AS offset_ns,
    w.w_wall * w.measured AS flow, w.w AS weight, w.cpu_measured AS n, CAST(w.cpu_ns AS FLOAT64) AS x, w.cpu_hist AS bins,
    CASE WHEN w.stratum = 'tail' THEN 1 ELSE 0 END AS tail, w.cpu_waits AS waits, CAST(w.measured AS FLOAT64) AS timed, CAST(COALESCE(w.cpu_measured, 0) AS FLOAT64) AS timed_cpu
  FROM weighted AS w
  JOIN names AS e ON e.key_id = w.key_id
  JOIN UNNEST(@compared) AS t ON t.version = w.version
  JOIN UNNEST(@members) AS m
    ON m.side = t.side AND COALESCE(m.instance, '') = COALESCE(w.instance, '') AND COALESCE(m.process_start_ns, 0) = COALESCE(w.process_start_ns, 0)
  WHERE w.measured > 0 AND w.start_ns >= t.from_ns AND w.start_ns < t.to_ns AND w.start_ns >= m.warm_ns
),
binned AS (
  SELECT method_id, caller, FLOOR(LN(GREATEST(x, 1)) / LN(1.01 / 0.99)) AS bin, weight
  FROM seen
  WHERE weight IS NOT NULL AND n = 1
  UNION ALL
  SELECT s.method_id, s.caller, h.bin, s.weight * h.n AS weight
  FROM seen AS s, UNNEST(s.bins) AS h
  WHERE s.weight IS NOT NULL AND s.n > 1
),
bins AS (
  SELECT method_id, COALESCE(caller, '') AS caller, bin, SUM(weight) AS weight
  FROM binned
  GROUP BY method_id, COALESCE(caller, ''), bin
),
ranked AS (
  SELECT
    method_id, caller, bin,
    SUM(weight) OVER (PARTITION BY method_id, caller ORDER BY bin)
      / NULLIF(SUM(weight) OVER (PARTITION BY method_id, caller), 0) AS share
  FROM bins
),
caps AS (
  SELECT method_id, caller, EXP((MIN(bin) + 1) * LN(1.01 / 0.99)) AS cap
  FROM ranked
  WHERE share >= 0.995
  GROUP BY method_id, caller
),
single AS (
  SELECT
    s.method_id, s.member, s.signature, s.flow, s.weight, s.n, s.x, s.tail, s.waits, s.timed, s.timed_cpu,
    COALESCE(s.caller, '') AS caller,
    CAST(FLOOR(s.offset_ns / @slot_ns) AS INT64) AS slot,
    CASE WHEN s.n = 1 THEN LEAST(s.x, COALESCE(p.cap, s.x))
      ELSE s.x * COALESCE(
        (SELECT SUM(h.n * LEAST(EXP((h.bin + 0.5) * LN(1.01 / 0.99)), p.cap)) FROM UNNEST(s.bins) AS h)
          / NULLIF((SELECT SUM(h.n * EXP((h.bin + 0.5) * LN(1.01 / 0.99))) FROM UNNEST(s.bins) AS h), 0), 1) END AS capped,
    CASE WHEN s.n = 1 THEN LN(GREATEST(s.x, 1))
      ELSE COALESCE(
        (SELECT SUM(h.n * (h.bin + 0.5) * LN(1.01 / 0.99)) FROM UNNEST(s.bins) AS h),
        s.n * LN(GREATEST(s.x / NULLIF(s.n, 0), 1))) END AS logs,
    CASE WHEN s.n = 1 THEN CASE WHEN s.x > 0.25 * p.cap THEN 1 ELSE 0 END ELSE COALESCE((SELECT SUM(CASE WHEN EXP((h.bin + 0.5) * LN(1.01 / 0.99)) > 0.25 * p.cap THEN h.n ELSE 0 END) FROM UNNEST(s.bins) AS h), 0) END AS n_near,
    CASE WHEN s.n = 1 THEN CASE WHEN s.x > 1 * p.cap THEN 1 ELSE 0 END ELSE COALESCE((SELECT SUM(CASE WHEN EXP((h.bin + 0.5) * LN(1.01 / 0.99)) > 1 * p.cap THEN h.n ELSE 0 END) FROM UNNEST(s.bins) AS h), 0) END AS n_over,
    CASE WHEN s.n = 1 THEN CASE WHEN s.x > 4 * p.cap THEN 1 ELSE 0 END ELSE COALESCE((SELECT SUM(CASE WHEN EXP((h.bin + 0.5) * LN(1.01 / 0.99)) > 4 * p.cap THEN h.n ELSE 0 END) FROM UNNEST(s.bins) AS h), 0) END AS n_far
  FROM seen AS s
  LEFT JOIN caps AS p ON s.method_id = p.method_id AND COALESCE(s.caller, '') = p.caller
),
cells AS (
  SELECT
    method_id, caller, member, slot,
    MIN(COALESCE(signature, '')) AS first_signature, MAX(COALESCE(signature, '')) AS last_signature,
    SUM(CASE WHEN weight IS NOT NULL THEN CAST(n AS FLOAT64) ELSE 0 END) AS records,
    COALESCE(SUM(weight * n), 0) AS weight,
    COALESCE(SUM(weight * x), 0) AS x,
    COALESCE(SUM(weight * waits), 0) AS waits,
    COALESCE(SUM(weight * capped), 0) AS capped,
    COALESCE(SUM(weight * logs), 0) AS logs,
    COALESCE(SUM(CASE WHEN weight IS NOT NULL THEN n_near END), 0) AS n_near, COALESCE(SUM(CASE WHEN tail = 1 THEN weight * n_near END), 0) + COALESCE(SUM(CASE WHEN tail = 0 AND weight IS NOT NULL THEN CAST(n_near AS FLOAT64) END) * (SUM(CASE WHEN tail = 0 THEN weight * n END) / NULLIF(SUM(CASE WHEN tail = 0 AND weight IS NOT NULL THEN CAST(n AS FLOAT64) END), 0)), 0) AS near_calls,
    COALESCE(SUM(CASE WHEN weight IS NOT NULL THEN n_over END), 0) AS n_over, COALESCE(SUM(CASE WHEN tail = 1 THEN weight * n_over END), 0) + COALESCE(SUM(CASE WHEN tail = 0 AND weight IS NOT NULL THEN CAST(n_over AS FLOAT64) END) * (SUM(CASE WHEN tail = 0 THEN weight * n END) / NULLIF(SUM(CASE WHEN tail = 0 AND weight IS NOT NULL THEN CAST(n AS FLOAT64) END), 0)), 0) AS over_calls,
    COALESCE(SUM(CASE WHEN weight IS NOT NULL THEN n_far END), 0) AS n_far, COALESCE(SUM(CASE WHEN tail = 1 THEN weight * n_far END), 0) + COALESCE(SUM(CASE WHEN tail = 0 AND weight IS NOT NULL THEN CAST(n_far AS FLOAT64) END) * (SUM(CASE WHEN tail = 0 THEN weight * n END) / NULLIF(SUM(CASE WHEN tail = 0 AND weight IS NOT NULL THEN CAST(n AS FLOAT64) END), 0)), 0) AS far_calls,
    COALESCE(SUM(flow), 0) AS flow,
    SUM(timed - timed_cpu) AS timed_wall, SUM(timed_cpu) AS timed_cpu
  FROM single
  GROUP BY method_id, caller, member, slot
),
methods AS (
  SELECT method_id, name, MAX(class) AS class, MAX(method) AS method
  FROM names
  GROUP BY method_id, name
)
-- Each method is named once, before its cells: these are many.
SELECT
  method_id, 0 AS what, '' AS caller, 0 AS member, 0 AS slot, name, class, method, CAST(NULL AS STRING) AS signature,
  0 AS records, 0 AS weight, 0 AS x, 0 AS waits, 0 AS capped, 0 AS logs, 0 AS n_near, 0 AS near_calls, 0 AS n_over, 0 AS over_calls, 0 AS n_far, 0 AS far_calls,
  0 AS flow, 0 AS timed_wall, 0 AS timed_cpu
FROM methods
UNION ALL
SELECT
  method_id, 1 AS what, caller, member, slot, CAST(NULL AS STRING) AS name, CAST(NULL AS STRING) AS class, CAST(NULL AS STRING) AS method,
  CASE WHEN first_signature = last_signature AND last_signature <> '' THEN last_signature END AS signature,
  records, weight, x, waits, capped, logs, n_near, near_calls, n_over, over_calls, n_far, far_calls, flow, timed_wall, timed_cpu
FROM cells
ORDER BY method_id, what, caller, member, slot
