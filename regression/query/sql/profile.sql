{{define "profile"}}
-- One row per method and version: its totals, and the sums over clusters that its standard
-- errors are made of. What a method paid its callees is taken off in the cluster
-- in which they ran. And one row per edge: what a method paid for one callee,
-- caller NULL where it is not known and can't be inferred.
--
-- Methods go by number until the end: their names are long, and grouping and joining
-- by six of them was half of the work.
WITH {{if .WarmUp -}}
unknown_starts AS {{.Stored}} (
  -- Where a process does not say when it started, its first row in the window does.
  SELECT {{.Service "c."}}, t.side, c.instance, MIN(c.start_ns) AS start_ns
  FROM {{.Calls}} AS c
  JOIN {{.Given "compared"}} AS t
    ON t.version = c.version AND {{.Same "t" "c" "service_namespace" "service" "environment"}}
  WHERE c.process_start_ns IS NULL AND c.start_ns >= t.from_ns AND c.start_ns < t.to_ns {{.Only "c."}}
  GROUP BY {{.Service "c."}}, t.side, c.instance
),
{{end -}}
scoped AS {{.Inline}} (
  SELECT
    c.*,
    {{- if .Sides}}
    t.side, CASE WHEN c.start_ns >= t.from_ns AND c.start_ns < t.to_ns{{if .WarmUp}} AND c.start_ns - {{.Param}}warm_up_ns >= COALESCE(c.process_start_ns, u.start_ns){{end}} THEN c.start_ns - MOD(c.start_ns, t.slot_ns) END AS slot_ns
    {{- else}}
    CASE WHEN c.start_ns >= {{.Param}}from_ns AND c.start_ns < {{.Param}}to_ns THEN c.start_ns - MOD(c.start_ns, {{.Param}}slot_ns) END AS slot_ns
    {{- end}}
  FROM {{.Rows}} AS c
  {{- if .Sides}}
  JOIN {{.Given "compared"}} AS t
    ON t.version = c.version AND {{.Same "t" "c" "service_namespace" "service" "environment"}}
  {{- end}}
  {{- if .WarmUp}}
  LEFT JOIN unknown_starts AS u
    ON u.side = t.side AND {{.Same "u" "c" "service_namespace" "service" "environment" "instance"}}
  {{- end}}
  WHERE true {{.Only "c."}}
),
{{if .Sides -}}
{{template "weighed" ((.From "scoped").OnlyTimed).GroupBy "side" "instance" "slot_ns" "caller" "signature" "usd_per_core_hour"}},
{{- else -}}
{{template "weighed" ((.From "scoped").OnlyTimed).GroupBy "instance" "slot_ns" "caller" "signature" "usd_per_core_hour"}},
{{- end}}
seen AS {{.Stored}} (
  -- What was measured in the window. Cells matter only where the caller of some of a
  -- method's measurements is not known. Sums by hour need no adding up: there are hardly
  -- fewer clusters and callers.
  SELECT
    key_id, name_id, {{if .Sides}}side{{else}}0 AS side{{end}}, caller, instance, slot_ns,
    CASE WHEN holes = 1 THEN {{.Cell}} ELSE '' END AS cell,
    CASE WHEN holes = 1 THEN {{.Cell}}_ns ELSE 0 END AS cell_ns,
    {{- if .ByHour}}
    COALESCE(signature, '') AS first_signature, COALESCE(signature, '') AS last_signature,
    wall_factor * wall_n AS flow,
    {{.Measured}} AS records,
    COALESCE({{.Factor}} * {{.Sum}}, 0) AS n,
    COALESCE({{.Factor}} * x, 0) AS x,
    COALESCE({{.Factor}} * x * usd_per_core_hour / 3.6e12, 0) AS usd,
    COALESCE(CASE WHEN usd_per_core_hour IS NULL THEN {{.Factor}} * x END, 0) AS unpriced_x
    {{- else}}
    MIN(COALESCE(signature, '')) AS first_signature, MAX(COALESCE(signature, '')) AS last_signature,
    SUM(wall_factor * wall_n) AS flow,
    SUM({{.Measured}}) AS records,
    COALESCE(SUM({{.Factor}} * {{.Sum}}), 0) AS n,
    COALESCE(SUM({{.Factor}} * x), 0) AS x,
    COALESCE(SUM({{.Factor}} * x * usd_per_core_hour / 3.6e12), 0) AS usd,
    COALESCE(SUM(CASE WHEN usd_per_core_hour IS NULL THEN {{.Factor}} * x END), 0) AS unpriced_x
    {{- end}}
  FROM weighed
  WHERE wall_factor IS NOT NULL AND slot_ns IS NOT NULL
  {{- if not .ByHour}}
  GROUP BY
    key_id, name_id, {{if .Sides}}side, {{end}}caller, instance, slot_ns,
    CASE WHEN holes = 1 THEN {{.Cell}} ELSE '' END,
    CASE WHEN holes = 1 THEN {{.Cell}}_ns ELSE 0 END
  {{- end}}
),
known AS (
  SELECT key_id, side, cell, cell_ns, caller, SUM(flow) AS flow
  FROM seen
  WHERE caller IS NOT NULL
  GROUP BY key_id, side, cell, cell_ns, caller
),
shares AS (
  SELECT *, {{.Clamp `flow / NULLIF(SUM(flow) OVER (PARTITION BY key_id, side, cell, cell_ns), 0)` "share"}} AS share
  FROM known
),
paid AS {{.Inline}} (
  -- The rows whose caller is unknown are shared out among the callers that are known
  -- in their weight cell.
  SELECT name_id, side, instance, slot_ns, caller, n, x, usd, unpriced_x
  FROM seen
  WHERE caller IS NOT NULL
  UNION ALL
  SELECT
    u.name_id, u.side, u.instance, u.slot_ns,
    s.caller,
    u.n * COALESCE(s.share, 1) AS n,
    u.x * COALESCE(s.share, 1) AS x,
    u.usd * COALESCE(s.share, 1) AS usd,
    u.unpriced_x * COALESCE(s.share, 1) AS unpriced_x
  FROM seen AS u
  LEFT JOIN shares AS s
    ON u.side = s.side AND {{.Same "u" "s" "key_id" "cell" "cell_ns"}}
  WHERE u.caller IS NULL
),
edges AS (
  SELECT name_id, side, caller, SUM(n) AS n, SUM(x) AS x, SUM(usd) AS usd, SUM(unpriced_x) AS unpriced_x
  FROM paid
  GROUP BY name_id, side, caller
),
names AS (
  SELECT {{.Service ""}}, version, name, name_id, MAX(class) AS class, MAX(method) AS method
  FROM keys
  GROUP BY {{.Service ""}}, version, name, name_id
),
callers AS (
  -- Which method of ours a caller is, if it is one.
  SELECT c.name_id, c.caller, o.name_id AS caller_id
  FROM (SELECT DISTINCT name_id, caller FROM edges WHERE caller IS NOT NULL) AS c
  JOIN names AS e ON e.name_id = c.name_id
  JOIN names AS o ON o.name = c.caller AND {{.Same "e" "o" "service_namespace" "service" "environment" "version"}}
),
clusters AS (
  -- What standard errors are made of; nothing else needs to know clusters.
  SELECT name_id, side, instance, slot_ns, SUM(n) AS n, SUM(x) AS x, SUM(self_x) AS self_x
  FROM (
    SELECT name_id, side, instance, slot_ns, n, x, x AS self_x
    FROM seen
    UNION ALL
    SELECT c.caller_id AS name_id, p.side, p.instance, p.slot_ns, 0 AS n, 0 AS x, -p.x AS self_x
    FROM paid AS p
    JOIN callers AS c ON c.name_id = p.name_id AND c.caller = p.caller
    WHERE p.caller <> '(entry)'
  )
  GROUP BY name_id, side, instance, slot_ns
),
spread AS (
  SELECT
    name_id, side,
    CAST(SUM(CASE WHEN n > 0 THEN 1 ELSE 0 END) AS {{.Long}}) AS clusters,
    SUM(n * n) AS nn, SUM(n * x) AS nx, SUM(x * x) AS xx,
    SUM(n * self_x) AS ns, SUM(self_x * self_x) AS ss
  FROM clusters
  GROUP BY name_id, side
),
called AS (
  SELECT
    name_id, side, caller,
    MIN(first_signature) AS first_signature, MAX(last_signature) AS last_signature,
    SUM(records) AS records, SUM(n) AS n, SUM(x) AS x, SUM(usd) AS usd, SUM(unpriced_x) AS unpriced_x
  FROM seen
  GROUP BY name_id, side, caller
),
entries AS (
  SELECT
    s.name_id, s.side,
    1 AS own, s.first_signature, s.last_signature, s.records, s.n, s.x,
    CASE WHEN c.caller_id = s.name_id THEN 0 ELSE s.x END AS outer_x,
    CASE WHEN c.caller_id = s.name_id THEN 0 ELSE s.usd END AS outer_usd,
    s.x AS self_x, s.usd AS self_usd, s.unpriced_x AS self_unpriced_x, 0 AS orphan_x
  FROM called AS s
  LEFT JOIN callers AS c ON c.name_id = s.name_id AND c.caller = s.caller
  UNION ALL
  SELECT
    c.caller_id AS name_id, p.side,
    0 AS own, CAST(NULL AS {{.Text}}) AS first_signature, CAST(NULL AS {{.Text}}) AS last_signature, 0 AS records, 0 AS n, 0 AS x,
    0 AS outer_x, 0 AS outer_usd,
    -p.x AS self_x, -p.usd AS self_usd, -p.unpriced_x AS self_unpriced_x, 0 AS orphan_x
  FROM edges AS p
  JOIN callers AS c ON c.name_id = p.name_id AND c.caller = p.caller
  WHERE p.caller <> '(entry)'
  UNION ALL
  SELECT
    name_id, side,
    0 AS own, CAST(NULL AS {{.Text}}) AS first_signature, CAST(NULL AS {{.Text}}) AS last_signature, 0 AS records, 0 AS n, 0 AS x,
    0 AS outer_x, 0 AS outer_usd,
    0 AS self_x, 0 AS self_usd, 0 AS self_unpriced_x, x AS orphan_x
  FROM edges
  WHERE caller IS NULL
),
totals AS (
  SELECT
    name_id, side,
    SUM(n) AS n, SUM(x) AS x,
    CASE WHEN MIN(first_signature) = MAX(last_signature) THEN MAX(last_signature) END AS signature,
    {{.Total `records`}} AS records,
    SUM(self_x) AS self_x,
    SUM(outer_x) AS outer_x, SUM(outer_usd) AS outer_usd,
    SUM(self_usd) AS self_usd, SUM(self_unpriced_x) AS self_unpriced_x, SUM(orphan_x) AS orphan_x
  FROM entries
  GROUP BY name_id, side
  HAVING MAX(own) = 1
)
SELECT
  'method' AS what, {{.Service "e."}}, e.version, {{if .Sides}}t.side{{else}}'all' AS side{{end}}, CAST(NULL AS {{.Text}}) AS caller, e.name,
  t.n, t.x, e.class, e.method, t.signature, t.records, s.clusters, t.self_x,
  t.outer_x, t.outer_usd, t.self_usd, t.self_unpriced_x, t.orphan_x,
  s.nn, s.nx, s.xx, s.ns, s.ss
FROM totals AS t
JOIN spread AS s ON s.name_id = t.name_id AND s.side = t.side
JOIN names AS e ON e.name_id = t.name_id
UNION ALL
SELECT
  'edge' AS what, {{.Service "e."}}, CAST(NULL AS {{.Text}}) AS version, {{if .Sides}}p.side{{else}}'all' AS side{{end}}, p.caller, e.name,
  SUM(p.n) AS n, SUM(p.x) AS x,
  CAST(NULL AS {{.Text}}) AS class, CAST(NULL AS {{.Text}}) AS method, CAST(NULL AS {{.Text}}) AS signature,
  0 AS records, 0 AS clusters, 0 AS self_x, 0 AS outer_x, 0 AS outer_usd,
  0 AS self_usd, 0 AS self_unpriced_x, 0 AS orphan_x,
  0 AS nn, 0 AS nx, 0 AS xx, 0 AS ns, 0 AS ss
FROM edges AS p
JOIN names AS e ON e.name_id = p.name_id
GROUP BY {{.Service "e."}}, p.side, p.caller, e.name
ORDER BY {{.Service ""}}, side, name, caller, version
{{end}}
