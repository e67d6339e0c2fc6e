-- Stretches of time in which a version was seen without a hole of more than two
-- units, which are minutes where nobody says less: a living process of ours says so
-- every minute. A row of level hour stands for the time from its start to its end,
-- within the hour.
WITH units AS (
  SELECT
    service_namespace, service, environment, version,
    start_ns - MOD(start_ns, @unit_ns) AS unit_start_ns,
    MAX(CASE WHEN level = 'hour' AND end_ns > start_ns
      THEN LEAST(end_ns - 1 - MOD(end_ns - 1, @unit_ns), start_ns - MOD(start_ns, 3600000000000) + 3600000000000 - @unit_ns)
      ELSE start_ns - MOD(start_ns, @unit_ns) END) AS until_unit_ns,
    MIN(start_ns) AS first_ns,
    MAX(end_ns) AS last_ns,
    MIN(process_start_ns) AS oldest_process_ns,
    SUM(CASE WHEN process_start_ns IS NULL THEN 1 ELSE 0 END) AS unknown_processes,
    SUM(CASE WHEN CASE kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END THEN CAST(measured AS FLOAT64) ELSE 0 END) AS measured,
    SUM(CASE WHEN CASE kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END THEN CAST(cpu_measured AS FLOAT64) ELSE 0 END) AS cpu_measured,
    SUM(CASE WHEN weight_basis = 'assumed' THEN CAST(measured AS FLOAT64) ELSE 0 END) AS assumed,
    MAX(CASE WHEN price_source LIKE 'list %' THEN 1 ELSE 0 END) AS listed,
    MAX(revision) AS revision,
    SUM(calls) AS calls
  FROM (SELECT * REPLACE (CASE WHEN start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN start_ns END AS start_ns, CASE WHEN end_ns BETWEEN start_ns AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN end_ns ELSE start_ns END AS end_ns, CASE WHEN process_start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN process_start_ns END AS process_start_ns, CASE WHEN measured BETWEEN 0 AND 9007199254740992 THEN measured ELSE 0 END AS measured, CASE WHEN cpu_measured BETWEEN 0 AND 9007199254740992 THEN cpu_measured ELSE 0 END AS cpu_measured, CASE WHEN calls BETWEEN 1e-09 AND 1152921504606846976 THEN calls ELSE 0 END AS calls, CASE WHEN errors BETWEEN 0 AND 1152921504606846976 THEN errors ELSE 0 END AS errors, CASE WHEN wall_ns BETWEEN 0 AND 1152921504606846976 THEN wall_ns ELSE NULL END AS wall_ns, CASE WHEN cpu_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_ns ELSE NULL END AS cpu_ns, CASE WHEN p BETWEEN 1e-18 AND 1 THEN p ELSE NULL END AS p, CASE WHEN cpu_p BETWEEN 1e-18 AND 1000000000000000000 THEN cpu_p ELSE NULL END AS cpu_p, CASE WHEN usd_per_core_hour BETWEEN 0 AND 1048576 THEN usd_per_core_hour ELSE NULL END AS usd_per_core_hour, CASE WHEN rss_bytes BETWEEN 0 AND 1152921504606846976 THEN rss_bytes ELSE NULL END AS rss_bytes, CASE WHEN calls_total BETWEEN 0 AND 9007199254740992 THEN calls_total ELSE NULL END AS calls_total, CASE WHEN wall_max_ns BETWEEN 0 AND 1152921504606846976 THEN wall_max_ns ELSE NULL END AS wall_max_ns, CASE WHEN cpu_max_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_max_ns ELSE NULL END AS cpu_max_ns, CASE WHEN wall_sq BETWEEN 0 AND 1e+36 THEN wall_sq ELSE NULL END AS wall_sq, CASE WHEN cpu_sq BETWEEN 0 AND 1e+36 THEN cpu_sq ELSE NULL END AS cpu_sq, CASE WHEN cpu_waits BETWEEN 0 AND 1152921504606846976 THEN cpu_waits ELSE NULL END AS cpu_waits, CASE WHEN cores BETWEEN 0 AND 65536 THEN cores ELSE NULL END AS cores, CASE WHEN host_cores BETWEEN 0 AND 65536 THEN host_cores ELSE NULL END AS host_cores, CASE WHEN cpu_limit BETWEEN 0 AND 65536 THEN cpu_limit ELSE NULL END AS cpu_limit, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(wall_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN wall_hist END AS wall_hist, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(cpu_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN cpu_hist END AS cpu_hist) FROM method_calls WHERE event_date BETWEEN @from_date AND @to_date)
  WHERE start_ns >= @from_ns AND start_ns < @to_ns
     AND service_namespace = @service_namespace AND service = @service AND environment = @environment
  GROUP BY service_namespace, service, environment, version, start_ns - MOD(start_ns, @unit_ns)
),
marked AS (
  SELECT
    *,
    CASE WHEN unit_start_ns - MAX(until_unit_ns) OVER before <= 3 * @unit_ns THEN 0 ELSE 1 END AS starts
  FROM units
  WINDOW before AS (
    PARTITION BY service_namespace, service, environment, version ORDER BY unit_start_ns
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
),
numbered AS (
  SELECT *, SUM(starts) OVER (PARTITION BY service_namespace, service, environment, version ORDER BY unit_start_ns) AS run
  FROM marked
)
SELECT
  service_namespace, service, environment, version,
  MIN(first_ns) AS first_ns,
  MAX(last_ns) AS last_ns,
  MAX(until_unit_ns) + @unit_ns AS until_ns,
  MIN(oldest_process_ns) AS oldest_process_ns,
  CAST(SUM(unknown_processes) AS INT64) AS unknown_processes,
  CAST(LEAST(SUM(CAST(measured AS FLOAT64)), 9e18) AS INT64) AS measured,
  CAST(LEAST(SUM(CAST(cpu_measured AS FLOAT64)), 9e18) AS INT64) AS cpu_measured,
  CAST(LEAST(SUM(CAST(assumed AS FLOAT64)), 9e18) AS INT64) AS assumed,
  CAST(MAX(listed) AS INT64) AS listed,
  MAX(revision) AS revision,
  SUM(calls) AS calls
FROM numbered
GROUP BY service_namespace, service, environment, version, run
ORDER BY first_ns, version, service_namespace, service, environment
