-- The account of every process of ours: what it says it has handed out, and what
-- is stored of it. Dates that were rolled up keep no account of processes. An
-- account that begins or ends within the life of its process does so at a beat.
WITH last_beats AS (
  -- The last process row of every process of ours, and what all of them say of it.
  SELECT * EXCEPT (place)
  FROM (
    SELECT
      service_namespace, service, environment, version, instance, process_start_ns, end_ns, final, sdk_stats,
      MIN(start_ns) OVER one_process AS first_ns, MIN(end_ns) OVER one_process AS first_beat_ns, MAX(end_ns) OVER one_process AS last_beat_ns,
      COUNT(*) OVER one_process AS beats, MAX(end_ns - start_ns) OVER one_process AS interval_ns,
      MIN(calls_total) OVER one_process AS first_total, MAX(calls_total) OVER one_process AS last_total,
      ROW_NUMBER() OVER (
        PARTITION BY service_namespace, service, environment, version, instance, process_start_ns ORDER BY calls_total DESC, end_ns DESC
      ) AS place
    FROM (SELECT * REPLACE (CASE WHEN start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN start_ns END AS start_ns, CASE WHEN end_ns BETWEEN start_ns AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN end_ns ELSE start_ns END AS end_ns, CASE WHEN process_start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN process_start_ns END AS process_start_ns, CASE WHEN measured BETWEEN 0 AND 9007199254740992 THEN measured ELSE 0 END AS measured, CASE WHEN cpu_measured BETWEEN 0 AND 9007199254740992 THEN cpu_measured ELSE 0 END AS cpu_measured, CASE WHEN calls BETWEEN 1e-09 AND 1152921504606846976 THEN calls ELSE 0 END AS calls, CASE WHEN errors BETWEEN 0 AND 1152921504606846976 THEN errors ELSE 0 END AS errors, CASE WHEN wall_ns BETWEEN 0 AND 1152921504606846976 THEN wall_ns ELSE NULL END AS wall_ns, CASE WHEN cpu_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_ns ELSE NULL END AS cpu_ns, CASE WHEN p BETWEEN 1e-18 AND 1 THEN p ELSE NULL END AS p, CASE WHEN cpu_p BETWEEN 1e-18 AND 1000000000000000000 THEN cpu_p ELSE NULL END AS cpu_p, CASE WHEN usd_per_core_hour BETWEEN 0 AND 1048576 THEN usd_per_core_hour ELSE NULL END AS usd_per_core_hour, CASE WHEN rss_bytes BETWEEN 0 AND 1152921504606846976 THEN rss_bytes ELSE NULL END AS rss_bytes, CASE WHEN calls_total BETWEEN 0 AND 9007199254740992 THEN calls_total ELSE NULL END AS calls_total, CASE WHEN wall_max_ns BETWEEN 0 AND 1152921504606846976 THEN wall_max_ns ELSE NULL END AS wall_max_ns, CASE WHEN cpu_max_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_max_ns ELSE NULL END AS cpu_max_ns, CASE WHEN wall_sq BETWEEN 0 AND 1e+36 THEN wall_sq ELSE NULL END AS wall_sq, CASE WHEN cpu_sq BETWEEN 0 AND 1e+36 THEN cpu_sq ELSE NULL END AS cpu_sq, CASE WHEN cpu_waits BETWEEN 0 AND 1152921504606846976 THEN cpu_waits ELSE NULL END AS cpu_waits, CASE WHEN cores BETWEEN 0 AND 65536 THEN cores ELSE NULL END AS cores, CASE WHEN host_cores BETWEEN 0 AND 65536 THEN host_cores ELSE NULL END AS host_cores, CASE WHEN cpu_limit BETWEEN 0 AND 65536 THEN cpu_limit ELSE NULL END AS cpu_limit, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(wall_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN wall_hist END AS wall_hist, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(cpu_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN cpu_hist END AS cpu_hist) FROM method_calls WHERE event_date BETWEEN @from_date AND @to_date)
    WHERE kind = 'process' AND weight_basis = 'exact' AND level = 'raw' AND start_ns >= @raw_from_ns
      AND end_ns <= @read_to_ns
       AND service_namespace = @service_namespace AND service = @service AND environment = @environment
    WINDOW one_process AS (PARTITION BY service_namespace, service, environment, version, instance, process_start_ns)
  )
  WHERE place = 1
),
counted AS (
  -- Methods are added up first: a join of every counts row takes time.
  SELECT service_namespace, service, environment, version, instance, process_start_ns, start_ns, MAX(end_ns) AS end_ns, SUM(calls) AS calls
  FROM (SELECT * REPLACE (CASE WHEN start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN start_ns END AS start_ns, CASE WHEN end_ns BETWEEN start_ns AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN end_ns ELSE start_ns END AS end_ns, CASE WHEN process_start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN process_start_ns END AS process_start_ns, CASE WHEN measured BETWEEN 0 AND 9007199254740992 THEN measured ELSE 0 END AS measured, CASE WHEN cpu_measured BETWEEN 0 AND 9007199254740992 THEN cpu_measured ELSE 0 END AS cpu_measured, CASE WHEN calls BETWEEN 1e-09 AND 1152921504606846976 THEN calls ELSE 0 END AS calls, CASE WHEN errors BETWEEN 0 AND 1152921504606846976 THEN errors ELSE 0 END AS errors, CASE WHEN wall_ns BETWEEN 0 AND 1152921504606846976 THEN wall_ns ELSE NULL END AS wall_ns, CASE WHEN cpu_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_ns ELSE NULL END AS cpu_ns, CASE WHEN p BETWEEN 1e-18 AND 1 THEN p ELSE NULL END AS p, CASE WHEN cpu_p BETWEEN 1e-18 AND 1000000000000000000 THEN cpu_p ELSE NULL END AS cpu_p, CASE WHEN usd_per_core_hour BETWEEN 0 AND 1048576 THEN usd_per_core_hour ELSE NULL END AS usd_per_core_hour, CASE WHEN rss_bytes BETWEEN 0 AND 1152921504606846976 THEN rss_bytes ELSE NULL END AS rss_bytes, CASE WHEN calls_total BETWEEN 0 AND 9007199254740992 THEN calls_total ELSE NULL END AS calls_total, CASE WHEN wall_max_ns BETWEEN 0 AND 1152921504606846976 THEN wall_max_ns ELSE NULL END AS wall_max_ns, CASE WHEN cpu_max_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_max_ns ELSE NULL END AS cpu_max_ns, CASE WHEN wall_sq BETWEEN 0 AND 1e+36 THEN wall_sq ELSE NULL END AS wall_sq, CASE WHEN cpu_sq BETWEEN 0 AND 1e+36 THEN cpu_sq ELSE NULL END AS cpu_sq, CASE WHEN cpu_waits BETWEEN 0 AND 1152921504606846976 THEN cpu_waits ELSE NULL END AS cpu_waits, CASE WHEN cores BETWEEN 0 AND 65536 THEN cores ELSE NULL END AS cores, CASE WHEN host_cores BETWEEN 0 AND 65536 THEN host_cores ELSE NULL END AS host_cores, CASE WHEN cpu_limit BETWEEN 0 AND 65536 THEN cpu_limit ELSE NULL END AS cpu_limit, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(wall_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN wall_hist END AS wall_hist, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(cpu_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN cpu_hist END AS cpu_hist) FROM method_calls WHERE event_date BETWEEN @from_date AND @to_date)
  WHERE kind = 'counts' AND weight_basis = 'exact' AND level = 'raw' AND start_ns >= @raw_from_ns
    AND end_ns <= @read_to_ns
     AND service_namespace = @service_namespace AND service = @service AND environment = @environment
  GROUP BY service_namespace, service, environment, version, instance, process_start_ns, start_ns
),
accounts AS (
  SELECT
    service_namespace, service, environment, version, instance, process_start_ns, MIN(start_ns) AS first_ns, MAX(end_ns) AS last_ns,
    SUM(calls) AS counted, SUM(later) AS counted_later, SUM(after_last) AS counted_after
  FROM (
    SELECT
      c.*,
      CASE WHEN c.start_ns >= b.first_beat_ns THEN c.calls ELSE 0 END AS later,
      CASE WHEN c.start_ns >= b.last_beat_ns THEN c.calls ELSE 0 END AS after_last
    FROM counted AS c
    LEFT JOIN last_beats AS b
      ON COALESCE(c.service_namespace, '') = COALESCE(b.service_namespace, '') AND COALESCE(c.service, '') = COALESCE(b.service, '') AND COALESCE(c.environment, '') = COALESCE(b.environment, '') AND COALESCE(c.version, '') = COALESCE(b.version, '') AND COALESCE(c.instance, '') = COALESCE(b.instance, '') AND COALESCE(c.process_start_ns, 0) = COALESCE(b.process_start_ns, 0)
    UNION ALL
    SELECT service_namespace, service, environment, version, instance, process_start_ns, first_ns, last_beat_ns, 0, 0, 0
    FROM last_beats
  )
  GROUP BY service_namespace, service, environment, version, instance, process_start_ns
)
SELECT
  a.service_namespace, a.service, a.environment, a.version, a.instance, a.process_start_ns,
  a.first_ns, a.last_ns,
  CAST(COALESCE(b.beats, 0) AS INT64) AS beats, b.interval_ns, b.first_total, b.last_total, a.counted, a.counted_later, a.counted_after,
  b.final, b.sdk_stats
FROM accounts AS a
LEFT JOIN last_beats AS b
  ON COALESCE(a.service_namespace, '') = COALESCE(b.service_namespace, '') AND COALESCE(a.service, '') = COALESCE(b.service, '') AND COALESCE(a.environment, '') = COALESCE(b.environment, '') AND COALESCE(a.version, '') = COALESCE(b.version, '') AND COALESCE(a.instance, '') = COALESCE(b.instance, '') AND COALESCE(a.process_start_ns, 0) = COALESCE(b.process_start_ns, 0)
WHERE a.last_ns >= @from_ns AND a.first_ns < @to_ns
ORDER BY a.service_namespace, a.service, a.environment, a.version, a.first_ns, a.instance
