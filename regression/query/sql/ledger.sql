{{define "last_beats"}}last_beats AS (
  -- The last process row of every process of ours, and what all of them say of it.
  SELECT * {{.Except}} (place)
  FROM (
    SELECT
      {{.Service ""}}, version, instance, process_start_ns, end_ns, final, sdk_stats,
      MIN(start_ns) OVER one_process AS first_ns, MIN(end_ns) OVER one_process AS first_beat_ns, MAX(end_ns) OVER one_process AS last_beat_ns,
      COUNT(*) OVER one_process AS beats, MAX(end_ns - start_ns) OVER one_process AS interval_ns,
      MIN(calls_total) OVER one_process AS first_total, MAX(calls_total) OVER one_process AS last_total,
      ROW_NUMBER() OVER (
        PARTITION BY {{.Service ""}}, version, instance, process_start_ns ORDER BY calls_total DESC, end_ns DESC
      ) AS place
    FROM {{if .Once}}({{template "once" .}}) AS once{{else}}{{.Calls}}{{end}}
    WHERE kind = 'process' AND weight_basis = 'exact' AND level = 'raw' AND start_ns >= {{.Param}}raw_from_ns
      AND end_ns <= {{.Param}}read_to_ns
      {{.Only ""}}
    WINDOW one_process AS (PARTITION BY {{.Service ""}}, version, instance, process_start_ns)
  )
  WHERE place = 1
){{end}}

{{define "last_stats"}}
-- The SDK's own counters of every process that ran in the window, as of its last process
-- row: what a probe costs it knows the better the longer it runs.
WITH {{template "last_beats" .}}
SELECT {{.Service ""}}, version, sdk_stats
FROM last_beats
WHERE end_ns >= {{.Param}}from_ns AND first_ns < {{.Param}}to_ns
ORDER BY {{.Service ""}}, version, instance, process_start_ns
{{end}}

{{define "stats_of_sums"}}
-- What the probes of groups of instances cost in the window, as of the last sum of each. An
-- aggregate holds one list a group, where a window function would hold those of all sums.
SELECT {{.Service ""}}, version, ARG_MAX(sdk_stats, (end_ns, start_ns, host_id, host)) AS sdk_stats
FROM {{.Calls}}
WHERE kind = 'process' AND weight_basis = 'exact' AND level <> 'raw' AND sdk_stats IS NOT NULL
  AND start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns
  {{.Only ""}}
GROUP BY {{.Service ""}}, version, instance
ORDER BY {{.Service ""}}, version, instance
{{end}}

{{define "processes"}}
-- The account of every process of ours: what it says it has handed out, and what
-- is stored of it. Dates that were rolled up keep no account of processes. An
-- account that begins or ends within the life of its process does so at a beat.
WITH {{template "last_beats" .}},
counted AS (
  -- Methods are added up first: a join of every counts row takes time.
  SELECT {{.Service ""}}, version, instance, process_start_ns, start_ns, MAX(end_ns) AS end_ns, SUM(calls) AS calls
  FROM {{if .Once}}({{template "once" .}}) AS once{{else}}{{.Calls}}{{end}}
  WHERE kind = 'counts' AND weight_basis = 'exact' AND level = 'raw' AND start_ns >= {{.Param}}raw_from_ns
    AND end_ns <= {{.Param}}read_to_ns
    {{.Only ""}}
  GROUP BY {{.Service ""}}, version, instance, process_start_ns, start_ns
),
accounts AS (
  SELECT
    {{.Service ""}}, version, instance, process_start_ns, MIN(start_ns) AS first_ns, MAX(end_ns) AS last_ns,
    SUM(calls) AS counted, SUM(later) AS counted_later, SUM(after_last) AS counted_after
  FROM (
    SELECT
      c.*,
      CASE WHEN c.start_ns >= b.first_beat_ns THEN c.calls ELSE 0 END AS later,
      CASE WHEN c.start_ns >= b.last_beat_ns THEN c.calls ELSE 0 END AS after_last
    FROM counted AS c
    LEFT JOIN last_beats AS b
      ON {{.Same "c" "b" "service_namespace" "service" "environment" "version" "instance" "process_start_ns"}}
    UNION ALL
    SELECT {{.Service ""}}, version, instance, process_start_ns, first_ns, last_beat_ns, 0, 0, 0
    FROM last_beats
  )
  GROUP BY {{.Service ""}}, version, instance, process_start_ns
)
SELECT
  {{.Service "a."}}, a.version, a.instance, a.process_start_ns,
  a.first_ns, a.last_ns,
  CAST(COALESCE(b.beats, 0) AS {{.Long}}) AS beats, b.interval_ns, b.first_total, b.last_total, a.counted, a.counted_later, a.counted_after,
  b.final, b.sdk_stats
