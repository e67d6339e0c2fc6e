{{define "weights"}}
-- What a row weighs. q = p * cpu_p is the probability that a row's CPU was
-- measured with, p that of its wall time.
--
-- A row of the tail stratum weighs 1/q and leaves the rest of its cell N_G calls:
-- those counted less those that tail rows stand for. A row outside of it weighs
-- N_G * (1/q) / sum over its cell of (cpu_measured / q). The same with p for wall
-- time, errors and callers.
--
-- Cells are nested: the minute of start, if every minute of its hour with calls
-- holds 20 effective records (less what adding 20 equal ones may round); else what
-- such hours leave of the hour, if every hour of the date with calls holds them;
-- else what is left of the date. Each call and each row is in one cell. Minutes and
-- hours are told apart by the collector's directory, too, what is left of a date is
-- not: it may have counted here what it timed there. So records without calls are in what
-- is left. If that has calls and no record, all others of the method's date weigh as much
-- more as to stand for these, too (scale).
--
-- The reason of a row of level minute or hour says in which cells its rows were, as
-- in 'minute/rest' for CPU and wall time. It weighs 1/q, which is final, unless that
-- is 'rest': then it is in what is left of the date, with the rows of other
-- directories, added up or not. ('none' is final, as is 'date', of older sums.)
--
-- All rows of a cell weigh its factor, over their own probability. So rows are added up
-- first, each over its probability, and sums are weighed. By hour at first: minutes are
-- told apart only where they may be cells. n records weigh as n effective ones at most, so
-- an hour needs 20 of them for each of its minutes with calls; most hours of most methods
-- have fewer, and as many minutes as records. Rows of the others are added up by minute, and
-- of those hours without calls whose minutes are cells because nothing was measured.
--
-- Nearly all rows count calls and measure nothing. They are added up by hour on their own
-- (tallies), without the columns that only measurements have; measured are the rows that may
-- have a weight. Their kinds are in a list, by which engines skip row groups of counts.
--
-- Statements that want sums weigh these, if they are much fewer than rows (summed), which
-- is in what they tell apart.
--
-- hour_ns and minute_ns tell directories apart by their last digits, from 1; with
-- none a time stands for the sums of a date. Where minutes are not told apart minute_ns
-- is the hour.
--
-- Methods of versions go by number: six names are dear to group and to join by.
-- holes says whether the caller of some of a method's measurements is not known,
-- name_id which methods of a version have the same full name.
--
-- Counts arrive up to a minute after measurements. A measurement that started after the end of
-- the last counts of its process is pending: its calls are in no N_G, so it is in no cell and has
-- no weight until they are. Only measurements of the newest hour can be: a process that was
-- killed sends no last counts, and its measurements count like those of other processes then.
{{if not .Asked}}{{template "uncounted" .}},
{{end -}}
measured AS {{.Inline}} (
  SELECT c.*
  FROM {{.Source}} AS c
  WHERE {{if not .NonePending}}c.start_ns < {{.PendingFrom}} AND {{end}}c.kind IN ('call', 'aggregate')
  {{- if not .NonePending}}
  UNION ALL
  SELECT c.*
  FROM {{.Source}} AS c
  LEFT JOIN uncounted AS u ON {{template "is_pending" .}}
  WHERE c.start_ns >= {{.PendingFrom}} AND c.kind IN ('call', 'aggregate') AND u.until_ns IS NULL
  {{- end}}
),
tallies AS {{.Stored}} (
  SELECT
    {{.Key ""}}, {{range .CountColumns}}{{.}}, {{end}}start_ns - MOD(start_ns, 3600000000000) + {{.Part ""}} AS hour_ns,
    BIT_OR(CASE WHEN calls > 0 THEN CAST(1 AS {{.Long}}) << {{.Minute "start_ns"}} END) AS minutes_with_calls,
    SUM(calls) AS calls
  FROM {{.Source}}
  WHERE {{.Kind "" "counts"}} AND {{.Raw ""}}
  GROUP BY {{.Key ""}}, {{range .CountColumns}}{{.}}, {{end}}start_ns - MOD(start_ns, 3600000000000) + {{.Part ""}}
),
rolled AS {{.Stored}} (
  SELECT
    {{.Key ""}}, start_ns - MOD(start_ns, 86400000000000) AS date_ns,
    {{- if .GroupsBy "caller"}}
    MAX(hole) AS holes,
    {{- end}}
    SUM(CASE WHEN reason LIKE 'rest/%' THEN calls - CASE WHEN stratum = 'tail' THEN COALESCE(cpu_n, 0) ELSE 0 END END) AS cpu_left,
    SUM(CASE WHEN reason LIKE 'rest/%' THEN CASE WHEN stratum = 'tail' THEN 0 ELSE cpu_n END END) AS cpu_sum,
    SUM(CASE WHEN reason LIKE 'rest/%' OR stratum = 'tail' THEN 0 ELSE COALESCE(cpu_n, 0) END) AS cpu_held,
    SUM(CASE WHEN reason LIKE '%/rest' THEN calls - CASE WHEN stratum = 'tail' THEN COALESCE(wall_n, 0) ELSE 0 END END) AS wall_left,
    SUM(CASE WHEN reason LIKE '%/rest' THEN CASE WHEN stratum = 'tail' THEN 0 ELSE wall_n END END) AS wall_sum,
    SUM(CASE WHEN reason LIKE '%/rest' OR stratum = 'tail' THEN 0 ELSE COALESCE(wall_n, 0) END) AS wall_held
  FROM ({{template "records" .}}
    {{template "of_sums" .}}
  )
  GROUP BY {{.Key ""}}, start_ns - MOD(start_ns, 86400000000000)
),
by_hour AS {{.Stored}} (
  SELECT
    {{.Key ""}}, {{.SumColumns}},
    start_ns - MOD(start_ns, 3600000000000) + {{.Part ""}} AS hour_ns,
    {{- if .GroupsBy "caller"}}
    MAX(hole) AS holes,
    {{- end}}
    BIT_OR(CASE WHEN calls > 0 THEN CAST(1 AS {{.Long}}) << {{.Minute "start_ns"}} END) AS minutes_with_calls,
    {{- template "sums" .}}
  FROM ({{template "records" .}}
    FROM measured AS c
    WHERE {{.Raw "c."}}
  )
  GROUP BY {{.Key ""}}, {{.SumColumns}}, hour_ns
  UNION ALL
  SELECT
    {{.Key ""}}, {{.CountsAsPieces}}, hour_ns,
    {{- if .GroupsBy "caller"}}
    0 AS holes,
    {{- end}}
    minutes_with_calls,
    {{- template "tallied_sums" .}}
  FROM (
    SELECT {{.Key ""}}, {{range .CountPieceColumns}}{{.}}, {{end}}hour_ns, BIT_OR(minutes_with_calls) AS minutes_with_calls, SUM(calls) AS calls
    FROM tallies
    GROUP BY {{.Key ""}}, {{range .CountPieceColumns}}{{.}}, {{end}}hour_ns
  )
),
keys AS {{.Stored}} (
  SELECT *, MIN(key_id) OVER (PARTITION BY {{.Version ""}}, name) AS name_id
  FROM (
    SELECT
      *,
      CASE WHEN COALESCE(class, '') = '' THEN method WHEN COALESCE(method, '') = '' THEN class ELSE class || '.' || method END AS name,
      ROW_NUMBER() OVER (ORDER BY {{.Key ""}}) AS key_id
    FROM (
      SELECT {{.Key ""}}{{if .GroupsBy "caller"}}, MAX(holes) AS holes{{end}}
      FROM (
        SELECT {{.Key ""}}{{if .GroupsBy "caller"}}, holes{{end}} FROM rolled
        UNION ALL
        SELECT {{.Key ""}}{{if .GroupsBy "caller"}}, holes{{end}} FROM by_hour
      )
      GROUP BY {{.Key ""}}
    )
  )
),
enough AS {{.Stored}} (
  SELECT {{.Key ""}}, hour_ns
  FROM by_hour
  GROUP BY {{.Key ""}}, hour_ns
  HAVING CASE
    WHEN BIT_OR(minutes_with_calls) IS NULL THEN COALESCE(SUM(cpu_n), 0) = 0 OR COALESCE(SUM(wall_n), 0) = 0
    ELSE SUM(measured) >= 20 * CAST(BIT_COUNT(BIT_OR(minutes_with_calls)) AS {{.Long}}) END
),
by_minute AS (
  SELECT
    {{.Key ""}}, {{.SumColumns}},
    start_ns - MOD(start_ns, 3600000000000) + {{.Part ""}} AS hour_ns,
    start_ns - MOD(start_ns, 60000000000) + {{.Part ""}} AS minute_ns,
    {{- template "sums" .}}
  FROM ({{template "records" .}}
    FROM measured AS c
    JOIN enough AS e
      ON {{.SameKey "c" "e"}}
        AND e.hour_ns = c.start_ns - MOD(c.start_ns, 3600000000000) + {{.Part "c."}}
    WHERE {{.Raw "c."}}
  )
  GROUP BY {{.Key ""}}, {{.SumColumns}}, hour_ns, minute_ns
  UNION ALL
  SELECT
    {{.Key ""}}, {{.CountsAsPieces}}, hour_ns, minute_ns,
    {{- template "tallied_sums" .}}
  FROM (
    SELECT
      {{.Key "c."}}, {{range .CountPieceColumns}}c.{{.}}, {{end}}e.hour_ns,
      c.start_ns - MOD(c.start_ns, 60000000000) + {{.Part "c."}} AS minute_ns,
      SUM(c.calls) AS calls
    FROM {{.Source}} AS c
    JOIN enough AS e
      ON {{.SameKey "c" "e"}}
        AND e.hour_ns = c.start_ns - MOD(c.start_ns, 3600000000000) + {{.Part "c."}}
    WHERE {{.Kind "c." "counts"}} AND {{.Raw "c."}}
    GROUP BY {{.Key "c."}}, {{range .CountPieceColumns}}c.{{.}}, {{end}}e.hour_ns, c.start_ns - MOD(c.start_ns, 60000000000) + {{.Part "c."}}
  )
),
pieces AS {{.Stored}} (
  SELECT k.key_id, k.name_id,{{if .GroupsBy "caller"}} k.holes,{{end}} h.* {{.Except}} ({{.Key ""}})
  FROM (
    SELECT h.hour_ns AS minute_ns, 0 AS may_hold, h.* {{.Except}} (minutes_with_calls{{if .GroupsBy "caller"}}, holes{{end}})
    FROM by_hour AS h
    LEFT JOIN enough AS e
      ON e.hour_ns = h.hour_ns AND {{.SameKey "h" "e"}}
    WHERE e.hour_ns IS NULL
    UNION ALL
    SELECT minute_ns, 1 AS may_hold, m.* {{.Except}} (minute_ns)
    FROM by_minute AS m
  ) AS h
  JOIN keys AS k ON {{.SameKey "h" "k"}}
),
minutes AS (
  SELECT
    key_id, hour_ns, minute_ns, may_hold,
    SUM(calls) AS calls,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN cpu_n END), 0) AS cpu_tail,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN NULL ELSE cpu_n END), 0) AS cpu_sum,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN NULL ELSE cpu_nn END), 0) AS cpu_squares,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN wall_n END), 0) AS wall_tail,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN NULL ELSE wall_n END), 0) AS wall_sum,
    COALESCE(SUM(CASE WHEN stratum = 'tail' THEN NULL ELSE wall_nn END), 0) AS wall_squares
  FROM pieces
  GROUP BY key_id, hour_ns, minute_ns, may_hold
),
hours AS (
  SELECT
    key_id, hour_ns,
    hour_ns - MOD(hour_ns, 86400000000000) + MOD(hour_ns, 3600000000000) AS date_ns,
    SUM(calls) AS calls,
    SUM(cpu_tail) AS cpu_tail, SUM(cpu_sum) AS cpu_sum, SUM(cpu_squares) AS cpu_squares,
    SUM(wall_tail) AS wall_tail, SUM(wall_sum) AS wall_sum, SUM(wall_squares) AS wall_squares,
    MIN(CASE
      WHEN calls > 0 AND (may_hold = 0 OR COALESCE(cpu_sum * cpu_sum / NULLIF(cpu_squares, 0), 0) < 19.99999998) THEN 0
      WHEN calls <= 0 AND (cpu_sum <> 0 OR cpu_tail <> 0) THEN 0
      ELSE 1 END) AS cpu_minutes_hold,
    MIN(CASE
      WHEN calls > 0 AND (may_hold = 0 OR COALESCE(wall_sum * wall_sum / NULLIF(wall_squares, 0), 0) < 19.99999998) THEN 0
      WHEN calls <= 0 AND (wall_sum <> 0 OR wall_tail <> 0) THEN 0
      ELSE 1 END) AS wall_minutes_hold
  FROM minutes
  GROUP BY key_id, hour_ns
),
dates AS (
  SELECT
    key_id, date_ns,
    MIN(CASE WHEN calls > 0 AND COALESCE(cpu_sum * cpu_sum / NULLIF(cpu_squares, 0), 0) < 19.99999998 THEN 0 ELSE 1 END) AS cpu_hours_hold,
    MIN(CASE WHEN calls > 0 AND COALESCE(wall_sum * wall_sum / NULLIF(wall_squares, 0), 0) < 19.99999998 THEN 0 ELSE 1 END) AS wall_hours_hold,
    SUM(calls - cpu_tail) AS cpu_calls,
    SUM(CASE WHEN cpu_minutes_hold = 0 THEN calls - cpu_tail END) AS cpu_calls_left,
    SUM(CASE WHEN cpu_minutes_hold = 0 AND calls <= 0 THEN calls - cpu_tail END) AS cpu_calls_alone,
    SUM(CASE WHEN cpu_minutes_hold = 0 THEN cpu_sum END) AS cpu_sum_left,
    SUM(CASE WHEN cpu_minutes_hold = 0 AND calls <= 0 THEN cpu_sum END) AS cpu_sum_alone,
    SUM(calls - wall_tail) AS wall_calls,
    SUM(CASE WHEN wall_minutes_hold = 0 THEN calls - wall_tail END) AS wall_calls_left,
    SUM(CASE WHEN wall_minutes_hold = 0 AND calls <= 0 THEN calls - wall_tail END) AS wall_calls_alone,
    SUM(CASE WHEN wall_minutes_hold = 0 THEN wall_sum END) AS wall_sum_left,
    SUM(CASE WHEN wall_minutes_hold = 0 AND calls <= 0 THEN wall_sum END) AS wall_sum_alone
  FROM hours
  GROUP BY key_id, date_ns
),
left_of_dates AS (
  SELECT
    key_id, date_ns, cpu_hours_hold, wall_hours_hold,
    SUM(cpu_left) OVER of_date / NULLIF(SUM(cpu_sum) OVER of_date, 0) AS cpu_factor,
    CASE WHEN COALESCE(SUM(cpu_sum) OVER of_date, 0) = 0 AND SUM(cpu_left) OVER of_date > 0 AND SUM(cpu_held) OVER of_date > 0
      THEN 1 + SUM(cpu_left) OVER of_date / NULLIF(SUM(cpu_held) OVER of_date, 0) ELSE 1 END AS cpu_scale,
    SUM(wall_left) OVER of_date / NULLIF(SUM(wall_sum) OVER of_date, 0) AS wall_factor,
    CASE WHEN COALESCE(SUM(wall_sum) OVER of_date, 0) = 0 AND SUM(wall_left) OVER of_date > 0 AND SUM(wall_held) OVER of_date > 0
      THEN 1 + SUM(wall_left) OVER of_date / NULLIF(SUM(wall_held) OVER of_date, 0) ELSE 1 END AS wall_scale
  FROM (
    SELECT
      key_id, date_ns, cpu_hours_hold, wall_hours_hold,
      CASE WHEN cpu_hours_hold = 0 THEN cpu_calls_left ELSE cpu_calls_alone END AS cpu_left,
      CASE WHEN cpu_hours_hold = 0 THEN cpu_sum_left ELSE cpu_sum_alone END AS cpu_sum,
      cpu_calls - COALESCE(CASE WHEN cpu_hours_hold = 0 THEN cpu_calls_left ELSE cpu_calls_alone END, 0) AS cpu_held,
      CASE WHEN wall_hours_hold = 0 THEN wall_calls_left ELSE wall_calls_alone END AS wall_left,
      CASE WHEN wall_hours_hold = 0 THEN wall_sum_left ELSE wall_sum_alone END AS wall_sum,
      wall_calls - COALESCE(CASE WHEN wall_hours_hold = 0 THEN wall_calls_left ELSE wall_calls_alone END, 0) AS wall_held
    FROM dates
    UNION ALL
    SELECT
      k.key_id, r.date_ns, 0 AS cpu_hours_hold, 0 AS wall_hours_hold,
      r.cpu_left, r.cpu_sum, r.cpu_held, r.wall_left, r.wall_sum, r.wall_held
    FROM rolled AS r
    JOIN keys AS k ON {{.SameKey "r" "k"}}
  )
  WINDOW of_date AS (PARTITION BY key_id, date_ns - MOD(date_ns, 86400000000000))
),
hourly AS (
  -- A factor is of an hour or a date; those of minutes follow.
  SELECT
    h.key_id, h.hour_ns,
    CASE WHEN h.cpu_minutes_hold = 1 THEN 'minute' WHEN d.cpu_hours_hold = 1 AND h.calls > 0 THEN 'hour' ELSE 'date' END AS cell,
    CASE WHEN d.cpu_hours_hold = 1 AND h.calls > 0 THEN h.hour_ns - MOD(h.hour_ns, 3600000000000) ELSE h.hour_ns - MOD(h.hour_ns, 86400000000000) END AS cell_ns,
    CASE
      WHEN h.cpu_minutes_hold = 1 THEN NULL
      WHEN d.cpu_hours_hold = 1 AND h.calls > 0 THEN d.cpu_scale * (h.calls - h.cpu_tail) / NULLIF(h.cpu_sum, 0)
      ELSE d.cpu_factor END AS cpu_factor,
    d.cpu_scale,
    CASE WHEN h.wall_minutes_hold = 1 THEN 'minute' WHEN d.wall_hours_hold = 1 AND h.calls > 0 THEN 'hour' ELSE 'date' END AS cell_wall,
    CASE WHEN d.wall_hours_hold = 1 AND h.calls > 0 THEN h.hour_ns - MOD(h.hour_ns, 3600000000000) ELSE h.hour_ns - MOD(h.hour_ns, 86400000000000) END AS cell_wall_ns,
    CASE
      WHEN h.wall_minutes_hold = 1 THEN NULL
      WHEN d.wall_hours_hold = 1 AND h.calls > 0 THEN d.wall_scale * (h.calls - h.wall_tail) / NULLIF(h.wall_sum, 0)
      ELSE d.wall_factor END AS wall_factor,
    d.wall_scale
  FROM hours AS h
  JOIN left_of_dates AS d ON h.key_id = d.key_id AND h.date_ns = d.date_ns
),
factors AS (
  SELECT key_id, hour_ns, cell, cell_ns, cpu_factor, cpu_scale, cell_wall, cell_wall_ns, wall_factor, wall_scale FROM hourly
  UNION ALL
  SELECT
    key_id, date_ns AS hour_ns,
    'date' AS cell, date_ns AS cell_ns, cpu_factor, cpu_scale, 'date' AS cell_wall, date_ns AS cell_wall_ns, wall_factor, wall_scale
  FROM left_of_dates
  WHERE MOD(date_ns, 86400000000000) = 0
),
tight AS (
  SELECT
    m.key_id, m.minute_ns,
    CASE WHEN a.cell = 'minute' THEN a.cpu_scale * (m.calls - m.cpu_tail) / NULLIF(m.cpu_sum, 0) END AS cpu_factor,
    CASE WHEN a.cell_wall = 'minute' THEN a.wall_scale * (m.calls - m.wall_tail) / NULLIF(m.wall_sum, 0) END AS wall_factor
  FROM minutes AS m
  JOIN hourly AS a ON m.key_id = a.key_id AND m.hour_ns = a.hour_ns
  WHERE a.cell = 'minute' OR a.cell_wall = 'minute'
)
{{end}}

