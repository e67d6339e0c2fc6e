-- What is stored of each service.
SELECT
  service_namespace, service, environment,
  CAST(COUNT(*) AS INT64) AS row_count,
  CAST(SUM(CASE WHEN weight_basis <> 'exact' THEN 1 ELSE 0 END) AS INT64) AS foreign_rows,
  SUM(CASE WHEN weight_basis <> 'exact' THEN calls ELSE 0 END) AS foreign_calls,
  SUM(CASE WHEN weight_basis = 'assumed' THEN calls ELSE 0 END) AS assumed_calls,
  CAST(SUM(CASE WHEN CASE kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END THEN 1 ELSE 0 END) AS INT64) AS measurement_rows,
  CAST(SUM(CASE WHEN CASE kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND usd_per_core_hour IS NULL THEN 1 ELSE 0 END) AS INT64) AS unpriced_rows,
  CAST(SUM(CASE WHEN version IS NULL THEN 1 ELSE 0 END) AS INT64) AS versionless_rows,
  CAST(COUNT(DISTINCT CASE WHEN batch_id LIKE '%.%' THEN batch_id END) AS INT64) AS conflicting_batches,
  MIN(start_ns) AS first_ns, MAX(end_ns) AS last_ns
FROM method_calls
WHERE start_ns >= @from_ns AND start_ns < @to_ns
   AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
GROUP BY service_namespace, service, environment
ORDER BY service_namespace, service, environment