FROM accounts AS a
LEFT JOIN last_beats AS b
  ON {{.Same "a" "b" "service_namespace" "service" "environment" "version" "instance" "process_start_ns"}}
WHERE a.last_ns >= {{.Param}}from_ns AND a.first_ns < {{.Param}}to_ns
ORDER BY {{.Service "a."}}, a.version, a.first_ns, a.instance
{{end}}

{{define "once"}}-- One of several copies of a row. Rows of one place that differ are no copies.
    SELECT *
    FROM {{.Calls}}
    WHERE level = 'raw'
    QUALIFY batch_id IS NULL
      OR ROW_NUMBER() OVER (PARTITION BY batch_id, row_seq, kind, start_ns, end_ns, class, method, signature, calls, calls_total) = 1{{end}}

{{define "batches"}}
-- The batches of processes that lack calls: what their process rows say of calls handed
-- out so far, and the calls of their counts. Parts of a batch that was cut are one.
SELECT
  l.process, SPLIT_PART(m.batch_id, '/', 1) AS batch,
  MAX(CASE WHEN m.kind = 'process' THEN m.calls_total END) AS total,
  SUM(CASE WHEN m.kind = 'counts' THEN m.calls ELSE 0 END) AS counted
FROM {{if .Once}}({{template "once" .}}){{else}}{{.Calls}}{{end}} AS m
JOIN {{.Given "lacking"}} AS l
  ON {{.Same "m" "l" "service_namespace" "service" "environment" "version" "instance" "process_start_ns"}}
WHERE m.weight_basis = 'exact' AND m.level = 'raw' AND m.start_ns >= {{.Param}}raw_from_ns AND m.end_ns <= {{.Param}}read_to_ns
  {{.Only "m."}}
GROUP BY l.process, batch
ORDER BY l.process
{{end}}

{{define "measured_above_counted"}}
-- Measurements beyond the calls that their process counted of the method, by service. What
-- began before the first counts of its process or ended after the last ones is left out, and a
-- second at both ends, as counters are read one after the other: its calls are in other counts. So
-- are processes that counted calls of methods without a name.
WITH counted AS (
  SELECT
    {{.Service ""}}, version, instance, process_start_ns, MIN(start_ns) + 1000000000 AS first_ns, MAX(end_ns) - 1000000000 AS last_ns,
    MAX(CASE WHEN method = '(overflow)' THEN 1 ELSE 0 END) AS overflowed
  FROM {{.Calls}}
  WHERE {{.Kind "" "counts"}} AND weight_basis = 'exact' AND level = 'raw' AND start_ns >= {{.Param}}raw_from_ns AND end_ns <= {{.Param}}read_to_ns
    {{.Only ""}}
  GROUP BY {{.Service ""}}, version, instance, process_start_ns
),
methods AS (
  SELECT
    {{.Service "m."}}, m.version, m.instance, m.process_start_ns, m.class, m.method,
    SUM(m.calls) AS calls, SUM(CAST(m.measured AS {{.Double}})) AS measured
  FROM {{if .Once}}({{template "once" .}}){{else}}{{.Calls}}{{end}} AS m
  JOIN counted AS c ON {{.Same "m" "c" "service_namespace" "service" "environment" "version" "instance" "process_start_ns"}}
  WHERE {{.Kind "m." "call" "aggregate" "counts"}} AND m.weight_basis = 'exact' AND m.level = 'raw' AND (m.kind = 'counts' OR m.start_ns >= c.first_ns AND m.end_ns <= c.last_ns)
    AND c.overflowed = 0 AND c.last_ns >= {{.Param}}from_ns AND c.first_ns < {{.Param}}to_ns
    {{.Only "m."}}
  GROUP BY {{.Service "m."}}, m.version, m.instance, m.process_start_ns, m.class, m.method
)
SELECT {{.Service ""}}, SUM(measured - calls) AS excess
FROM methods
WHERE measured > calls
GROUP BY {{.Service ""}}
ORDER BY {{.Service ""}}
{{end}}

