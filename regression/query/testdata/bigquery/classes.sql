SELECT DISTINCT service_namespace, service, environment, class
FROM method_calls
WHERE CASE kind WHEN 'call' THEN TRUE WHEN 'counts' THEN TRUE WHEN 'aggregate' THEN TRUE ELSE FALSE END
   AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
ORDER BY service_namespace, service, environment, class
