-- The SDK's own counters of every process, as of its last process row.
WITH last_beats AS (
  -- The last process row of every process of ours.
  SELECT service_namespace, service, environment, version, instance, process_start_ns, start_ns, end_ns, final, sdk_stats
  FROM (
    SELECT
      service_namespace, service, environment, version, instance, process_start_ns, start_ns, end_ns, final, sdk_stats,
      ROW_NUMBER() OVER (
        PARTITION BY service_namespace, service, environment, version, instance, process_start_ns ORDER BY calls_total DESC, end_ns DESC
      ) AS place
    FROM method_calls
    WHERE CASE kind WHEN 'process' THEN TRUE ELSE FALSE END AND weight_basis = 'exact' AND level = 'raw' AND start_ns >= @raw_from_ns
      AND end_ns <= @read_to_ns
       AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
  )
  WHERE place = 1
)
SELECT service_namespace, service, environment, version, sdk_stats
FROM last_beats
WHERE end_ns >= @from_ns AND start_ns < @to_ns
ORDER BY service_namespace, service, environment, version, instance, process_start_ns
