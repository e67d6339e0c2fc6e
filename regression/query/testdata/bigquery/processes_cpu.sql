-- The CPU time of the processes themselves.
SELECT
  service_namespace, service, environment,
  MIN(start_ns) AS first_ns, MAX(end_ns) AS last_ns,
  CAST(SUM(CASE WHEN kind = 'process' THEN cpu_measured ELSE 0 END) AS INT64) AS intervals,
  SUM(CASE WHEN kind = 'process' AND cpu_measured > 0 THEN CAST(cpu_ns AS FLOAT64) END) AS cpu_ns,
  SUM(CASE WHEN kind = 'process' AND cpu_measured > 0 THEN cpu_ns * usd_per_core_hour / 3.6e12 END) AS usd,
  SUM(CASE WHEN kind = 'process' AND cpu_measured > 0 AND usd_per_core_hour IS NULL THEN CAST(cpu_ns AS FLOAT64) END) AS unpriced_ns
FROM method_calls
WHERE start_ns >= @from_ns AND start_ns < @to_ns
   AND event_date BETWEEN @from_date AND @to_date AND service = @service AND environment = @environment
GROUP BY service_namespace, service, environment
ORDER BY service_namespace, service, environment
