-- Measurements whose counts have not arrived, by method and version. They are in no figure.
WITH uncounted AS  (
  -- Processes with measurements that started after the end of their last counts.
  SELECT service_namespace, service, environment, version, instance, process_start_ns, MAX(CASE WHEN CASE kind WHEN 'counts' THEN TRUE WHEN 'process' THEN TRUE ELSE FALSE END THEN end_ns ELSE 0 END) AS until_ns
  FROM (
    SELECT c.service_namespace, c.service, c.environment, c.version, c.instance, c.process_start_ns, c.kind, MAX(c.start_ns) AS start_ns, MAX(c.end_ns) AS end_ns
    FROM method_calls AS c
    WHERE CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END AND c.weight_basis = 'exact' AND c.process_start_ns IS NOT NULL AND c.start_ns >= (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - 3600000000000)
       AND c.event_date BETWEEN @from_date AND @to_date AND c.service_namespace = @service_namespace AND c.service = @service AND c.environment = @environment
    GROUP BY c.service_namespace, c.service, c.environment, c.version, c.instance, c.process_start_ns, c.kind
  )
  GROUP BY service_namespace, service, environment, version, instance, process_start_ns
  HAVING MAX(CASE WHEN CASE kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END THEN start_ns END)
    >= MAX(CASE WHEN CASE kind WHEN 'counts' THEN TRUE WHEN 'process' THEN TRUE ELSE FALSE END THEN end_ns ELSE 0 END)
)
SELECT
  c.service_namespace, c.service, c.environment, c.version, c.class, c.method,
  CAST(LEAST(SUM(CAST(c.measured AS FLOAT64)), 9e18) AS INT64) AS measured,
  MIN(c.start_ns) AS first_ns, MAX(c.start_ns) AS last_ns
FROM method_calls AS c
JOIN uncounted AS u ON u.process_start_ns = CASE WHEN c.start_ns >= (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - 3600000000000) AND CASE c.level WHEN 'raw' THEN TRUE ELSE FALSE END AND CASE c.kind WHEN 'call' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END AND c.weight_basis = 'exact' THEN c.process_start_ns END
    AND COALESCE(u.service_namespace, '') = COALESCE(c.service_namespace, '') AND COALESCE(u.service, '') = COALESCE(c.service, '') AND COALESCE(u.environment, '') = COALESCE(c.environment, '') AND COALESCE(u.version, '') = COALESCE(c.version, '') AND COALESCE(u.instance, '') = COALESCE(c.instance, '') AND c.start_ns >= u.until_ns
WHERE c.start_ns >= (UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - 3600000000000) AND c.start_ns >= @from_ns AND c.start_ns < @to_ns
   AND c.event_date BETWEEN @from_date AND @to_date AND c.service_namespace = @service_namespace AND c.service = @service AND c.environment = @environment
GROUP BY c.service_namespace, c.service, c.environment, c.version, c.class, c.method
ORDER BY service_namespace, service, environment, version, class, method
