-- The account of every process of ours: what it says it has handed out, and what
-- is stored of it. Dates that were rolled up keep no account of processes. An
-- account that begins or ends within the life of its process does so at a beat.
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
),
summed AS (
  -- Methods are added up first: windows over every counts row take time and memory.
  SELECT
    service_namespace, service, environment, version, instance, process_start_ns, kind, start_ns, end_ns,
    COUNT(*) AS row_count, SUM(calls) AS calls, MIN(calls_total) AS lowest_total, MAX(calls_total) AS highest_total
  FROM method_calls
  WHERE CASE kind WHEN 'process' THEN TRUE WHEN 'counts' THEN TRUE ELSE FALSE END AND weight_basis = 'exact' AND level = 'raw' AND start_ns >= @raw_from_ns
    AND end_ns <= @read_to_ns
     AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
  GROUP BY service_namespace, service, environment, version, instance, process_start_ns, kind, start_ns, end_ns
),
own AS (
  SELECT
    *,
    MIN(CASE WHEN kind = 'process' THEN end_ns END) OVER one_process AS first_beat_ns,
    MAX(CASE WHEN kind = 'process' THEN end_ns END) OVER one_process AS last_beat_ns
  FROM summed
  WINDOW one_process AS (PARTITION BY service_namespace, service, environment, version, instance, process_start_ns)
),
accounts AS (
  SELECT
    service_namespace, service, environment, version, instance, process_start_ns,
    MIN(start_ns) AS first_ns, MAX(end_ns) AS last_ns,
    SUM(CASE WHEN kind = 'process' THEN row_count ELSE 0 END) AS beats,
    MAX(CASE WHEN kind = 'process' THEN end_ns - start_ns END) AS interval_ns,
    MIN(CASE WHEN kind = 'process' THEN lowest_total END) AS first_total,
    MAX(CASE WHEN kind = 'process' THEN highest_total END) AS last_total,
    SUM(CASE WHEN kind = 'counts' THEN calls ELSE 0 END) AS counted,
    SUM(CASE WHEN kind = 'counts' AND start_ns >= first_beat_ns THEN calls ELSE 0 END) AS counted_later,
    SUM(CASE WHEN kind = 'counts' AND start_ns >= last_beat_ns THEN calls ELSE 0 END) AS counted_after
  FROM own
  GROUP BY service_namespace, service, environment, version, instance, process_start_ns
)
SELECT
  a.service_namespace, a.service, a.environment, a.version, a.instance, a.process_start_ns,
  a.first_ns, a.last_ns,
  CAST(a.beats AS INT64) AS beats, a.interval_ns, a.first_total, a.last_total, a.counted, a.counted_later, a.counted_after,
  b.final, b.sdk_stats
FROM accounts AS a
LEFT JOIN last_beats AS b
  ON COALESCE(a.service_namespace, '') = COALESCE(b.service_namespace, '') AND COALESCE(a.service, '') = COALESCE(b.service, '') AND COALESCE(a.environment, '') = COALESCE(b.environment, '') AND COALESCE(a.version, '') = COALESCE(b.version, '') AND COALESCE(a.instance, '') = COALESCE(b.instance, '') AND COALESCE(a.process_start_ns, 0) = COALESCE(b.process_start_ns, 0)
WHERE a.last_ns >= @from_ns AND a.first_ns < @to_ns
ORDER BY a.service_namespace, a.service, a.environment, a.version, a.first_ns, a.instance
