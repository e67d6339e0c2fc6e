{{define "runs"}}
-- Stretches of time in which a version was seen without a hole of more than two
-- units, which are minutes where nobody says less: a living process of ours says so
-- every minute. A row of level hour stands for the time from its start to its end,
-- within the hour.
WITH units AS (
  SELECT
    {{.Service ""}}, version,
    start_ns - MOD(start_ns, {{.Param}}unit_ns) AS unit_start_ns,
    MAX(CASE WHEN level = 'hour' AND end_ns > start_ns
      THEN LEAST(end_ns - 1 - MOD(end_ns - 1, {{.Param}}unit_ns), start_ns - MOD(start_ns, 3600000000000) + 3600000000000 - {{.Param}}unit_ns)
      ELSE start_ns - MOD(start_ns, {{.Param}}unit_ns) END) AS until_unit_ns,
    MIN(start_ns) AS first_ns,
    MAX(end_ns) AS last_ns,
    MIN(process_start_ns) AS oldest_process_ns,
    SUM(CASE WHEN process_start_ns IS NULL THEN 1 ELSE 0 END) AS unknown_processes,
    SUM(CASE WHEN {{.Kind "" "call" "aggregate"}} THEN CAST(measured AS {{.Double}}) ELSE 0 END) AS measured,
    SUM(CASE WHEN {{.Kind "" "call" "aggregate"}} THEN CAST(cpu_measured AS {{.Double}}) ELSE 0 END) AS cpu_measured,
    SUM(CASE WHEN weight_basis = 'assumed' THEN CAST(measured AS {{.Double}}) ELSE 0 END) AS assumed,
    MAX(CASE WHEN price_source LIKE 'list %' THEN 1 ELSE 0 END) AS listed,
    MAX(revision) AS revision,
    SUM(calls) AS calls
  FROM {{.Calls}}
  WHERE start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns
    {{.Only ""}}
  GROUP BY {{.Service ""}}, version, start_ns - MOD(start_ns, {{.Param}}unit_ns)
),
marked AS (
  SELECT
    *,
    CASE WHEN unit_start_ns - MAX(until_unit_ns) OVER before <= 3 * {{.Param}}unit_ns THEN 0 ELSE 1 END AS starts
  FROM units
  WINDOW before AS (
    PARTITION BY {{.Service ""}}, version ORDER BY unit_start_ns
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
),
numbered AS (
  SELECT *, SUM(starts) OVER (PARTITION BY {{.Service ""}}, version ORDER BY unit_start_ns) AS run
  FROM marked
)
SELECT
  {{.Service ""}}, version,
  MIN(first_ns) AS first_ns,
  MAX(last_ns) AS last_ns,
  MAX(until_unit_ns) + {{.Param}}unit_ns AS until_ns,
  MIN(oldest_process_ns) AS oldest_process_ns,
  CAST(SUM(unknown_processes) AS {{.Long}}) AS unknown_processes,
  {{.Total `measured`}} AS measured,
  {{.Total `cpu_measured`}} AS cpu_measured,
  {{.Total `assumed`}} AS assumed,
  CAST(MAX(listed) AS {{.Long}}) AS listed,
  MAX(revision) AS revision,
  SUM(calls) AS calls
FROM numbered
GROUP BY {{.Service ""}}, version, run
ORDER BY first_ns, version, {{.Service ""}}
{{end}}
