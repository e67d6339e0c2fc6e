{{define "methods"}}
-- Calls and wall time of every method, measured or not.
WITH scoped AS {{.Inline}} (
  SELECT *
  FROM method_calls
  WHERE kind IN ('call', 'counts', 'aggregate')
    {{.Only ""}}
),
weighted AS ({{template "method_cost" .From "scoped"}})
SELECT
  {{.Service ""}}, class, method,
  CASE WHEN MIN(signature) = MAX(signature) THEN MAX(signature) END AS signature,
  SUM(calls) AS calls,
  SUM(CASE WHEN cell_wall = 'none' THEN calls - COALESCE(w_wall * measured, 0) ELSE 0 END) AS unmeasured_calls,
  CAST(SUM(measured) AS {{.Long}}) AS measured,
  CAST(SUM(cpu_measured) AS {{.Long}}) AS cpu_measured,
  COALESCE(SUM(w_wall * measured), 0) AS wall_n,
  COALESCE(SUM(w_wall * wall_ns), 0) AS wall_x,
  COALESCE(SUM(w_wall * errors), 0) AS errors
FROM weighted
WHERE start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns
GROUP BY {{.Service ""}}, class, method
ORDER BY {{.Service ""}}, class, method
{{end}}

{{define "processes_cpu"}}
-- The CPU time of the processes themselves.
SELECT
  {{.Service ""}},
  MIN(start_ns) AS first_ns, MAX(end_ns) AS last_ns,
  CAST(SUM(CASE WHEN kind = 'process' THEN cpu_measured ELSE 0 END) AS {{.Long}}) AS intervals,
  SUM(CASE WHEN kind = 'process' AND cpu_measured > 0 THEN CAST(cpu_ns AS {{.Double}}) END) AS cpu_ns,
  SUM(CASE WHEN kind = 'process' AND cpu_measured > 0 THEN cpu_ns * usd_per_core_hour / 3.6e12 END) AS usd,
  SUM(CASE WHEN kind = 'process' AND cpu_measured > 0 AND usd_per_core_hour IS NULL THEN CAST(cpu_ns AS {{.Double}}) END) AS unpriced_ns
FROM method_calls
WHERE start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns
  {{.Only ""}}
GROUP BY {{.Service ""}}
ORDER BY {{.Service ""}}
{{end}}

{{define "services"}}
SELECT DISTINCT {{.Service ""}}
FROM method_calls
WHERE kind IS NOT NULL
  {{.Only ""}}
ORDER BY {{.Service ""}}
{{end}}
