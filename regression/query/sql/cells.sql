{{define "members"}}
-- The processes of the two sides of one comparison that measured anything.
SELECT
  t.side, c.instance, c.process_start_ns, MAX(c.host_id) AS host_id,
  MIN(c.start_ns) AS first_ns, MAX(c.end_ns) AS last_ns,
  {{.Total `c.measured`}} AS measured, {{.Total `COALESCE(c.cpu_measured, 0)`}} AS cpu_measured
FROM {{.Calls}} AS c
JOIN {{.Given "compared"}} AS t
  ON t.version = c.version
WHERE c.kind IN ('call', 'aggregate') AND c.measured > 0 AND c.start_ns >= t.from_ns AND c.start_ns < t.to_ns
  {{.Only "c."}}
GROUP BY t.side, c.instance, c.process_start_ns
ORDER BY t.side, first_ns, c.instance, c.process_start_ns
{{end}}

{{define "cells"}}
-- What one comparison is made of: sums by method, caller, member (a process, or a
-- group of them) and slot. The cap is the 99.5% quantile of the method and caller
-- over both versions. Where the base did not run at the same time but on earlier
-- days, its rows count in the slots of the same time of day. By age the slots are those of
-- the life of a process.
WITH scoped AS {{.Inline}} (
  SELECT c.*
  FROM {{.Rows}} AS c
  WHERE {{.Kind "c." "call" "counts" "aggregate"}} AND {{.Versions "c." "base_version" "head_version"}}
    {{.Only "c."}}
),
{{template "weighted" .From "scoped"}},
names AS (
  -- Methods by number: the same in both versions.
  SELECT key_id, name, class, method, DENSE_RANK() OVER (ORDER BY name) AS method_id
  FROM keys
),
seen AS (
  SELECT
    e.method_id, m.member, w.signature, w.caller,
    CASE WHEN {{.Param}}by_age = 1 THEN w.start_ns - CASE WHEN m.process_start_ns < 0 THEN 0 ELSE m.process_start_ns END
      WHEN {{.Param}}daily = 1 AND t.side = 'base'
      THEN MOD(MOD(w.start_ns - {{.Param}}begin_ns, 86400000000000) + 86400000000000, 86400000000000)
      ELSE w.start_ns - {{.Param}}begin_ns END AS offset_ns,
    w.w_wall * w.measured AS flow, w.{{.Weight}} AS weight, w.{{.Measured}} AS n, CAST(w.{{.Value}} AS {{.Double}}) AS x, w.{{.Histogram}} AS bins,
    CASE WHEN w.stratum = 'tail' THEN 1 ELSE 0 END AS tail, {{if eq .Waits "0"}}0{{else}}w.cpu_waits{{end}} AS waits, CAST(w.measured AS {{.Double}}) AS timed, CAST(COALESCE(w.cpu_measured, 0) AS {{.Double}}) AS timed_cpu
  FROM weighted AS w
  JOIN names AS e ON e.key_id = w.key_id
  JOIN {{.Given "compared"}} AS t ON t.version = w.version
  JOIN {{.Given "members"}} AS m
    ON m.side = t.side AND {{.Same "m" "w" "instance" "process_start_ns"}}
  WHERE w.measured > 0 AND w.start_ns >= t.from_ns AND w.start_ns < t.to_ns AND w.start_ns >= m.warm_ns
),
binned AS (
  SELECT method_id, caller, FLOOR(LN(GREATEST(x, 1)) / LN(1.01 / 0.99)) AS bin, weight
  FROM seen
  WHERE weight IS NOT NULL AND n = 1
  UNION ALL
  SELECT s.method_id, s.caller, h.bin, s.weight * h.n AS weight
  FROM seen AS s, {{.Unnest "s.bins" "h"}}
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
    CAST(FLOOR(s.offset_ns / {{.Param}}slot_ns) AS {{.Long}}) AS slot,
    CASE WHEN s.n = 1 THEN LEAST(s.x, COALESCE(p.cap, s.x))
      ELSE s.x * COALESCE(
        {{.SumOf "s.bins" "h" "h.n * LEAST(EXP((h.bin + 0.5) * LN(1.01 / 0.99)), p.cap)"}}
          / NULLIF({{.SumOf "s.bins" "h" "h.n * EXP((h.bin + 0.5) * LN(1.01 / 0.99))"}}, 0), 1) END AS capped,
    CASE WHEN s.n = 1 THEN LN(GREATEST(s.x, 1))
      ELSE COALESCE(
        {{.SumOf "s.bins" "h" "h.n * (h.bin + 0.5) * LN(1.01 / 0.99)"}},
        s.n * LN(GREATEST(s.x / NULLIF(s.n, 0), 1))) END AS logs,
    {{.Above "0.25"}} AS n_near,
    {{.Above "1"}} AS n_over,
    {{.Above "4"}} AS n_far
  FROM seen AS s
  LEFT JOIN caps AS p ON s.method_id = p.method_id AND COALESCE(s.caller, '') = p.caller
),
cells AS (
  SELECT
    method_id, caller, member, slot,
    MIN(COALESCE(signature, '')) AS first_signature, MAX(COALESCE(signature, '')) AS last_signature,
    SUM(CASE WHEN weight IS NOT NULL THEN CAST(n AS {{.Double}}) ELSE 0 END) AS records,
    COALESCE(SUM(weight * n), 0) AS weight,
    COALESCE(SUM(weight * x), 0) AS x,
    COALESCE(SUM(weight * waits), 0) AS waits,
    COALESCE(SUM(weight * capped), 0) AS capped,
    COALESCE(SUM(weight * logs), 0) AS logs,
    COALESCE(SUM(CASE WHEN weight IS NOT NULL THEN n_near END), 0) AS n_near, {{.CallsOf "n_near"}} AS near_calls,
    COALESCE(SUM(CASE WHEN weight IS NOT NULL THEN n_over END), 0) AS n_over, {{.CallsOf "n_over"}} AS over_calls,
    COALESCE(SUM(CASE WHEN weight IS NOT NULL THEN n_far END), 0) AS n_far, {{.CallsOf "n_far"}} AS far_calls,
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
  method_id, 0 AS what, '' AS caller, 0 AS member, 0 AS slot, name, class, method, CAST(NULL AS {{.Text}}) AS signature,
  0 AS records, 0 AS weight, 0 AS x, 0 AS waits, 0 AS capped, 0 AS logs, 0 AS n_near, 0 AS near_calls, 0 AS n_over, 0 AS over_calls, 0 AS n_far, 0 AS far_calls,
  0 AS flow, 0 AS timed_wall, 0 AS timed_cpu
FROM methods
UNION ALL
SELECT
  method_id, 1 AS what, caller, member, slot, CAST(NULL AS {{.Text}}) AS name, CAST(NULL AS {{.Text}}) AS class, CAST(NULL AS {{.Text}}) AS method,
  CASE WHEN first_signature = last_signature AND last_signature <> '' THEN last_signature END AS signature,
  records, weight, x, waits, capped, logs, n_near, near_calls, n_over, over_calls, n_far, far_calls, flow, timed_wall, timed_cpu
FROM cells
ORDER BY method_id, what, caller, member, slot
{{end}}
