-- How the calls of each method and version were sampled, as raw rows say it, and how
-- many there were. The records stand for so many calls as their probabilities say;
-- those of the tail are kept for being long and are told apart.
WITH marked AS (
  SELECT
    *,
    CASE WHEN level = 'raw' AND measured > 0 AND p > 0 AND COALESCE(stratum, '') <> 'tail' THEN CAST(measured AS FLOAT64) END AS drawn,
    CASE WHEN level = 'raw' AND cpu_measured > 0 AND p > 0 AND cpu_p > 0 AND COALESCE(stratum, '') <> 'tail' THEN CAST(cpu_measured AS FLOAT64) END AS cpu_drawn
  FROM (SELECT * REPLACE (CASE WHEN start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN start_ns END AS start_ns, CASE WHEN end_ns BETWEEN start_ns AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN end_ns ELSE start_ns END AS end_ns, CASE WHEN process_start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN process_start_ns END AS process_start_ns, CASE WHEN measured BETWEEN 0 AND 9007199254740992 THEN measured ELSE 0 END AS measured, CASE WHEN cpu_measured BETWEEN 0 AND 9007199254740992 THEN cpu_measured ELSE 0 END AS cpu_measured, CASE WHEN calls BETWEEN 1e-09 AND 1152921504606846976 THEN calls ELSE 0 END AS calls, CASE WHEN errors BETWEEN 0 AND 1152921504606846976 THEN errors ELSE 0 END AS errors, CASE WHEN wall_ns BETWEEN 0 AND 1152921504606846976 THEN wall_ns ELSE NULL END AS wall_ns, CASE WHEN cpu_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_ns ELSE NULL END AS cpu_ns, CASE WHEN p BETWEEN 1e-18 AND 1 THEN p ELSE NULL END AS p, CASE WHEN cpu_p BETWEEN 1e-18 AND 1000000000000000000 THEN cpu_p ELSE NULL END AS cpu_p, CASE WHEN usd_per_core_hour BETWEEN 0 AND 1048576 THEN usd_per_core_hour ELSE NULL END AS usd_per_core_hour, CASE WHEN rss_bytes BETWEEN 0 AND 1152921504606846976 THEN rss_bytes ELSE NULL END AS rss_bytes, CASE WHEN calls_total BETWEEN 0 AND 9007199254740992 THEN calls_total ELSE NULL END AS calls_total, CASE WHEN wall_max_ns BETWEEN 0 AND 1152921504606846976 THEN wall_max_ns ELSE NULL END AS wall_max_ns, CASE WHEN cpu_max_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_max_ns ELSE NULL END AS cpu_max_ns, CASE WHEN wall_sq BETWEEN 0 AND 1e+36 THEN wall_sq ELSE NULL END AS wall_sq, CASE WHEN cpu_sq BETWEEN 0 AND 1e+36 THEN cpu_sq ELSE NULL END AS cpu_sq, CASE WHEN cpu_waits BETWEEN 0 AND 1152921504606846976 THEN cpu_waits ELSE NULL END AS cpu_waits, CASE WHEN cores BETWEEN 0 AND 65536 THEN cores ELSE NULL END AS cores, CASE WHEN host_cores BETWEEN 0 AND 65536 THEN host_cores ELSE NULL END AS host_cores, CASE WHEN cpu_limit BETWEEN 0 AND 65536 THEN cpu_limit ELSE NULL END AS cpu_limit, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(wall_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN wall_hist END AS wall_hist, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(cpu_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN cpu_hist END AS cpu_hist) FROM method_calls WHERE event_date BETWEEN @from_date AND @to_date)
  WHERE CASE kind WHEN 'call' THEN TRUE WHEN 'counts' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND start_ns >= @from_ns AND start_ns < @to_ns
     AND service_namespace = @service_namespace AND service = @service AND environment = @environment
)
SELECT
  service_namespace, service, environment, version, class, method, MAX(signature) AS signature, MAX(revision) AS revision,
  MIN(start_ns) AS first_ns, MAX(end_ns) AS last_ns,
  SUM(calls) AS calls,
  SUM(CASE WHEN weight_basis <> 'exact' AND p > 0 AND p < 1 THEN calls * (1 - p) / NULLIF(p, 0) ELSE 0 END) AS variance,
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
