-- From which date there are rows, and how many.
SELECT CAST(MIN(event_date) AS STRING) AS first_date, COUNT(*) AS row_count
FROM method_calls
WHERE kind IS NOT NULL
   AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
