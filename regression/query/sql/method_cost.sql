{{define "weighted"}}
{{- template "weights" .}},
weighted AS ({{template "weighted_rows" .}}
)
{{- end}}

{{define "weighted_rows"}}
  -- Rows with their weights.
  SELECT
    c.*, k.key_id,
    CASE WHEN {{.Kind "c." "call" "aggregate"}} AND c.measured > 0 AND c.cpu_measured > 0{{if .Every}} AND u.until_ns IS NULL{{end}} THEN {{template "cpu_factor" .}} / NULLIF(c.p * c.cpu_p, 0) END AS w,
    CASE WHEN {{.Kind "c." "call" "aggregate"}} AND c.measured > 0{{if .Every}} AND u.until_ns IS NULL{{end}} THEN {{template "wall_factor" .}} / NULLIF(c.p, 0) END AS w_wall,
    {{- template "cell_of_weight" .}}
  FROM {{if .Every}}{{.Source}}{{else}}measured{{end}} AS c
  LEFT JOIN {{.Weights}}keys AS k ON {{.SameKey "c" "k"}}
  LEFT JOIN {{.Weights}}factors AS a
    ON a.key_id = k.key_id
      AND a.hour_ns = CASE WHEN c.level = 'raw' THEN c.start_ns - MOD(c.start_ns, 3600000000000) + {{.Part "c."}} ELSE c.start_ns - MOD(c.start_ns, 86400000000000) END
  LEFT JOIN {{.Weights}}tight AS t
    ON t.key_id = CASE WHEN a.cell = 'minute' OR a.cell_wall = 'minute' THEN k.key_id END AND t.minute_ns = c.start_ns - MOD(c.start_ns, 60000000000) + {{.Part "c."}}
  {{- if .Every}}
  LEFT JOIN {{.Weights}}uncounted AS u ON {{template "is_pending" .}}
  {{- end}}
{{- end}}

{{define "method_cost"}}
WITH {{template "weighted" .}}
SELECT {{template "with_cost" .}}
FROM weighted{{.Within}}
{{end}}

{{define "with_cost"}}* {{.Except}} (key_id{{if .Parted}}, part{{end}}), w * cpu_ns * usd_per_core_hour / 3.6e12 AS cost_usd{{end}}

{{define "weighed"}}
-- Rows or sums of them, over their probabilities, with the factors that turn them into
-- estimates: cpu_factor for what is over p * cpu_p, wall_factor for what is over p.
{{- template "weights" .}},
weighed AS (
  SELECT
    c.*,
    CASE WHEN c.timed = 1 THEN {{template "cpu_factor" .}} END AS cpu_factor,
    CASE WHEN c.timed = 1 THEN {{template "wall_factor" .}} END AS wall_factor,
    {{- template "cell_of_weight" .}}
  FROM (
    {{- if .Summed}}
    SELECT
      key_id, name_id,{{if .GroupsBy "caller"}} holes,{{end}} {{range .GroupedBy}}{{.}}, {{end}}stratum, timed, 'raw' AS level, '' AS reason,
      minute_ns AS start_ns, hour_ns, minute_ns,
      calls, measured, cpu_measured, cpu_n, wall_n, x{{if .Errors}}, wall_x, both_x, errors, waits{{end}}
    FROM pieces
    {{- if .Timed}}
    WHERE timed = 1
    {{- end}}
    UNION ALL
    {{- else if not .Timed}}
    SELECT
      k.key_id, k.name_id{{if .GroupsBy "caller"}}, k.holes{{end}}{{.CountGroupColumns "r."}}, CAST(NULL AS {{.Text}}) AS stratum, 0 AS timed, 'raw' AS level, '' AS reason,
      r.hour_ns AS start_ns, r.hour_ns, CAST(NULL AS {{.Long}}) AS minute_ns,
      r.calls, CAST(0 AS {{.Double}}) AS measured, CAST(0 AS {{.Double}}) AS cpu_measured, CAST(NULL AS {{.Double}}) AS cpu_n, CAST(NULL AS {{.Double}}) AS wall_n, CAST(NULL AS {{.Double}}) AS x
      {{- if .Errors}}, CAST(NULL AS {{.Double}}) AS wall_x, CAST(NULL AS {{.Double}}) AS both_x, CAST(NULL AS {{.Double}}) AS errors, CAST(NULL AS {{.Double}}) AS waits{{end}}
    FROM tallies AS r
    JOIN keys AS k
      ON {{.SameKey "r" "k"}}
    UNION ALL
    {{- end}}
    SELECT
      k.key_id, k.name_id,{{if .GroupsBy "caller"}} k.holes,{{end}} {{range .GroupedBy}}r.{{.}}, {{end}}r.stratum, r.timed, r.level, r.reason,
      r.start_ns,
      {{- if .Summed}}
      r.start_ns - MOD(r.start_ns, 86400000000000) AS hour_ns, CAST(NULL AS {{.Long}}) AS minute_ns,
      {{- else}}
      CASE WHEN r.level = 'raw' THEN r.start_ns - MOD(r.start_ns, 3600000000000) + {{.Part "r."}} ELSE r.start_ns - MOD(r.start_ns, 86400000000000) END AS hour_ns,
      CASE WHEN r.level = 'raw' THEN r.start_ns - MOD(r.start_ns, 60000000000) + {{.Part "r."}} END AS minute_ns,
      {{- end}}
      r.calls, r.measured, r.cpu_measured, r.cpu_n, r.wall_n, r.x{{if .Errors}}, r.wall_x, r.both_x, r.errors, r.waits{{end}}
    FROM (
      {{- if not .Summed}}
      {{- template "records" .}}
      FROM measured AS c
      WHERE {{.Raw "c."}}{{if .Timed}} AND c.measured > 0 AND c.p <> 0{{end}}
      UNION ALL
      {{- end}}
      {{- template "records" .}}
      {{template "of_sums" .}}{{if .Timed}} AND {{.Kind "c." "call" "aggregate"}} AND c.measured > 0 AND c.p <> 0{{end}}
    ) AS r
    JOIN keys AS k
      ON {{.SameKey "r" "k"}}
  ) AS c
  LEFT JOIN factors AS a ON a.key_id = c.key_id AND a.hour_ns = c.hour_ns
  LEFT JOIN tight AS t ON t.key_id = c.key_id AND t.minute_ns = c.minute_ns
)
{{end}}

{{define "cpu_factor"}}{{.Clamp `(CASE WHEN c.stratum = 'tail' THEN 1 WHEN c.level = 'raw' OR c.reason LIKE 'rest/%' THEN COALESCE(t.cpu_factor, a.cpu_factor) ELSE COALESCE(a.cpu_scale, 1) END)` "factor"}}{{end}}

{{define "wall_factor"}}{{.Clamp `(CASE WHEN c.stratum = 'tail' THEN 1 WHEN c.level = 'raw' OR c.reason LIKE '%/rest' THEN COALESCE(t.wall_factor, a.wall_factor) ELSE COALESCE(a.wall_scale, 1) END)` "factor"}}{{end}}

{{define "cell_of_weight"}}
    CASE
      {{- if .Every}}
      WHEN u.until_ns IS NOT NULL THEN 'pending'
      {{- end}}
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
      {{- if .Every}}
      WHEN u.until_ns IS NOT NULL THEN 'pending'
      {{- end}}
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
{{- end}}
