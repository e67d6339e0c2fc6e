-- The processes of the two sides of one comparison that measured anything.
SELECT
  t.side, c.instance, c.process_start_ns,
  MIN(c.start_ns) AS first_ns, MAX(c.end_ns) AS last_ns,
  CAST(LEAST(SUM(CAST(c.measured AS FLOAT64)), 9e18) AS INT64) AS measured, CAST(LEAST(SUM(CAST(COALESCE(c.cpu_measured, 0) AS FLOAT64)), 9e18) AS INT64) AS cpu_measured
FROM method_calls AS c
JOIN UNNEST(@compared) AS t
  ON t.version = c.version
WHERE CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.measured > 0 AND c.start_ns >= t.from_ns AND c.start_ns < t.to_ns
   AND c.event_date BETWEEN @from_date AND @to_date AND c.service_namespace = @service_namespace AND c.service = @service AND COALESCE(c.environment, '') = ''
GROUP BY t.side, c.instance, c.process_start_ns
ORDER BY t.side, first_ns, c.instance, c.process_start_ns