{{define "records"}}
    -- Rows over their probabilities. timed are those that may have weights.
    SELECT
      {{.Key "c."}}, c.level, c.reason,
      {{range .GroupedBy}}c.{{.}}, {{end}}{{if .Parted}}c.part, {{end}}c.start_ns, c.stratum, c.calls, CAST(c.measured AS {{.Double}}) AS measured,
      {{- if .GroupsBy "caller"}}
      CASE WHEN c.measured > 0 AND c.caller IS NULL THEN 1 ELSE 0 END AS hole,
      {{- end}}
      CASE WHEN {{.Kind "c." "call" "aggregate"}} AND c.measured > 0 AND c.p <> 0 THEN 1 ELSE 0 END AS timed,
      c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS cpu_n, c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) / NULLIF(c.p * c.cpu_p, 0) AS cpu_nn,
      c.measured / NULLIF(c.p, 0) AS wall_n, c.measured / NULLIF(c.p, 0) / NULLIF(c.p, 0) AS wall_nn
      {{- if .GroupedBy}},
      CAST(c.cpu_measured AS {{.Double}}) AS cpu_measured, CASE WHEN c.{{.Measured}} > 0 THEN c.{{.Value}} END / NULLIF({{.Probability}}, 0) AS x
      {{- end}}
      {{- if .Errors}},
      c.wall_ns / NULLIF(c.p, 0) AS wall_x, c.wall_ns / NULLIF(c.measured, 0) * c.cpu_measured / NULLIF(c.p * c.cpu_p, 0) AS both_x, c.errors / NULLIF(c.p, 0) AS errors,
      {{.Waits}} / NULLIF(c.p * c.cpu_p, 0) AS waits
      {{- end}}
{{- end}}

