{{define "measurements"}}
-- What was measured in the window, added up by method, caller, instance and
-- slot, with the rows whose caller is unknown shared out among the callers that
-- are known in their weight cell.
WITH scoped AS {{.Inline}} (
  SELECT
    c.*,
    {{- if .Sides}}
    t.side, t.slot_ns AS slot_length, t.from_ns, t.to_ns
    {{- else}}
    'all' AS side, {{.Param}}slot_ns AS slot_length, {{.Param}}from_ns AS from_ns, {{.Param}}to_ns AS to_ns
    {{- end}}
  FROM method_calls AS c
  {{- if .Sides}}
  JOIN {{.Given "compared"}} AS t
    ON t.version = c.version AND {{.Same "t" "c" "service_namespace" "service" "environment"}}
  {{- end}}
  WHERE c.kind IN ('call', 'counts', 'aggregate')
    {{.Only "c."}}
),
weighted AS ({{template "method_cost" .From "scoped"}}),
seen AS (
  SELECT
    {{.Key ""}}, side,
    CASE WHEN COALESCE(class, '') = '' THEN method WHEN COALESCE(method, '') = '' THEN class ELSE class || '.' || method END AS name,
    caller, instance,
    start_ns - MOD(start_ns, slot_length) AS slot_ns,
    {{.Cell}} AS cell, {{.Cell}}_ns AS cell_ns,
    MIN(COALESCE(signature, '')) AS first_signature, MAX(COALESCE(signature, '')) AS last_signature,
    SUM(w_wall * measured) AS flow,
    SUM({{.Measured}}) AS records,
    COALESCE(SUM({{.Weight}} * {{.Measured}}), 0) AS n,
    COALESCE(SUM({{.Weight}} * {{.Value}}), 0) AS x,
    COALESCE(SUM({{.Weight}} * {{.Value}} * usd_per_core_hour / 3.6e12), 0) AS usd,
    COALESCE(SUM(CASE WHEN usd_per_core_hour IS NULL THEN {{.Weight}} * {{.Value}} END), 0) AS unpriced_x
  FROM weighted
  WHERE measured > 0 AND w_wall IS NOT NULL AND start_ns >= from_ns AND start_ns < to_ns
  GROUP BY
    {{.Key ""}}, side, caller, instance,
    start_ns - MOD(start_ns, slot_length), {{.Cell}}, {{.Cell}}_ns
),
known AS (
  SELECT {{.Key ""}}, side, cell, cell_ns, caller, SUM(flow) AS flow
  FROM seen
  WHERE caller IS NOT NULL
  GROUP BY {{.Key ""}}, side, cell, cell_ns, caller
),
shares AS (
  SELECT *, flow / NULLIF(SUM(flow) OVER (PARTITION BY {{.Key ""}}, side, cell, cell_ns), 0) AS share
  FROM known
),
paid AS (
  SELECT {{.Service ""}}, version, side, name, instance, slot_ns, caller, n, x, usd, unpriced_x
  FROM seen
  WHERE caller IS NOT NULL
  UNION ALL
  SELECT
    {{.Service "u."}}, u.version, u.side, u.name, u.instance, u.slot_ns,
    s.caller,
    u.n * COALESCE(s.share, 1) AS n,
    u.x * COALESCE(s.share, 1) AS x,
    u.usd * COALESCE(s.share, 1) AS usd,
    u.unpriced_x * COALESCE(s.share, 1) AS unpriced_x
  FROM seen AS u
  LEFT JOIN shares AS s
    ON {{.Same "u" "s" "service_namespace" "service" "environment" "version" "class" "method" "side" "cell" "cell_ns"}}
  WHERE u.caller IS NULL
)
{{end}}

