-- What methods cost, with weights formed once. Three kinds of rows:
--
-- method   one of each version: calls, measurements, its time with and without what
--          it calls
-- group    one of each group asked for: the sum over clusters (instance x slot) of
--          the squares of what its self time there differs from what its methods'
--          means say, from which its standard error follows
-- edge     what a method paid for one callee; caller NULL where it is not known and
--          can't be inferred
WITH scoped AS  (
  SELECT
    c.*
  FROM method_calls AS c
  WHERE c.kind IN ('call', 'counts', 'aggregate')
     AND c.event_date BETWEEN @from_date AND @to_date AND c.service = @service AND c.environment = @environment
),
weighted AS (
-- What a row weighs. q = p * cpu_p is the probability that a row's CPU was
-- measured with, p that of its wall time.
--
-- A row of the tail stratum weighs 1/q and leaves the rest of its cell N_G calls:
-- those counted less those that tail rows stand for. A raw row outside of it
-- weighs N_G * (1/q) / sum over its cell of (cpu_measured / q). A row of level
-- minute or hour weighs 1/q: its probabilities are final, and its reason says in
-- which cells its rows were, as in 'minute/hour' for CPU and wall time. The same
-- with p for wall time, errors and callers.
--
-- Cells are nested: the minute of start, if every minute of its hour with calls
-- holds 20 effective records (less what adding 20 equal ones may round); else what such hours leave of the hour, if every
-- hour of the date with calls holds them; else what is left of the date. Each
-- call and each raw row is in one cell.
WITH minutes AS (
  SELECT
    service_namespace, service, environment, version, class, method,
    start_ns - MOD(start_ns, 60000000000) AS minute_ns,
    start_ns - MOD(start_ns, 3600000000000) AS hour_ns,
    start_ns - MOD(start_ns, 86400000000000) AS date_ns,
    SUM(calls) AS calls,
    SUM(CASE WHEN stratum = 'tail' THEN COALESCE(cpu_measured / NULLIF(p * cpu_p, 0), 0) ELSE 0 END) AS cpu_tail,
    SUM(CASE WHEN stratum = 'tail' THEN 0 ELSE COALESCE(cpu_measured / NULLIF(p * cpu_p, 0), 0) END) AS cpu_sum,
    SUM(CASE WHEN stratum = 'tail' THEN 0 ELSE COALESCE(cpu_measured / NULLIF(p * cpu_p * p * cpu_p, 0), 0) END) AS cpu_squares,
    SUM(CASE WHEN stratum = 'tail' THEN COALESCE(measured / NULLIF(p, 0), 0) ELSE 0 END) AS wall_tail,
    SUM(CASE WHEN stratum = 'tail' THEN 0 ELSE COALESCE(measured / NULLIF(p, 0), 0) END) AS wall_sum,
    SUM(CASE WHEN stratum = 'tail' THEN 0 ELSE COALESCE(measured / NULLIF(p * p, 0), 0) END) AS wall_squares
  FROM scoped
  WHERE level = 'raw' AND kind IN ('call', 'counts', 'aggregate')
  GROUP BY
    service_namespace, service, environment, version, class, method,
    start_ns - MOD(start_ns, 60000000000),
    start_ns - MOD(start_ns, 3600000000000),
    start_ns - MOD(start_ns, 86400000000000)
),
hours AS (
  SELECT
    service_namespace, service, environment, version, class, method, hour_ns, date_ns,
    SUM(calls) AS calls,
    SUM(cpu_tail) AS cpu_tail, SUM(cpu_sum) AS cpu_sum, SUM(cpu_squares) AS cpu_squares,
    SUM(wall_tail) AS wall_tail, SUM(wall_sum) AS wall_sum, SUM(wall_squares) AS wall_squares,
    MIN(CASE WHEN calls > 0 AND COALESCE(cpu_sum * cpu_sum / NULLIF(cpu_squares, 0), 0) < 19.99999998 THEN 0 ELSE 1 END) AS cpu_minutes_hold,
    MIN(CASE WHEN calls > 0 AND COALESCE(wall_sum * wall_sum / NULLIF(wall_squares, 0), 0) < 19.99999998 THEN 0 ELSE 1 END) AS wall_minutes_hold
  FROM minutes
  GROUP BY service_namespace, service, environment, version, class, method, hour_ns, date_ns
),
dates AS (
  SELECT
    service_namespace, service, environment, version, class, method, date_ns,
    MIN(CASE WHEN calls > 0 AND COALESCE(cpu_sum * cpu_sum / NULLIF(cpu_squares, 0), 0) < 19.99999998 THEN 0 ELSE 1 END) AS cpu_hours_hold,
    MIN(CASE WHEN calls > 0 AND COALESCE(wall_sum * wall_sum / NULLIF(wall_squares, 0), 0) < 19.99999998 THEN 0 ELSE 1 END) AS wall_hours_hold,
    SUM(CASE WHEN cpu_minutes_hold = 0 THEN calls - cpu_tail END) AS cpu_calls_left,
    SUM(CASE WHEN cpu_minutes_hold = 0 THEN cpu_sum END) AS cpu_sum_left,
    SUM(CASE WHEN wall_minutes_hold = 0 THEN calls - wall_tail END) AS wall_calls_left,
    SUM(CASE WHEN wall_minutes_hold = 0 THEN wall_sum END) AS wall_sum_left
  FROM hours
  GROUP BY service_namespace, service, environment, version, class, method, date_ns
),
plan AS (
  SELECT
    h.service_namespace, h.service, h.environment, h.version, h.class, h.method, h.hour_ns,
    CASE WHEN h.cpu_minutes_hold = 1 THEN 'minute' WHEN d.cpu_hours_hold = 1 THEN 'hour' ELSE 'date' END AS cell,
    CASE WHEN d.cpu_hours_hold = 1 THEN h.hour_ns ELSE h.date_ns END AS cell_ns,
    CASE WHEN d.cpu_hours_hold = 1 THEN (h.calls - h.cpu_tail) / NULLIF(h.cpu_sum, 0)
      ELSE d.cpu_calls_left / NULLIF(d.cpu_sum_left, 0) END AS cpu_factor,
    CASE WHEN h.wall_minutes_hold = 1 THEN 'minute' WHEN d.wall_hours_hold = 1 THEN 'hour' ELSE 'date' END AS cell_wall,
    CASE WHEN d.wall_hours_hold = 1 THEN h.hour_ns ELSE h.date_ns END AS cell_wall_ns,
    CASE WHEN d.wall_hours_hold = 1 THEN (h.calls - h.wall_tail) / NULLIF(h.wall_sum, 0)
      ELSE d.wall_calls_left / NULLIF(d.wall_sum_left, 0) END AS wall_factor
  FROM hours AS h
  JOIN dates AS d
    ON h.date_ns = d.date_ns
    AND COALESCE(h.service_namespace, '') = COALESCE(d.service_namespace, '') AND COALESCE(h.service, '') = COALESCE(d.service, '') AND COALESCE(h.environment, '') = COALESCE(d.environment, '') AND COALESCE(h.version, '') = COALESCE(d.version, '') AND COALESCE(h.class, '') = COALESCE(d.class, '') AND COALESCE(h.method, '') = COALESCE(d.method, '')
),
factors AS (
  SELECT
    m.service_namespace, m.service, m.environment, m.version, m.class, m.method, m.minute_ns,
    a.cell,
    CASE WHEN a.cell = 'minute' THEN m.minute_ns ELSE a.cell_ns END AS cell_ns,
    CASE WHEN a.cell = 'minute' THEN (m.calls - m.cpu_tail) / NULLIF(m.cpu_sum, 0) ELSE a.cpu_factor END AS cpu_factor,
    a.cell_wall,
    CASE WHEN a.cell_wall = 'minute' THEN m.minute_ns ELSE a.cell_wall_ns END AS cell_wall_ns,
    CASE WHEN a.cell_wall = 'minute' THEN (m.calls - m.wall_tail) / NULLIF(m.wall_sum, 0) ELSE a.wall_factor END AS wall_factor
  FROM minutes AS m
  JOIN plan AS a
    ON m.hour_ns = a.hour_ns
    AND COALESCE(m.service_namespace, '') = COALESCE(a.service_namespace, '') AND COALESCE(m.service, '') = COALESCE(a.service, '') AND COALESCE(m.environment, '') = COALESCE(a.environment, '') AND COALESCE(m.version, '') = COALESCE(a.version, '') AND COALESCE(m.class, '') = COALESCE(a.class, '') AND COALESCE(m.method, '') = COALESCE(a.method, '')
),
weighed AS (
  SELECT
    c.*,
    CASE WHEN c.kind IN ('call', 'aggregate') AND c.measured > 0 AND c.cpu_measured > 0
      THEN (CASE WHEN c.level <> 'raw' OR c.stratum = 'tail' THEN 1 ELSE f.cpu_factor END) / NULLIF(c.p * c.cpu_p, 0)
      END AS w,
    CASE WHEN c.kind IN ('call', 'aggregate') AND c.measured > 0
      THEN (CASE WHEN c.level <> 'raw' OR c.stratum = 'tail' THEN 1 ELSE f.wall_factor END) / NULLIF(c.p, 0)
      END AS w_wall,
    CASE
      WHEN c.level = 'raw' THEN CASE WHEN f.cpu_factor IS NULL THEN 'none' ELSE f.cell END
      WHEN c.reason LIKE 'none/%' THEN 'none'
      WHEN c.reason LIKE 'hour/%' THEN 'hour'
      WHEN c.reason LIKE 'date/%' THEN 'date'
      ELSE c.level END AS cell,
    CASE
      WHEN c.level = 'raw' THEN f.cell_ns
      WHEN c.reason LIKE 'date/%' THEN c.start_ns - MOD(c.start_ns, 86400000000000)
      WHEN c.reason LIKE 'hour/%' OR c.level = 'hour' THEN c.start_ns - MOD(c.start_ns, 3600000000000)
      ELSE c.start_ns - MOD(c.start_ns, 60000000000) END AS cell_ns,
    CASE
      WHEN c.level = 'raw' THEN CASE WHEN f.wall_factor IS NULL THEN 'none' ELSE f.cell_wall END
      WHEN c.reason LIKE '%/none' THEN 'none'
      WHEN c.reason LIKE '%/hour' THEN 'hour'
      WHEN c.reason LIKE '%/date' THEN 'date'
      ELSE c.level END AS cell_wall,
    CASE
      WHEN c.level = 'raw' THEN f.cell_wall_ns
      WHEN c.reason LIKE '%/date' THEN c.start_ns - MOD(c.start_ns, 86400000000000)
      WHEN c.reason LIKE '%/hour' OR c.level = 'hour' THEN c.start_ns - MOD(c.start_ns, 3600000000000)
      ELSE c.start_ns - MOD(c.start_ns, 60000000000) END AS cell_wall_ns
  FROM scoped AS c
  LEFT JOIN factors AS f
    ON c.start_ns - MOD(c.start_ns, 60000000000) = f.minute_ns
    AND COALESCE(c.service_namespace, '') = COALESCE(f.service_namespace, '') AND COALESCE(c.service, '') = COALESCE(f.service, '') AND COALESCE(c.environment, '') = COALESCE(f.environment, '') AND COALESCE(c.version, '') = COALESCE(f.version, '') AND COALESCE(c.class, '') = COALESCE(f.class, '') AND COALESCE(c.method, '') = COALESCE(f.method, '')
)
SELECT
  *,
  w * cpu_ns * usd_per_core_hour / 3.6e12 AS cost_usd
FROM weighed
),
seen AS (
  SELECT
    service_namespace, service, environment, version, class, method,
    CASE WHEN COALESCE(class, '') = '' THEN method WHEN COALESCE(method, '') = '' THEN class ELSE class || '.' || method END AS name,
    caller, instance,
    start_ns - MOD(start_ns, @slot_ns) AS slot_ns,
    cell, cell_ns,
    MIN(COALESCE(signature, '')) AS first_signature, MAX(COALESCE(signature, '')) AS last_signature,
    SUM(calls) AS calls,
    SUM(CASE WHEN cell_wall = 'none' THEN calls - COALESCE(w_wall * measured, 0) ELSE 0 END) AS unmeasured_calls,
    SUM(measured) AS measured,
    SUM(cpu_measured) AS cpu_measured,
    COALESCE(SUM(w_wall * measured), 0) AS flow,
    COALESCE(SUM(w_wall * wall_ns), 0) AS wall_x,
    COALESCE(SUM(w_wall * errors), 0) AS errors,
    COALESCE(SUM(w * cpu_measured), 0) AS n,
    COALESCE(SUM(w * cpu_ns), 0) AS x,
    COALESCE(SUM(w * cpu_ns * usd_per_core_hour / 3.6e12), 0) AS usd,
    COALESCE(SUM(CASE WHEN usd_per_core_hour IS NULL THEN w * cpu_ns END), 0) AS unpriced_x
  FROM weighted
  WHERE start_ns >= @from_ns AND start_ns < @to_ns
  GROUP BY service_namespace, service, environment, version, class, method, caller, instance, start_ns - MOD(start_ns, @slot_ns), cell, cell_ns
),
known AS (
  SELECT service_namespace, service, environment, version, class, method, cell, cell_ns, caller, SUM(flow) AS flow
  FROM seen
  WHERE caller IS NOT NULL
  GROUP BY service_namespace, service, environment, version, class, method, cell, cell_ns, caller
),
shares AS (
  SELECT *, flow / NULLIF(SUM(flow) OVER (PARTITION BY service_namespace, service, environment, version, class, method, cell, cell_ns), 0) AS share
  FROM known
),
paid AS (
  SELECT service_namespace, service, environment, version, name, instance, slot_ns, caller, flow, n, x, usd, unpriced_x
  FROM seen
  WHERE caller IS NOT NULL
  UNION ALL
  SELECT
    u.service_namespace, u.service, u.environment, u.version, u.name, u.instance, u.slot_ns,
    s.caller,
    u.flow * COALESCE(s.share, 1) AS flow,
    u.n * COALESCE(s.share, 1) AS n,
    u.x * COALESCE(s.share, 1) AS x,
    u.usd * COALESCE(s.share, 1) AS usd,
    u.unpriced_x * COALESCE(s.share, 1) AS unpriced_x
  FROM seen AS u
  LEFT JOIN shares AS s
    ON COALESCE(u.service_namespace, '') = COALESCE(s.service_namespace, '') AND COALESCE(u.service, '') = COALESCE(s.service, '') AND COALESCE(u.environment, '') = COALESCE(s.environment, '') AND COALESCE(u.version, '') = COALESCE(s.version, '') AND COALESCE(u.class, '') = COALESCE(s.class, '') AND COALESCE(u.method, '') = COALESCE(s.method, '') AND COALESCE(u.cell, '') = COALESCE(s.cell, '') AND COALESCE(u.cell_ns, 0) = COALESCE(s.cell_ns, 0)
  WHERE u.caller IS NULL AND u.flow > 0
),
entries AS (
  SELECT
    service_namespace, service, environment, version, name, instance, slot_ns,
    1 AS own, class, method, n, x AS self_x, usd AS self_usd, unpriced_x AS self_unpriced_x, 0 AS orphan_x
  FROM seen
  UNION ALL
  SELECT
    service_namespace, service, environment, version, caller AS name, instance, slot_ns,
    0 AS own, CAST(NULL AS STRING) AS class, CAST(NULL AS STRING) AS method, 0 AS n, -x AS self_x, -usd AS self_usd, -unpriced_x AS self_unpriced_x, 0 AS orphan_x
  FROM paid
  WHERE caller IS NOT NULL AND caller <> '(entry)'
  UNION ALL
  SELECT
    service_namespace, service, environment, version, name, instance, slot_ns,
    0 AS own, CAST(NULL AS STRING) AS class, CAST(NULL AS STRING) AS method, 0 AS n, 0 AS self_x, 0 AS self_usd, 0 AS self_unpriced_x, x AS orphan_x
  FROM paid
  WHERE caller IS NULL
),
clusters AS (
  SELECT
    service_namespace, service, environment, version, name, instance, slot_ns,
    MAX(own) AS own, MAX(class) AS class, MAX(method) AS method,
    SUM(n) AS n, SUM(self_x) AS self_x, SUM(self_usd) AS self_usd, SUM(self_unpriced_x) AS self_unpriced_x, SUM(orphan_x) AS orphan_x
  FROM entries
  GROUP BY service_namespace, service, environment, version, name, instance, slot_ns
),
totals AS (
  SELECT
    service_namespace, service, environment, version, name,
    MAX(class) AS class, MAX(method) AS method,
    SUM(CASE WHEN n > 0 THEN 1 ELSE 0 END) AS clusters,
    SUM(n) AS n, SUM(self_x) AS self_x, SUM(self_usd) AS self_usd, SUM(self_unpriced_x) AS self_unpriced_x, SUM(orphan_x) AS orphan_x
  FROM clusters
  GROUP BY service_namespace, service, environment, version, name
  HAVING MAX(own) = 1
),
means AS (
  -- A version of too few clusters would be its own mean.
  SELECT
    t.*,
    CAST(NULL AS STRING) AS owner,
    CASE WHEN t.clusters >= 3 THEN t.self_x / NULLIF(t.n, 0)
      ELSE SUM(t.self_x) OVER versions / NULLIF(SUM(t.n) OVER versions, 0) END AS mean
  FROM totals AS t
  WINDOW versions AS (PARTITION BY t.service_namespace, t.service, t.environment, t.name)
),
grouped AS (
  SELECT
    m.service_namespace AS service_namespace, m.service AS service, m.environment AS environment, m.class AS class, m.method AS method, 
    c.instance, c.slot_ns, c.version AS cluster_version, m.service AS cluster_service, m.environment AS cluster_environment,
    SUM(c.n) AS n, SUM(c.self_x - COALESCE(m.mean, 0) * c.n) AS residual
  FROM clusters AS c
  JOIN means AS m ON COALESCE(c.service_namespace, '') = COALESCE(m.service_namespace, '') AND COALESCE(c.service, '') = COALESCE(m.service, '') AND COALESCE(c.environment, '') = COALESCE(m.environment, '') AND COALESCE(c.version, '') = COALESCE(m.version, '') AND COALESCE(c.name, '') = COALESCE(m.name, '')
  GROUP BY m.service_namespace, m.service, m.environment, m.class, m.method,  c.instance, c.slot_ns, c.version, m.service, m.environment
),
own AS (
  SELECT
    service_namespace, service, environment, version, name,
    CASE WHEN MIN(first_signature) = MAX(last_signature) THEN MAX(last_signature) END AS signature,
    SUM(calls) AS calls, SUM(unmeasured_calls) AS unmeasured_calls,
    CAST(SUM(measured) AS INT64) AS measured, CAST(SUM(cpu_measured) AS INT64) AS cpu_measured,
    SUM(flow) AS wall_n, SUM(wall_x) AS wall_x, SUM(errors) AS errors, SUM(x) AS x
  FROM seen
  GROUP BY service_namespace, service, environment, version, name
)
SELECT
  'method' AS what, m.service_namespace, m.service, m.environment, m.version, m.class, m.method, m.owner, m.name, CAST(NULL AS STRING) AS caller, o.signature,
  o.calls, o.unmeasured_calls, o.measured, o.cpu_measured, o.wall_n, o.wall_x, o.errors,
  m.n, o.x, m.self_x, m.self_usd, m.self_unpriced_x, m.orphan_x, 0 AS residual_squares, 0 AS clusters, 0 AS instances
