-- From when to when rows say what was spent, by service: counts and process rows up to their
-- end, and calls that bear their own counts, as those of other SDKs.
SELECT
  service_namespace, service, environment,
  MIN(start_ns) AS first_ns,
  MAX(CASE WHEN CASE kind WHEN 'counts' THEN TRUE WHEN 'process' THEN TRUE ELSE FALSE END OR calls > 0 THEN end_ns END) AS counted_ns,
  MAX(CASE WHEN weight_basis = 'assumed' AND start_ns >= @from_ns THEN 1 ELSE 0 END) AS assumed,
  MAX(CASE WHEN weight_basis <> 'exact' AND start_ns >= @from_ns THEN 1 ELSE 0 END) AS others
FROM method_calls
WHERE start_ns < @to_ns
   AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
GROUP BY service_namespace, service, environment
ORDER BY service_namespace, service, environment
