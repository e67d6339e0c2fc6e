{{define "days"}}
-- The sums of each method, caller and UTC date that drift is looked for in. The cap
-- is the 99.5% quantile of the method and caller over all dates that are asked for,
-- the same on each: one that moved along would follow a drift.
WITH scoped AS {{.Inline}} (
  SELECT c.*
  FROM method_calls AS c
  WHERE c.kind IN ('call', 'counts', 'aggregate')
    {{.Only "c."}}
),
weighted AS ({{template "method_cost" .From "scoped"}}),
seen AS (
  SELECT
    COALESCE(service_namespace, '') AS service_namespace, COALESCE(service, '') AS service, COALESCE(environment, '') AS environment,
    CASE WHEN COALESCE(class, '') = '' THEN method WHEN COALESCE(method, '') = '' THEN class ELSE class || '.' || method END AS name,
    class, method, signature,
    COALESCE(caller, '') AS caller,
    start_ns - MOD(start_ns, 86400000000000) AS date_ns,
    {{.Weight}} AS weight, {{.Measured}} AS n, CAST({{.Value}} AS {{.Double}}) AS x, {{.Histogram}} AS bins,
    usd_per_core_hour AS price
  FROM weighted
  WHERE {{.Weight}} IS NOT NULL AND {{.Measured}} > 0
    AND start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns
),
binned AS (
  SELECT {{.Service ""}}, name, caller, FLOOR(LN(GREATEST(x, 1)) / LN(1.01 / 0.99)) AS bin, weight
  FROM seen
  WHERE n = 1
  UNION ALL
  SELECT {{.Service "s."}}, s.name, s.caller, h.bin, s.weight * h.n AS weight
  FROM seen AS s, {{.Unnest "s.bins" "h"}}
  WHERE s.n > 1
),
bins AS (
  SELECT {{.Service ""}}, name, caller, bin, SUM(weight) AS weight
  FROM binned
  GROUP BY {{.Service ""}}, name, caller, bin
),
ranked AS (
  SELECT
    {{.Service ""}}, name, caller, bin,
    SUM(weight) OVER (PARTITION BY {{.Service ""}}, name, caller ORDER BY bin)
      / NULLIF(SUM(weight) OVER (PARTITION BY {{.Service ""}}, name, caller), 0) AS share
  FROM bins
),
caps AS (
  SELECT {{.Service ""}}, name, caller, EXP((MIN(bin) + 1) * LN(1.01 / 0.99)) AS cap
  FROM ranked
  WHERE share >= 0.995
  GROUP BY {{.Service ""}}, name, caller
),
single AS (
  SELECT
    s.*,
    CASE WHEN s.n = 1 THEN LEAST(s.x, COALESCE(p.cap, s.x))
      ELSE s.x * COALESCE(
        (SELECT SUM(h.n * LEAST(EXP((h.bin + 0.5) * LN(1.01 / 0.99)), p.cap)) / SUM(h.n * EXP((h.bin + 0.5) * LN(1.01 / 0.99)))
         FROM {{.Unnest "s.bins" "h"}}), 1) END AS capped,
    CASE WHEN s.n = 1 THEN LN(GREATEST(s.x, 1))
      ELSE COALESCE(
        (SELECT SUM(h.n * (h.bin + 0.5) * LN(1.01 / 0.99)) FROM {{.Unnest "s.bins" "h"}}),
        s.n * LN(GREATEST(s.x / s.n, 1))) END AS logs
  FROM seen AS s
  LEFT JOIN caps AS p
    ON s.service_namespace = p.service_namespace AND s.service = p.service AND s.environment = p.environment
    AND s.name = p.name AND s.caller = p.caller
)
SELECT
  {{.Service ""}}, name, caller, date_ns,
  MAX(class) AS class, MAX(method) AS method,
  CASE WHEN MIN(COALESCE(signature, '')) = MAX(COALESCE(signature, '')) THEN MAX(signature) END AS signature,
  CAST(SUM(n) AS {{.Double}}) AS records,
  SUM(weight * n) AS weight,
  SUM(weight * capped) AS capped,
  SUM(weight * logs) AS logs,
  COALESCE(SUM(weight * x * price), 0) AS price_x
FROM single
GROUP BY {{.Service ""}}, name, caller, date_ns
ORDER BY {{.Service ""}}, name, caller, date_ns
{{end}}