{{define "profile"}}
-- One row per method and version: its totals, and the sums over clusters that its standard
-- errors are made of. What a method paid its callees is taken off in the cluster
-- in which they ran. And one row per edge: what a method paid for one callee,
-- caller NULL where it is not known and can't be inferred.
{{template "measurements" .}},
entries AS (
  SELECT
    {{.Service ""}}, version, side, name, instance, slot_ns,
    1 AS own, class, method, first_signature, last_signature, records, n, x,
    CASE WHEN caller = name THEN 0 ELSE x END AS outer_x,
    CASE WHEN caller = name THEN 0 ELSE usd END AS outer_usd,
    x AS self_x, usd AS self_usd, unpriced_x AS self_unpriced_x, 0 AS orphan_x
  FROM seen
  UNION ALL
  SELECT
    {{.Service ""}}, version, side, caller AS name, instance, slot_ns,
    0 AS own, CAST(NULL AS {{.Text}}) AS class, CAST(NULL AS {{.Text}}) AS method, CAST(NULL AS {{.Text}}) AS first_signature, CAST(NULL AS {{.Text}}) AS last_signature, 0 AS records, 0 AS n, 0 AS x,
    0 AS outer_x, 0 AS outer_usd,
    -x AS self_x, -usd AS self_usd, -unpriced_x AS self_unpriced_x, 0 AS orphan_x
  FROM paid
  WHERE caller IS NOT NULL AND caller <> '(entry)'
  UNION ALL
  SELECT
    {{.Service ""}}, version, side, name, instance, slot_ns,
    0 AS own, CAST(NULL AS {{.Text}}) AS class, CAST(NULL AS {{.Text}}) AS method, CAST(NULL AS {{.Text}}) AS first_signature, CAST(NULL AS {{.Text}}) AS last_signature, 0 AS records, 0 AS n, 0 AS x,
    0 AS outer_x, 0 AS outer_usd,
    0 AS self_x, 0 AS self_usd, 0 AS self_unpriced_x, x AS orphan_x
  FROM paid
  WHERE caller IS NULL
),
clusters AS (
  SELECT
    {{.Service ""}}, version, side, name, instance, slot_ns,
    MAX(own) AS own, MAX(class) AS class, MAX(method) AS method,
    MIN(first_signature) AS first_signature, MAX(last_signature) AS last_signature,
    SUM(records) AS records, SUM(n) AS n, SUM(x) AS x,
    SUM(outer_x) AS outer_x, SUM(outer_usd) AS outer_usd,
    SUM(self_x) AS self_x, SUM(self_usd) AS self_usd, SUM(self_unpriced_x) AS self_unpriced_x,
    SUM(orphan_x) AS orphan_x
  FROM entries
  GROUP BY {{.Service ""}}, version, side, name, instance, slot_ns
)
SELECT
  'method' AS what, {{.Service ""}}, version, side, CAST(NULL AS {{.Text}}) AS caller, name,
  SUM(n) AS n, SUM(x) AS x,
  MAX(class) AS class, MAX(method) AS method,
  CASE WHEN MIN(first_signature) = MAX(last_signature) THEN MAX(last_signature) END AS signature,
  CAST(SUM(records) AS {{.Long}}) AS records,
  CAST(SUM(CASE WHEN n > 0 THEN 1 ELSE 0 END) AS {{.Long}}) AS clusters,
  SUM(self_x) AS self_x,
  SUM(outer_x) AS outer_x, SUM(outer_usd) AS outer_usd,
  SUM(self_usd) AS self_usd, SUM(self_unpriced_x) AS self_unpriced_x, SUM(orphan_x) AS orphan_x,
  SUM(n * n) AS nn, SUM(n * x) AS nx, SUM(x * x) AS xx,
  SUM(n * self_x) AS ns, SUM(self_x * self_x) AS ss
FROM clusters
GROUP BY {{.Service ""}}, version, side, name
HAVING MAX(own) = 1
UNION ALL
SELECT
  'edge' AS what, {{.Service ""}}, CAST(NULL AS {{.Text}}) AS version, side, caller, name,
  SUM(n) AS n, SUM(x) AS x,
  CAST(NULL AS {{.Text}}) AS class, CAST(NULL AS {{.Text}}) AS method, CAST(NULL AS {{.Text}}) AS signature,
  0 AS records, 0 AS clusters, 0 AS self_x, 0 AS outer_x, 0 AS outer_usd,
  0 AS self_usd, 0 AS self_unpriced_x, 0 AS orphan_x,
  0 AS nn, 0 AS nx, 0 AS xx, 0 AS ns, 0 AS ss
FROM paid
GROUP BY {{.Service ""}}, side, caller, name
ORDER BY {{.Service ""}}, side, name, caller, version
{{end}}
