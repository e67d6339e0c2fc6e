{{define "sampling"}}
-- How the calls of each method and version were sampled, as raw rows say it, and how
-- many there were. The records stand for so many calls as their probabilities say;
-- those of the tail are kept for being long and are told apart.
WITH marked AS (
  SELECT
    *,
    CASE WHEN level = 'raw' AND measured > 0 AND p > 0 AND COALESCE(stratum, '') <> 'tail' THEN CAST(measured AS {{.Double}}) END AS drawn,
    CASE WHEN level = 'raw' AND cpu_measured > 0 AND p > 0 AND cpu_p > 0 AND COALESCE(stratum, '') <> 'tail' THEN CAST(cpu_measured AS {{.Double}}) END AS cpu_drawn
  FROM {{.Calls}}
  WHERE {{.Kind "" "call" "counts" "aggregate"}} AND start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns
    {{.Only ""}}
)
SELECT
  {{.Key ""}}, MAX(signature) AS signature, MAX(revision) AS revision,
  MIN(start_ns) AS first_ns, MAX(end_ns) AS last_ns,
  SUM(calls) AS calls,
  SUM(CASE WHEN weight_basis <> 'exact' AND p > 0 AND p < 1 THEN calls * (1 - p) / NULLIF(p, 0) ELSE 0 END) AS variance,
  {{.Total `measured`}} AS measured, {{.Total `COALESCE(cpu_measured, 0)`}} AS cpu_measured,
  {{.Total `CASE WHEN stratum = 'tail' THEN measured ELSE 0 END`}} AS tail,
  SUM(drawn) / NULLIF(SUM(drawn / NULLIF(p, 0)), 0) AS p,
  MIN(CASE WHEN drawn > 0 THEN p END) AS lowest_p, MAX(CASE WHEN drawn > 0 THEN p END) AS highest_p,
  SUM(cpu_drawn) / NULLIF(SUM(cpu_drawn / NULLIF(p * cpu_p, 0)), 0) AS cpu_p,
  MAX(configured_rate) AS configured_rate,
  MAX(CASE WHEN weight_basis = 'assumed' THEN 1 ELSE 0 END) AS by_assumed,
  MAX(CASE WHEN weight_basis = 'configured' THEN 1 ELSE 0 END) AS by_configured,
  MAX(CASE WHEN weight_basis = 'estimated' THEN 1 ELSE 0 END) AS by_estimated,
  MAX(CASE WHEN weight_basis = 'exact' THEN 1 ELSE 0 END) AS by_exact,
  MAX(CASE WHEN weight_basis = 'inherited' THEN 1 ELSE 0 END) AS by_inherited,
  MAX(CASE WHEN weight_basis = 'legacy' THEN 1 ELSE 0 END) AS by_legacy,
  MAX(CASE WHEN weight_basis = 'served' THEN 1 ELSE 0 END) AS by_served,
  MAX(CASE WHEN weight_basis = 'threshold' THEN 1 ELSE 0 END) AS by_threshold,
  MAX(tier) AS tier
FROM marked
GROUP BY {{.Key ""}}
ORDER BY {{.Key ""}}
{{end}}

{{define "assumed"}}
-- Calls of methods and versions by spans of which nothing says how they were sampled, and
-- the variance of the calls that sampled spans of other SDKs stand for.
SELECT
  {{.Key ""}},
  SUM(CASE WHEN weight_basis = 'assumed' THEN calls ELSE 0 END) AS calls,
  SUM(CASE WHEN p > 0 AND p < 1 THEN calls * (1 - p) / NULLIF(p, 0) ELSE 0 END) AS variance
FROM {{.Calls}}
WHERE weight_basis <> 'exact' AND start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns
  {{.Only ""}}
GROUP BY {{.Key ""}}
ORDER BY {{.Key ""}}
{{end}}

{{define "merged"}}
-- Services with spans of which it is not known which process sent them: no name, or one that
-- the receiver says several may have.
SELECT {{.Service ""}}
FROM {{.Calls}}
WHERE weight_basis <> 'exact' AND (instance IS NULL OR instance LIKE '~%')
  AND start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns
  {{.Only ""}}
GROUP BY {{.Service ""}}
ORDER BY {{.Service ""}}
{{end}}
