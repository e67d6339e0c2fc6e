SELECT t.name, m.class, m.method, COUNT(*) AS records, SUM(m.cpu_ns) / 1e6 AS cpu_ms
FROM (
  SELECT DISTINCT name, trace_id FROM `my-project.traces.spans`
  WHERE day = '2026-11-20' AND duration_ms > 1000
) AS t
JOIN `PROJECT.DATASET.method_calls` AS m ON m.trace_id = FROM_HEX(t.trace_id)
WHERE m.event_date = '2026-11-20'
GROUP BY t.name, m.class, m.method
ORDER BY cpu_ms DESC