{{define "of_sums"}}FROM {{.Source}} AS c
    WHERE c.level <> 'raw' AND {{.Kind "c." "call" "counts" "aggregate"}}{{end}}

{{define "uncounted"}}uncounted AS {{.Stored}} (
  -- Processes with measurements that started after the end of their last counts.
  SELECT {{.Process ""}}, MAX(CASE WHEN {{.Kind "" "counts" "process"}} THEN end_ns ELSE 0 END) AS until_ns
  FROM (
    SELECT {{.Process "c."}}, c.kind, MAX(c.start_ns) AS start_ns, MAX(c.end_ns) AS end_ns
    FROM {{.Sent}} AS c
    WHERE {{.Raw "c."}} AND c.weight_basis = 'exact' AND c.process_start_ns IS NOT NULL AND c.start_ns >= {{.Late}}
      {{- if not .Every}}
      {{.Only "c."}}
      {{- end}}
    GROUP BY {{.Process "c."}}, c.kind
  )
  GROUP BY {{.Process ""}}
  HAVING MAX(CASE WHEN {{.Kind "" "call" "aggregate"}} THEN start_ns END)
    >= MAX(CASE WHEN {{.Kind "" "counts" "process"}} THEN end_ns ELSE 0 END)
){{end}}

{{define "is_pending"}}u.process_start_ns = CASE WHEN c.start_ns >= {{.PendingFrom}} AND {{.Raw "c."}} AND {{.Kind "c." "call" "aggregate"}} AND c.weight_basis = 'exact' THEN c.process_start_ns END
    AND {{.SameInstance "u" "c"}}{{if .Asked}}{{.OnlyOf "u."}}{{end}} AND c.start_ns >= u.until_ns{{end}}

