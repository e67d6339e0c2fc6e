-- How skew the CPU times of single calls are: sums of powers, in ms, by method and half
-- octave, apart for calls above the threshold of their tail, all of which were timed. Rows
-- weigh what they were kept with: of a method only the shape is asked for.
WITH timed AS (
  SELECT
    service_namespace, service, environment, class, method,
    CASE WHEN stratum = 'tail' THEN 1 ELSE 0 END AS tail,
    measured, COALESCE(cpu_measured, 0) AS cpu_measured,
    1 / NULLIF(p * cpu_p, 0) AS weight, cpu_ns / 1e6 AS x, cpu_hist AS bins
  FROM method_calls
  WHERE CASE kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND measured > 0
    AND start_ns >= @from_ns AND start_ns < @to_ns
     AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
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
