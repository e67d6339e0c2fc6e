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
    MAX(revision) AS revision
  FROM method_calls
  WHERE start_ns >= @from_ns AND start_ns < @to_ns
     AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
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
  MAX(revision) AS revision
FROM numbered
GROUP BY service_namespace, service, environment, version, run
ORDER BY first_ns, version, service_namespace, service, environment
