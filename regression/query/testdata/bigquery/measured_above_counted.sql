-- Measurements beyond the calls that their process counted of the method, by service. What
-- began before the first counts of its process or ended after the last ones is left out, and a
-- second at both ends, as counters are read one after the other: its calls are in other counts. So
-- are processes that counted calls of methods without a name.
WITH counted AS (
  SELECT
    service_namespace, service, environment, version, instance, process_start_ns, MIN(start_ns) + 1000000000 AS first_ns, MAX(end_ns) - 1000000000 AS last_ns,
    MAX(CASE WHEN method = '(overflow)' THEN 1 ELSE 0 END) AS overflowed
  FROM method_calls
  WHERE CASE kind WHEN 'counts' THEN TRUE ELSE FALSE END AND weight_basis = 'exact' AND level = 'raw' AND start_ns >= @raw_from_ns AND end_ns <= @read_to_ns
     AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
  GROUP BY service_namespace, service, environment, version, instance, process_start_ns
),
methods AS (
  SELECT
    m.service_namespace, m.service, m.environment, m.version, m.instance, m.process_start_ns, m.class, m.method,
    SUM(m.calls) AS calls, SUM(CAST(m.measured AS FLOAT64)) AS measured
  FROM method_calls AS m
  JOIN counted AS c ON COALESCE(m.service_namespace, '') = COALESCE(c.service_namespace, '') AND COALESCE(m.service, '') = COALESCE(c.service, '') AND COALESCE(m.environment, '') = COALESCE(c.environment, '') AND COALESCE(m.version, '') = COALESCE(c.version, '') AND COALESCE(m.instance, '') = COALESCE(c.instance, '') AND COALESCE(m.process_start_ns, 0) = COALESCE(c.process_start_ns, 0)
  WHERE CASE m.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE WHEN 'counts' THEN TRUE ELSE FALSE END AND m.weight_basis = 'exact' AND m.level = 'raw' AND (m.kind = 'counts' OR m.start_ns >= c.first_ns AND m.end_ns <= c.last_ns)
    AND c.overflowed = 0 AND c.last_ns >= @from_ns AND c.first_ns < @to_ns
     AND m.event_date BETWEEN @from_date AND @to_date AND m.service_namespace = @service_namespace AND m.service = @service AND m.environment = @environment
  GROUP BY m.service_namespace, m.service, m.environment, m.version, m.instance, m.process_start_ns, m.class, m.method
)
SELECT service_namespace, service, environment, SUM(measured - calls) AS excess
FROM methods
WHERE measured > calls
GROUP BY service_namespace, service, environment
ORDER BY service_namespace, service, environment
