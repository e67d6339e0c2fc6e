SELECT DISTINCT service_namespace, service, environment, class
FROM method_calls
WHERE kind IN ('call', 'counts', 'aggregate')
   AND event_date BETWEEN @from_date AND @to_date AND service = @service AND environment = @environment
ORDER BY service_namespace, service, environment, class
