-- Calls of methods and versions by spans of which nothing says how they were sampled.
SELECT service_namespace, service, environment, version, class, method, SUM(calls) AS calls
FROM method_calls
WHERE weight_basis = 'assumed' AND start_ns >= @from_ns AND start_ns < @to_ns
   AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment AND COALESCE(class, '') NOT LIKE 'io.opentelemetry.%' AND COALESCE(class, '') NOT LIKE 'opentelemetry.instrumentation.%' AND COALESCE(class, '') NOT LIKE '@opentelemetry/instrumentation-%' AND COALESCE(class, '') NOT LIKE 'go.opentelemetry.io/contrib/instrumentation/%' AND COALESCE(class, '') NOT LIKE 'OpenTelemetry::Instrumentation::%' AND COALESCE(class, '') NOT LIKE 'OpenTelemetry.Instrumentation.%' AND COALESCE(class, '') NOT LIKE 'Microsoft.AspNetCore%' AND COALESCE(class, '') NOT LIKE 'System.Net.Http%'
GROUP BY service_namespace, service, environment, version, class, method
ORDER BY service_namespace, service, environment, version, class, method
