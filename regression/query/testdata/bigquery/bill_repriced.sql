-- What processes used and could have used: cores x time, which is paid for whether
-- it is used or not. A process that used more than its cores say, as threads of the
-- system may, could have used that.
WITH rows_of AS (
  SELECT
    c.service_namespace, c.service, c.environment, c.kind, c.level, c.instance, c.start_ns, c.end_ns, c.cpu_measured,
    CAST(c.cpu_ns AS FLOAT64) AS cpu_ns,
    GREATEST(CAST(c.cpu_ns AS FLOAT64), COALESCE(CAST(c.cores AS FLOAT64), 0) * (c.end_ns - c.start_ns)) AS paid_ns,
    c.cores,
    CAST(r.usd_per_core_hour AS FLOAT64) AS price
  FROM method_calls AS c
  LEFT JOIN UNNEST(@repriced) AS r ON COALESCE(c.cloud_provider, '') = COALESCE(r.cloud_provider, '') AND COALESCE(c.region, '') = COALESCE(r.region, '') AND COALESCE(c.host_type, '') = COALESCE(r.host_type, '') AND COALESCE(c.capacity_type, '') = COALESCE(r.capacity_type, '')
  WHERE c.start_ns >= @from_ns AND c.start_ns < @to_ns
     AND c.event_date BETWEEN @from_date AND @to_date AND c.service = @service AND c.environment = @environment
),
used AS (
  SELECT *, CASE WHEN kind = 'process' AND cpu_measured > 0 THEN 1 END AS counts FROM rows_of
)
SELECT
  service_namespace, service, environment,
  MIN(start_ns) AS first_ns, MAX(end_ns) AS last_ns,
  CAST(COALESCE(SUM(counts), 0) AS INT64) AS intervals,
  CAST(COALESCE(SUM(CASE WHEN cores > 0 THEN counts END), 0) AS INT64) AS intervals_with_cores,
  -- Sums name groups of instances.
  GREATEST(
    COUNT(DISTINCT CASE WHEN level = 'raw' THEN instance END),
    COUNT(DISTINCT CASE WHEN level <> 'raw' THEN instance END)) AS instances,
  SUM(counts * cpu_ns) AS cpu_ns, SUM(counts * cpu_ns * price / 3.6e12) AS cpu_usd,
  SUM(CASE WHEN price IS NULL THEN counts * cpu_ns END) AS unpriced_cpu_ns,
  SUM(counts * paid_ns) AS paid_ns, SUM(counts * paid_ns * price / 3.6e12) AS paid_usd,
  SUM(CASE WHEN price IS NULL THEN counts * paid_ns END) AS unpriced_paid_ns
FROM used
GROUP BY service_namespace, service, environment
ORDER BY service_namespace, service, environment
