-- Places of queue items that are stored more than once.
WITH places AS (
  SELECT batch_id, row_seq, COUNT(*) AS copies
  FROM method_calls
  WHERE level = 'raw' AND batch_id IS NOT NULL
     AND event_date BETWEEN @from_date AND @to_date AND service_namespace = @service_namespace AND service = @service AND environment = @environment
  GROUP BY batch_id, row_seq
  HAVING COUNT(*) > 1
)
SELECT batch_id, CAST(SUM(copies - 1) AS INT64) AS surplus
FROM places
GROUP BY batch_id
ORDER BY surplus DESC, batch_id
