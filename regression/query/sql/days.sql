{{define "days"}}
-- The sums of each method, caller and UTC date that drift is looked for in. The cap
-- is the 99.5% quantile of the method and caller over all dates that are asked for,
-- the same on each: one that moved along would follow a drift.
WITH scoped AS {{.Inline}} (
  SELECT c.*
  FROM {{.Rows}} AS c
  WHERE {{.Kind "c." "call" "counts" "aggregate"}}
    {{.Only "c."}}
),
{{template "weighted" .From "scoped"}},
names AS (
  -- Methods by number: the same in all versions.
  SELECT
    key_id, class, method, name,
    COALESCE(service_namespace, '') AS service_namespace, COALESCE(service, '') AS service, COALESCE(environment, '') AS environment,
    DENSE_RANK() OVER (ORDER BY COALESCE(service_namespace, ''), COALESCE(service, ''), COALESCE(environment, ''), name) AS method_id
  FROM keys
),
seen AS (
  SELECT
    e.method_id, w.signature, w.caller,
    w.start_ns - MOD(w.start_ns, 86400000000000) AS date_ns,
    w.{{.Weight}} AS weight, w.{{.Measured}} AS n, CAST(w.{{.Value}} AS {{.Double}}) AS x, w.{{.Histogram}} AS bins
  FROM weighted AS w
  JOIN names AS e ON e.key_id = w.key_id
  WHERE w.{{.Weight}} IS NOT NULL AND w.{{.Measured}} > 0
    AND w.start_ns >= {{.Param}}from_ns AND w.start_ns < {{.Param}}to_ns
),
binned AS (
  SELECT method_id, caller, FLOOR(LN(GREATEST(x, 1)) / LN(1.01 / 0.99)) AS bin, weight
  FROM seen
  WHERE n = 1
  UNION ALL
  SELECT s.method_id, s.caller, h.bin, s.weight * h.n AS weight
  FROM seen AS s, {{.Unnest "s.bins" "h"}}
  WHERE s.n > 1
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
    s.method_id, s.signature, s.date_ns, s.weight, s.n, s.x,
    COALESCE(s.caller, '') AS caller,
    CASE WHEN s.n = 1 THEN LEAST(s.x, COALESCE(p.cap, s.x))
      ELSE s.x * COALESCE(
        {{.SumOf "s.bins" "h" "h.n * LEAST(EXP((h.bin + 0.5) * LN(1.01 / 0.99)), p.cap)"}}
          / NULLIF({{.SumOf "s.bins" "h" "h.n * EXP((h.bin + 0.5) * LN(1.01 / 0.99))"}}, 0), 1) END AS capped,
    CASE WHEN s.n = 1 THEN LN(GREATEST(s.x, 1))
      ELSE COALESCE(
        {{.SumOf "s.bins" "h" "h.n * (h.bin + 0.5) * LN(1.01 / 0.99)"}},
        s.n * LN(GREATEST(s.x / NULLIF(s.n, 0), 1))) END AS logs
  FROM seen AS s
  LEFT JOIN caps AS p ON s.method_id = p.method_id AND COALESCE(s.caller, '') = p.caller
),
dated AS (
  SELECT
    method_id, caller, date_ns,
    MIN(COALESCE(signature, '')) AS first_signature, MAX(COALESCE(signature, '')) AS last_signature,
    SUM(CAST(n AS {{.Double}})) AS records,
    SUM(weight * n) AS weight,
    SUM(weight * capped) AS capped,
    SUM(weight * logs) AS logs
  FROM single
  GROUP BY method_id, caller, date_ns
),
methods AS (
  SELECT method_id, {{.Service ""}}, name, MAX(class) AS class, MAX(method) AS method
  FROM names
  GROUP BY method_id, {{.Service ""}}, name
)
SELECT
  {{.Service "m."}}, m.name, d.caller, d.date_ns,
  m.class, m.method,
  CASE WHEN d.first_signature = d.last_signature AND d.last_signature <> '' THEN d.last_signature END AS signature,
  d.records, d.weight, d.capped, d.logs
FROM dated AS d
JOIN methods AS m ON m.method_id = d.method_id
ORDER BY d.method_id, d.caller, d.date_ns
{{end}}