{{define "duplicates"}}
-- Places of queue items that are stored more than once.
WITH places AS (
  SELECT batch_id, row_seq, COUNT(*) AS copies{{if .Parted}}, COUNT(DISTINCT part) AS collectors{{end}}
  FROM {{if .Parted}}method_rows{{else}}{{.Calls}}{{end}}
  WHERE level = 'raw' AND batch_id IS NOT NULL
    {{.Only ""}}
  GROUP BY batch_id, row_seq
  HAVING COUNT(*) > 1
)
SELECT batch_id, CAST(SUM(copies - 1) AS {{.Long}}) AS surplus{{if .Parted}}, CAST(SUM(collectors - 1) AS {{.Long}}) AS elsewhere{{end}}
FROM places
GROUP BY batch_id
ORDER BY surplus DESC, batch_id
{{end}}

{{define "stock"}}
-- What is stored of each service.
SELECT
  {{.Service ""}},
  CAST(COUNT(*) AS {{.Long}}) AS row_count,
  CAST(SUM(CASE WHEN weight_basis <> 'exact' THEN 1 ELSE 0 END) AS {{.Long}}) AS foreign_rows,
  SUM(CASE WHEN weight_basis <> 'exact' THEN calls ELSE 0 END) AS foreign_calls,
  SUM(CASE WHEN weight_basis = 'assumed' THEN calls ELSE 0 END) AS assumed_calls,
  CAST(SUM(CASE WHEN {{.Kind "" "call" "aggregate"}} THEN 1 ELSE 0 END) AS {{.Long}}) AS measurement_rows,
  CAST(SUM(CASE WHEN {{.Kind "" "call" "aggregate"}} AND usd_per_core_hour IS NULL THEN 1 ELSE 0 END) AS {{.Long}}) AS unpriced_rows,
  CAST(SUM(CASE WHEN version IS NULL THEN 1 ELSE 0 END) AS {{.Long}}) AS versionless_rows,
  CAST(COUNT(DISTINCT CASE WHEN batch_id LIKE '%.%' THEN batch_id END) AS {{.Long}}) AS conflicting_batches,
  MIN(start_ns) AS first_ns, MAX(end_ns) AS last_ns
FROM {{.Calls}}
WHERE start_ns >= {{.Param}}from_ns AND start_ns < {{.Param}}to_ns
  {{.Only ""}}
GROUP BY {{.Service ""}}
ORDER BY {{.Service ""}}
{{end}}

{{define "freshness"}}
-- How long after their end rows were committed, by warehouse; file_commits is made by
-- the program from the files of each.
SELECT f.root, QUANTILE_CONT((f.committed_ns - r.end_ns) / 1e9, 0.99) AS p99_seconds
FROM method_files AS r
JOIN file_commits AS f ON f.parquet_file = r.parquet_file
WHERE r.level = 'raw' AND {{.Kind "r." "call" "counts"}}
  AND r.start_ns >= {{.Param}}from_ns AND r.start_ns < {{.Param}}to_ns
  {{.Only "r."}}
GROUP BY f.root
{{end}}