FROM means AS m
JOIN own AS o ON COALESCE(m.service_namespace, '') = COALESCE(o.service_namespace, '') AND COALESCE(m.service, '') = COALESCE(o.service, '') AND COALESCE(m.environment, '') = COALESCE(o.environment, '') AND COALESCE(m.version, '') = COALESCE(o.version, '') AND COALESCE(m.name, '') = COALESCE(o.name, '')
UNION ALL
SELECT
  'group' AS what,
  service_namespace, service, environment, CAST(NULL AS STRING) AS version,
  class, method, CAST(NULL AS STRING) AS owner, CAST(NULL AS STRING) AS name, CAST(NULL AS STRING) AS caller, CAST(NULL AS STRING) AS signature,
  0 AS calls, 0 AS unmeasured_calls, 0 AS measured, 0 AS cpu_measured, 0 AS wall_n, 0 AS wall_x, 0 AS errors,
  SUM(n) AS n, 0 AS x, 0 AS self_x, 0 AS self_usd, 0 AS self_unpriced_x, 0 AS orphan_x,
  SUM(residual * residual) AS residual_squares,
  CAST(SUM(CASE WHEN n > 0 THEN 1 ELSE 0 END) AS INT64) AS clusters,
  COUNT(DISTINCT COALESCE(cluster_service, '') || ' ' || COALESCE(cluster_environment, '') || ' ' || COALESCE(instance, '')) AS instances
FROM grouped
GROUP BY service_namespace, service, environment, class, method
UNION ALL
SELECT
  'edge' AS what, service_namespace, service, environment, version, CAST(NULL AS STRING) AS class, CAST(NULL AS STRING) AS method, CAST(NULL AS STRING) AS owner, name, caller, CAST(NULL AS STRING) AS signature,
  SUM(flow) AS calls, 0 AS unmeasured_calls, 0 AS measured, 0 AS cpu_measured, 0 AS wall_n, 0 AS wall_x, 0 AS errors,
  SUM(n) AS n, SUM(x) AS x, 0 AS self_x, SUM(usd) AS self_usd, 0 AS self_unpriced_x, 0 AS orphan_x, 0 AS residual_squares, 0 AS clusters, 0 AS instances
FROM paid
GROUP BY service_namespace, service, environment, version, caller, name
ORDER BY what, service_namespace, service, environment, version, name, caller, class, method, owner
