SELECT DISTINCT service_namespace, service, environment
FROM method_calls
WHERE kind IS NOT NULL
   AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
ORDER BY service_namespace, service, environment
