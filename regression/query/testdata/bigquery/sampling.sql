-- How the calls of each method and version were sampled, as raw rows say it, and how
-- many there were. The records stand for so many calls as their probabilities say;
-- those of the tail are kept for being long and are told apart.
WITH marked AS (
  SELECT
    *,
    CASE WHEN level = 'raw' AND measured > 0 AND p > 0 AND COALESCE(stratum, '') <> 'tail' THEN measured END AS drawn,
    CASE WHEN level = 'raw' AND cpu_measured > 0 AND p > 0 AND cpu_p > 0 AND COALESCE(stratum, '') <> 'tail' THEN cpu_measured END AS cpu_drawn
  FROM method_calls
  WHERE CASE kind WHEN 'call' THEN TRUE WHEN 'counts' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND start_ns >= @from_ns AND start_ns < @to_ns
     AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
)
SELECT
  service_namespace, service, environment, version, class, method, MAX(signature) AS signature, MAX(revision) AS revision,
  MIN(start_ns) AS first_ns, MAX(end_ns) AS last_ns,
  SUM(calls) AS calls,
  CAST(LEAST(SUM(CAST(measured AS FLOAT64)), 9e18) AS INT64) AS measured, CAST(LEAST(SUM(CAST(COALESCE(cpu_measured, 0) AS FLOAT64)), 9e18) AS INT64) AS cpu_measured,
  CAST(LEAST(SUM(CAST(CASE WHEN stratum = 'tail' THEN measured ELSE 0 END AS FLOAT64)), 9e18) AS INT64) AS tail,
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
GROUP BY service_namespace, service, environment, version, class, method
ORDER BY service_namespace, service, environment, version, class, method
