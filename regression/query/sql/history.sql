{{define "history"}}
-- The cost of a call of the chosen methods over time: sums by bucket and version,
-- and the sums over clusters (instance x part of the bucket) that standard errors
-- are made of.
WITH scoped AS {{.Inline}} (
  SELECT
    m.*,
    CASE WHEN m.start_ns >= {{.Param}}from_ns AND m.start_ns < {{.Param}}to_ns THEN m.start_ns - MOD(m.start_ns, {{.Param}}bucket_ns) END AS bucket_ns,
    m.start_ns - MOD(m.start_ns, {{.Param}}slot_ns) AS slot_ns
  FROM {{.Rows}} AS m
  JOIN {{.Given "chosen"}} AS c ON {{.Same "m" "c" "service_namespace" "service" "environment" "class" "method"}}
  WHERE {{.Kind "m." "call" "counts" "aggregate"}}
    {{.Only "m."}}
),
{{template "weighed" (.From "scoped").GroupBy "instance" "bucket_ns" "slot_ns"}},
clusters AS (
  SELECT
    key_id, bucket_ns,
    SUM(calls) AS calls,
    SUM({{.Measured}}) AS records,
    COALESCE(SUM({{.Factor}} * {{.Sum}}), 0) AS n,
    COALESCE(SUM({{.Factor}} * x), 0) AS x
  FROM weighed
  WHERE bucket_ns IS NOT NULL
  GROUP BY key_id, instance, bucket_ns, slot_ns
)
SELECT
  {{.Key ""}}, bucket_ns,
  SUM(calls) AS calls,
  {{.Total `records`}} AS records,
  CAST(SUM(CASE WHEN n > 0 THEN 1 ELSE 0 END) AS {{.Long}}) AS clusters,
  SUM(n) AS n, SUM(x) AS x, SUM(n * n) AS nn, SUM(n * x) AS nx, SUM(x * x) AS xx
FROM clusters AS c
JOIN keys AS k ON c.key_id = k.key_id
GROUP BY {{.Key ""}}, bucket_ns
ORDER BY {{.Key ""}}, bucket_ns
{{end}}

{{define "distribution"}}
-- How the times of single calls of the chosen methods are spread, by version:
-- weights by bin of a quarter of an octave. Sums of several calls have a
-- histogram of their own.
WITH scoped AS {{.Inline}} (
  SELECT m.*
  FROM {{.Rows}} AS m
  JOIN {{.Given "chosen"}} AS c ON {{.Same "m" "c" "service_namespace" "service" "environment" "class" "method"}}
  WHERE {{.Kind "m." "call" "counts" "aggregate"}}
    {{.Only "m."}}
),
{{template "weighted" .From "scoped"}},
timed AS (
  SELECT {{.Key ""}}, {{.Measured}}, {{.Value}}, {{.Histogram}}, {{.Weight}}
  FROM weighted
  WHERE start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns AND {{.Weight}} IS NOT NULL
),
binned AS (
  SELECT {{.Key ""}}, FLOOR(LN(GREATEST({{.Value}}, 1)) / LN(2) * 4) AS bin, {{.Weight}} AS n
  FROM timed
  WHERE {{.Measured}} = 1
  UNION ALL
  SELECT {{.Key ""}}, FLOOR((h.bin + 0.5) * LN(1.01 / 0.99) / LN(2) * 4) AS bin, {{.Weight}} * h.n AS n
  FROM timed, {{.Unnest .Histogram "h"}}
  WHERE {{.Measured}} > 1
)
SELECT {{.Key ""}}, CAST(bin AS {{.Long}}) AS bin, SUM(n) AS n
FROM binned
GROUP BY {{.Key ""}}, bin
ORDER BY {{.Key ""}}, bin
{{end}}
