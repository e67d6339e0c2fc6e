-- From when to when rows of a service are and say what was spent: counts and process rows up to
-- their end, and calls that bear their own counts, as those of other SDKs.
--
-- What its processes used and what is paid for them: a host is paid once for its cores x the
-- time in which any of its processes ran, whether they are used or not. By hour
--
-- limited   a container pays its limit, with the others at most what the host has
-- shared    the processes without a limit pay the rest of the host, by the CPU they used
-- alone     a process whose host or its cores are not known pays its own cores x time
--
-- Processes share a host within their namespace only, so those of other services are read
-- too. What used more than it may, as threads of the system do, pays what it used. Processes that
-- state other cores are on another host, and long rows of others make no hour longer: nobody
-- inflates the bill of a neighbour.
WITH seen AS (
  SELECT
    c.service_namespace, c.service, c.environment,
    MAX(CASE WHEN CASE c.kind WHEN 'counts' THEN TRUE WHEN 'process' THEN TRUE ELSE FALSE END OR c.calls > 0 THEN c.end_ns END) AS counted_ns,
    MIN(CASE WHEN c.start_ns >= @from_ns THEN c.start_ns END) AS first_ns,
    MAX(CASE WHEN c.start_ns >= @from_ns THEN c.end_ns END) AS last_ns,
    MAX(CASE WHEN c.start_ns >= @from_ns AND c.weight_basis <> 'exact' THEN 1 ELSE 0 END) AS others,
    -- Sums name groups of instances.
    GREATEST(
      COUNT(DISTINCT CASE WHEN c.start_ns >= @from_ns AND c.level = 'raw' THEN c.instance END),
      COUNT(DISTINCT CASE WHEN c.start_ns >= @from_ns AND c.level <> 'raw' THEN c.instance END)) AS instances,
    -- Whether any price is of a public list.
    MAX(CASE WHEN c.start_ns >= @from_ns AND c.price_source LIKE 'list %' THEN 1 ELSE 0 END) AS listed
  FROM (SELECT * REPLACE (CASE WHEN start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN start_ns END AS start_ns, CASE WHEN end_ns BETWEEN start_ns AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN end_ns ELSE start_ns END AS end_ns, CASE WHEN process_start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN process_start_ns END AS process_start_ns, CASE WHEN measured BETWEEN 0 AND 9007199254740992 THEN measured ELSE 0 END AS measured, CASE WHEN cpu_measured BETWEEN 0 AND 9007199254740992 THEN cpu_measured ELSE 0 END AS cpu_measured, CASE WHEN calls BETWEEN 1e-09 AND 1152921504606846976 THEN calls ELSE 0 END AS calls, CASE WHEN errors BETWEEN 0 AND 1152921504606846976 THEN errors ELSE 0 END AS errors, CASE WHEN wall_ns BETWEEN 0 AND 1152921504606846976 THEN wall_ns ELSE NULL END AS wall_ns, CASE WHEN cpu_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_ns ELSE NULL END AS cpu_ns, CASE WHEN p BETWEEN 1e-18 AND 1 THEN p ELSE NULL END AS p, CASE WHEN cpu_p BETWEEN 1e-18 AND 1000000000000000000 THEN cpu_p ELSE NULL END AS cpu_p, CASE WHEN usd_per_core_hour BETWEEN 0 AND 1048576 THEN usd_per_core_hour ELSE NULL END AS usd_per_core_hour, CASE WHEN rss_bytes BETWEEN 0 AND 1152921504606846976 THEN rss_bytes ELSE NULL END AS rss_bytes, CASE WHEN calls_total BETWEEN 0 AND 9007199254740992 THEN calls_total ELSE NULL END AS calls_total, CASE WHEN wall_max_ns BETWEEN 0 AND 1152921504606846976 THEN wall_max_ns ELSE NULL END AS wall_max_ns, CASE WHEN cpu_max_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_max_ns ELSE NULL END AS cpu_max_ns, CASE WHEN wall_sq BETWEEN 0 AND 1e+36 THEN wall_sq ELSE NULL END AS wall_sq, CASE WHEN cpu_sq BETWEEN 0 AND 1e+36 THEN cpu_sq ELSE NULL END AS cpu_sq, CASE WHEN cpu_waits BETWEEN 0 AND 1152921504606846976 THEN cpu_waits ELSE NULL END AS cpu_waits, CASE WHEN cores BETWEEN 0 AND 65536 THEN cores ELSE NULL END AS cores, CASE WHEN host_cores BETWEEN 0 AND 65536 THEN host_cores ELSE NULL END AS host_cores, CASE WHEN cpu_limit BETWEEN 0 AND 65536 THEN cpu_limit ELSE NULL END AS cpu_limit, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(wall_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN wall_hist END AS wall_hist, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(cpu_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN cpu_hist END AS cpu_hist) FROM method_calls WHERE event_date BETWEEN @from_date AND @to_date) AS c
  WHERE c.start_ns < @to_ns
     AND c.service_namespace = @service_namespace AND c.service = @service AND c.environment = @environment
  GROUP BY c.service_namespace, c.service, c.environment
  HAVING MAX(c.start_ns) >= @from_ns
),
processes AS (
  SELECT
    c.service_namespace, c.service, c.environment, c.cloud_provider, c.region, c.start_ns, c.end_ns,
    CAST(c.end_ns - c.start_ns AS FLOAT64) AS lasted, CAST(c.cpu_ns AS FLOAT64) AS cpu_ns,
    (SELECT SUM(CASE WHEN s.name = 'own.cpu_ns' THEN GREATEST(0, s.value) END) FROM UNNEST(c.sdk_stats) AS s) AS sdk_ns,
    CASE WHEN c.host_cores > 0 THEN COALESCE(c.host_id, c.host) END AS host,
    CASE WHEN c.host_cores > 0 AND c.host_id IS NULL AND c.host IS NOT NULL THEN 1 ELSE 0 END AS named,
    COALESCE(c.host_cores, 0) AS host_cores,
    CAST(c.host_cores AS STRING) AS cores_text, -- BigQuery makes no partitions by numbers with fractions
    COALESCE(CAST(c.cores AS FLOAT64), 0) AS cores,
    COALESCE(c.cpu_limit, 0) AS cpu_limit,
    c.usd_per_core_hour AS price
  FROM (SELECT * REPLACE (CASE WHEN start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN start_ns END AS start_ns, CASE WHEN end_ns BETWEEN start_ns AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN end_ns ELSE start_ns END AS end_ns, CASE WHEN process_start_ns BETWEEN 0 AND (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + 3600000000000) THEN process_start_ns END AS process_start_ns, CASE WHEN measured BETWEEN 0 AND 9007199254740992 THEN measured ELSE 0 END AS measured, CASE WHEN cpu_measured BETWEEN 0 AND 9007199254740992 THEN cpu_measured ELSE 0 END AS cpu_measured, CASE WHEN calls BETWEEN 1e-09 AND 1152921504606846976 THEN calls ELSE 0 END AS calls, CASE WHEN errors BETWEEN 0 AND 1152921504606846976 THEN errors ELSE 0 END AS errors, CASE WHEN wall_ns BETWEEN 0 AND 1152921504606846976 THEN wall_ns ELSE NULL END AS wall_ns, CASE WHEN cpu_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_ns ELSE NULL END AS cpu_ns, CASE WHEN p BETWEEN 1e-18 AND 1 THEN p ELSE NULL END AS p, CASE WHEN cpu_p BETWEEN 1e-18 AND 1000000000000000000 THEN cpu_p ELSE NULL END AS cpu_p, CASE WHEN usd_per_core_hour BETWEEN 0 AND 1048576 THEN usd_per_core_hour ELSE NULL END AS usd_per_core_hour, CASE WHEN rss_bytes BETWEEN 0 AND 1152921504606846976 THEN rss_bytes ELSE NULL END AS rss_bytes, CASE WHEN calls_total BETWEEN 0 AND 9007199254740992 THEN calls_total ELSE NULL END AS calls_total, CASE WHEN wall_max_ns BETWEEN 0 AND 1152921504606846976 THEN wall_max_ns ELSE NULL END AS wall_max_ns, CASE WHEN cpu_max_ns BETWEEN 0 AND 1152921504606846976 THEN cpu_max_ns ELSE NULL END AS cpu_max_ns, CASE WHEN wall_sq BETWEEN 0 AND 1e+36 THEN wall_sq ELSE NULL END AS wall_sq, CASE WHEN cpu_sq BETWEEN 0 AND 1e+36 THEN cpu_sq ELSE NULL END AS cpu_sq, CASE WHEN cpu_waits BETWEEN 0 AND 1152921504606846976 THEN cpu_waits ELSE NULL END AS cpu_waits, CASE WHEN cores BETWEEN 0 AND 65536 THEN cores ELSE NULL END AS cores, CASE WHEN host_cores BETWEEN 0 AND 65536 THEN host_cores ELSE NULL END AS host_cores, CASE WHEN cpu_limit BETWEEN 0 AND 65536 THEN cpu_limit ELSE NULL END AS cpu_limit, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(wall_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN wall_hist END AS wall_hist, CASE WHEN NOT EXISTS (SELECT 1 FROM UNNEST(cpu_hist) AS h WHERE NOT (h.bin BETWEEN 0 AND 2183 AND (h.n = 0 OR h.n BETWEEN 1e-18 AND 1152921504606846976))) THEN cpu_hist END AS cpu_hist) FROM method_calls WHERE event_date BETWEEN @from_date AND @to_date) AS c
  WHERE c.start_ns >= @from_ns AND c.start_ns < @to_ns
    AND c.kind = 'process' AND c.cpu_measured > 0 
),
placed AS (
  SELECT
    *,
    CASE WHEN cpu_limit > 0 THEN 'limited' WHEN host IS NOT NULL THEN 'shared' ELSE 'alone' END AS pays,
    start_ns - MOD(start_ns, 3600000000000) AS hour_ns,
    -- What no process of the host covered that started before.
    CAST(GREATEST(0, end_ns - GREATEST(start_ns, COALESCE(MAX(end_ns) OVER (
      PARTITION BY service_namespace, cloud_provider, region, host, cores_text ORDER BY start_ns, end_ns
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start_ns))) AS FLOAT64) AS fresh
  FROM processes
),
asked AS (
  SELECT
    *,
    CASE pays WHEN 'limited' THEN GREATEST(cpu_ns, cpu_limit * lasted) WHEN 'alone' THEN GREATEST(cpu_ns, cores * lasted) END AS own_ns
  FROM placed
),
hosts AS (
  SELECT
    *,
    LEAST(SUM(fresh * host_cores) OVER hours, host_cores * (3600000000000 + lasted)) AS host_ns,
    COALESCE(SUM(CASE WHEN pays = 'limited' THEN own_ns END) OVER hours, 0) AS limited_ns,
    COALESCE(SUM(CASE WHEN pays = 'limited' THEN cpu_ns END) OVER hours, 0) AS limited_cpu_ns,
    COALESCE(SUM(CASE WHEN pays = 'shared' THEN cpu_ns END) OVER hours, 0) AS shared_cpu_ns,
    COALESCE(SUM(CASE WHEN pays = 'shared' THEN lasted END) OVER hours, 0) AS shared_lasted
  FROM asked
  WINDOW hours AS (PARTITION BY service_namespace, cloud_provider, region, host, cores_text, hour_ns)
),
billed AS (
  SELECT
    service_namespace, service, environment, cpu_ns, CASE WHEN sdk_ns > cpu_ns THEN cpu_ns ELSE sdk_ns END AS sdk_ns, price, pays, named, cores,
    CASE
      WHEN host IS NULL OR pays = 'limited' AND limited_ns + shared_cpu_ns <= host_ns THEN own_ns
      WHEN pays = 'limited' THEN cpu_ns + (own_ns - cpu_ns) * COALESCE(GREATEST(0, host_ns - shared_cpu_ns - limited_cpu_ns) / NULLIF(limited_ns - limited_cpu_ns, 0), 0)
      ELSE GREATEST(shared_cpu_ns, host_ns - limited_ns) *
        COALESCE(cpu_ns / NULLIF(shared_cpu_ns, 0), lasted / NULLIF(shared_lasted, 0), 0)
    END AS paid_ns
  FROM hosts
),
bills AS (
  SELECT
    service_namespace, service, environment,
    COUNT(*) AS intervals,
    SUM(CASE WHEN pays <> 'alone' OR cores > 0 THEN 1 ELSE 0 END) AS with_cores,
    SUM(CASE WHEN pays = 'alone' AND cores > 0 THEN 1 ELSE 0 END) AS alone,
    SUM(named) AS named,
    SUM(CASE WHEN pays = 'limited' THEN 1 ELSE 0 END) AS limited,
    SUM(cpu_ns) AS cpu_ns, SUM(cpu_ns * price / 3.6e12) AS cpu_usd,
    SUM(CASE WHEN price IS NULL THEN cpu_ns END) AS unpriced_cpu_ns,
    -- Known where all rows say it.
    CASE WHEN COUNT(sdk_ns) = COUNT(*) THEN SUM(sdk_ns) END AS sdk_ns, SUM(sdk_ns * price / 3.6e12) AS sdk_usd,
    SUM(paid_ns) AS paid_ns, SUM(paid_ns * price / 3.6e12) AS paid_usd,
    SUM(CASE WHEN price IS NULL THEN paid_ns END) AS unpriced_paid_ns
  FROM billed
  GROUP BY service_namespace, service, environment
)
SELECT
  s.service_namespace, s.service, s.environment, s.counted_ns, s.first_ns, s.last_ns, CAST(s.others AS INT64) AS others,
  CAST(COALESCE(b.intervals, 0) AS INT64) AS intervals,
  CAST(COALESCE(b.with_cores, 0) AS INT64) AS intervals_with_cores,
  CAST(COALESCE(b.alone, 0) AS INT64) AS intervals_alone,
  CAST(COALESCE(b.named, 0) AS INT64) AS intervals_named,
  CAST(COALESCE(b.limited, 0) AS INT64) AS intervals_limited,
  s.instances, CAST(s.listed AS INT64) AS listed, b.cpu_ns, b.cpu_usd, b.unpriced_cpu_ns, b.sdk_ns, b.sdk_usd, b.paid_ns, b.paid_usd, b.unpriced_paid_ns
FROM seen AS s
LEFT JOIN bills AS b ON COALESCE(s.service_namespace, '') = COALESCE(b.service_namespace, '') AND COALESCE(s.service, '') = COALESCE(b.service, '') AND COALESCE(s.environment, '') = COALESCE(b.environment, '')
ORDER BY service_namespace, service, environment
