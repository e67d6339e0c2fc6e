-- Which hosts ran where and at which price, those that used most first: by the rows of
-- processes, and of SDKs that send none by those of calls.
SELECT
  cloud_provider, region, host_type, capacity_type, COALESCE(host, host_id) AS host, price_source, usd_per_core_hour,
  CAST(COUNT(*) AS INT64) AS row_count,
  COALESCE(SUM(CASE WHEN CASE kind WHEN 'process' THEN TRUE ELSE FALSE END THEN CAST(cpu_ns AS FLOAT64) END), 0) AS cpu_ns
FROM method_calls
WHERE (CASE kind WHEN 'process' THEN TRUE ELSE FALSE END OR weight_basis <> 'exact') AND start_ns >= @from_ns AND start_ns < @to_ns
   AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
GROUP BY cloud_provider, region, host_type, capacity_type, COALESCE(host, host_id), price_source, usd_per_core_hour
ORDER BY cpu_ns DESC, row_count DESC, cloud_provider, region, host_type, capacity_type, host, price_source
LIMIT 20000