{{define "tallied_sums"}}
    calls, CAST(0 AS {{.Double}}) AS measured,
    CAST(NULL AS {{.Double}}) AS cpu_n, CAST(NULL AS {{.Double}}) AS cpu_nn, CAST(NULL AS {{.Double}}) AS wall_n, CAST(NULL AS {{.Double}}) AS wall_nn
    {{- if and .Summed .GroupedBy}},
    CAST(0 AS {{.Double}}) AS cpu_measured, CAST(NULL AS {{.Double}}) AS x{{if .Errors}}, CAST(NULL AS {{.Double}}) AS wall_x, CAST(NULL AS {{.Double}}) AS both_x, CAST(NULL AS {{.Double}}) AS errors, CAST(NULL AS {{.Double}}) AS waits{{end}}
    {{- end}}
{{- end}}

{{define "sums"}}
    SUM(calls) AS calls, SUM(measured) AS measured,
    SUM(cpu_n) AS cpu_n, SUM(cpu_nn) AS cpu_nn, SUM(wall_n) AS wall_n, SUM(wall_nn) AS wall_nn
    {{- if and .Summed .GroupedBy}},
    SUM(cpu_measured) AS cpu_measured, SUM(x) AS x{{if .Errors}}, SUM(wall_x) AS wall_x, SUM(both_x) AS both_x, SUM(errors) AS errors, SUM(waits) AS waits{{end}}
    {{- end}}
{{- end}}
