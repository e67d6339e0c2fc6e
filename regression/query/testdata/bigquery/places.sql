-- Where processes ran, as far as prices depend on it.
SELECT DISTINCT cloud_provider, region, host_type, capacity_type
FROM method_calls
WHERE kind IS NOT NULL
   AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
ORDER BY cloud_provider, region, host_type, capacity_type
