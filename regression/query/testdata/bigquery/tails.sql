-- How skew the CPU times of single calls are: sums of powers, in ms, by method and half
-- octave, apart for calls above the threshold of their tail, all of which were timed. Rows
-- weigh what they were kept with: of a method only the shape is asked for.
WITH timed AS (
  SELECT
    service_namespace, service, environment, class, method,
    CASE WHEN stratum = 'tail' THEN 1 ELSE 0 END AS tail,
    measured, COALESCE(cpu_measured, 0) AS cpu_measured,
    1 / NULLIF(p * cpu_p, 0) AS weight, cpu_ns / 1e6 AS x, cpu_hist AS bins
  FROM (SELECT * REPLACE (CASE WHEN start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN start_ns END AS start_ns, CASE WHEN end_ns BETWEEN start_ns AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN end_ns ELSE start_ns END AS end_ns, CASE WHEN process_start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN process_start_ns END AS process_start_ns, CASE WHEN measured BETWEEN 0 AND 9007199254740992 THEN measured ELSE 0 END AS measured, CASE WHEN cpu_measured BETWEEN 0 AND 9007199254740992 THEN cpu_measured ELSE 0 END AS cpu_measured, CASE WHEN calls BETWEEN 1e-09 AND 1152921504606846976 THEN calls ELSE 0 END AS calls, CASE WHEN errors BETWEEN 0 AND 1152921504606846976 THEN errors ELSE 0 END AS errors, CASE WHEN wall_ns BETWEEN 0 AND 1152921504606846976 THEN wall_ns ELSE NULL END AS wall_ns, CASE WHEN cpu_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_ns ELSE NULL END AS cpu_ns, CASE WHEN p BETWEEN 1e-18 AND 1 THEN p ELSE NULL END AS p, CASE WHEN cpu_p BETWEEN 1e-18 AND 1000000000000000000 THEN cpu_p ELSE NULL END AS cpu_p, CASE WHEN usd_per_core_hour BETWEEN 0 AND 1048576 THEN usd_per_core_hour ELSE NULL END AS usd_per_core_hour, CASE WHEN rss_bytes BETWEEN 0 AND 1152921504606846976 THEN rss_bytes ELSE NULL END AS rss_bytes, CASE WHEN calls_total BETWEEN 0 AND 9007199254740992 THEN calls_total ELSE NULL END AS calls_total, CASE WHEN wall_max_ns BETWEEN 0 AND 1152921504606846976 THEN wall_max_ns ELSE NULL END AS wall_max_ns, CASE WHEN cpu_max_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_max_ns ELSE NULL END AS cpu_max_ns, CASE WHEN wall_sq BETWEEN 0 AND 1e+36 THEN wall_sq ELSE NULL END AS wall_sq, CASE WHEN cpu_sq BETWEEN 0 AND 1e+36 THEN cpu_sq ELSE NULL END AS cpu_sq, CASE WHEN cpu_waits BETWEEN 0 AND 1152921504606846976 THEN cpu_waits ELSE NULL END AS cpu_waits, CASE WHEN cores BETWEEN 0 AND 65536 THEN cores ELSE NULL END AS cores, CASE WHEN host_cores BETWEEN 0 AND 65536 THEN host_cores ELSE NULL END AS host_cores, CASE WHEN cpu_limit BETWEEN 0 AND 65536 THEN cpu_limit ELSE NULL END AS cpu_limit, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(wall_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN wall_hist END AS wall_hist, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(cpu_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN cpu_hist END AS cpu_hist) FROM method_calls WHERE event_date BETWEEN @from_date AND @to_date)
  WHERE kind IN ('call', 'aggregate') AND measured > 0
    AND start_ns >= @from_ns AND start_ns < @to_ns
     AND service_namespace = @service_namespace AND service = @service AND environment = @environment
),
valued AS (
  SELECT
    service_namespace, service, environment, class, method, tail, measured, cpu_measured,
    CASE WHEN cpu_measured = 1 THEN weight END AS n, CASE WHEN cpu_measured = 1 THEN 1 ELSE 0 END AS records, x
  FROM timed
  UNION ALL
  SELECT
    service_namespace, service, environment, class, method, tail, 0 AS measured, 0 AS cpu_measured,
    weight * h.n AS n, h.n AS records, EXP((h.bin + 0.5) * LN(1.01 / 0.99)) / 1e6 AS x
  FROM timed, UNNEST(bins) AS h
  WHERE cpu_measured > 1
),
binned AS (
  SELECT *, CASE WHEN n > 0 AND x > 0 THEN CAST(FLOOR(2 * LN(x) / LN(2)) AS INT64) END AS octave
  FROM valued
)
SELECT
  service_namespace, service, environment, class, method, tail, octave,
  CAST(LEAST(SUM(CAST(measured AS FLOAT64)), 9e18) AS INT64) AS measured, CAST(LEAST(SUM(CAST(cpu_measured AS FLOAT64)), 9e18) AS INT64) AS cpu_measured,
  COALESCE(SUM(n), 0) AS n, COALESCE(SUM(n * x), 0) AS x, COALESCE(SUM(n * x * x), 0) AS xx, COALESCE(SUM(n * x * x * x), 0) AS xxx,
  COALESCE(SUM(CASE WHEN octave IS NOT NULL THEN records END), 0) AS records, COALESCE(SUM(CASE WHEN octave IS NOT NULL THEN n * LN(x) END), 0) AS logs
FROM binned
GROUP BY service_namespace, service, environment, class, method, tail, octave
ORDER BY service_namespace, service, environment, class, method, tail, octave
