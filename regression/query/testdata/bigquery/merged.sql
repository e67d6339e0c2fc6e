-- Services with spans of which it is not known which process sent them: no name, or one that
-- the receiver says several may have.
SELECT service_namespace, service, environment
FROM method_calls
WHERE weight_basis <> 'exact' AND (instance IS NULL OR instance LIKE '~%')
  AND start_ns >= @from_ns AND start_ns < @to_ns
   AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
GROUP BY service_namespace, service, environment
ORDER BY service_namespace, service, environment
