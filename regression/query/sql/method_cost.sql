{{define "method_cost"}}
-- What a row weighs. q = p * cpu_p is the probability that a row's CPU was
-- measured with, p that of its wall time.
--
-- A row of the tail stratum weighs 1/q and leaves the rest of its cell N_G calls:
-- those counted less those that tail rows stand for. A raw row outside of it
-- weighs N_G * (1/q) / sum over its cell of (cpu_measured / q). A row of level
-- minute or hour weighs 1/q: its probabilities are final. The same with p for
-- wall time, errors and callers.
--
-- Cells are nested: the minute of start, if every minute of its hour with calls
-- holds 20 effective records; else what such hours leave of the hour, if every
-- hour of the date with calls holds them; else what is left of the date. Each
-- call and each raw row is in one cell.
WITH minutes AS (
  SELECT
    {{.Key ""}},
    start_ns - MOD(start_ns, 60000000000) AS minute_ns,
    start_ns - MOD(start_ns, 3600000000000) AS hour_ns,
    start_ns - MOD(start_ns, 86400000000000) AS date_ns,
    SUM(calls) AS calls,
    SUM(CASE WHEN stratum = 'tail' THEN cpu_measured / NULLIF(p * cpu_p, 0) ELSE 0 END) AS cpu_tail,
    SUM(CASE WHEN stratum = 'tail' THEN 0 ELSE cpu_measured / NULLIF(p * cpu_p, 0) END) AS cpu_sum,
    SUM(CASE WHEN stratum = 'tail' THEN 0 ELSE cpu_measured / NULLIF(p * cpu_p * p * cpu_p, 0) END) AS cpu_squares,
    SUM(CASE WHEN stratum = 'tail' THEN measured / NULLIF(p, 0) ELSE 0 END) AS wall_tail,
    SUM(CASE WHEN stratum = 'tail' THEN 0 ELSE measured / NULLIF(p, 0) END) AS wall_sum,
    SUM(CASE WHEN stratum = 'tail' THEN 0 ELSE measured / NULLIF(p * p, 0) END) AS wall_squares
  FROM {{.Source}}
  WHERE level = 'raw' AND kind IN ('call', 'counts', 'aggregate')
  GROUP BY
    {{.Key ""}},
    start_ns - MOD(start_ns, 60000000000),
    start_ns - MOD(start_ns, 3600000000000),
    start_ns - MOD(start_ns, 86400000000000)
),
hours AS (
  SELECT
    *,
    SUM(calls) OVER one_hour AS hour_calls,
    SUM(cpu_sum) OVER one_hour AS hour_cpu_sum,
    SUM(cpu_squares) OVER one_hour AS hour_cpu_squares,
    SUM(wall_sum) OVER one_hour AS hour_wall_sum,
    SUM(wall_squares) OVER one_hour AS hour_wall_squares,
    MIN(CASE WHEN calls > 0 AND COALESCE(cpu_sum * cpu_sum / NULLIF(cpu_squares, 0), 0) < 20 THEN 0 ELSE 1 END)
      OVER one_hour AS cpu_by_minute,
    MIN(CASE WHEN calls > 0 AND COALESCE(wall_sum * wall_sum / NULLIF(wall_squares, 0), 0) < 20 THEN 0 ELSE 1 END)
      OVER one_hour AS wall_by_minute
  FROM minutes
  WINDOW one_hour AS (PARTITION BY {{.Key ""}}, hour_ns)
),
dates AS (
  SELECT
    *,
    MIN(CASE WHEN hour_calls > 0
             AND COALESCE(hour_cpu_sum * hour_cpu_sum / NULLIF(hour_cpu_squares, 0), 0) < 20 THEN 0 ELSE 1 END)
      OVER one_date AS cpu_by_hour,
    MIN(CASE WHEN hour_calls > 0
             AND COALESCE(hour_wall_sum * hour_wall_sum / NULLIF(hour_wall_squares, 0), 0) < 20 THEN 0 ELSE 1 END)
      OVER one_date AS wall_by_hour
  FROM hours
  WINDOW one_date AS (PARTITION BY {{.Key ""}}, date_ns)
),
cells AS (
  SELECT
    *,
    CASE WHEN cpu_by_minute = 1 THEN 'minute' WHEN cpu_by_hour = 1 THEN 'hour' ELSE 'date' END AS cell,
    CASE WHEN cpu_by_minute = 1 THEN minute_ns WHEN cpu_by_hour = 1 THEN hour_ns ELSE date_ns END AS cell_ns,
    CASE WHEN wall_by_minute = 1 THEN 'minute' WHEN wall_by_hour = 1 THEN 'hour' ELSE 'date' END AS cell_wall,
    CASE WHEN wall_by_minute = 1 THEN minute_ns WHEN wall_by_hour = 1 THEN hour_ns ELSE date_ns END AS cell_wall_ns
  FROM dates
),
factors AS (
  SELECT
    {{.Key ""}},
    minute_ns, cell, cell_ns, cell_wall, cell_wall_ns,
    SUM(calls - cpu_tail) OVER cpu_cell / NULLIF(SUM(cpu_sum) OVER cpu_cell, 0) AS cpu_factor,
    SUM(calls - wall_tail) OVER wall_cell / NULLIF(SUM(wall_sum) OVER wall_cell, 0) AS wall_factor
  FROM cells
  WINDOW
    cpu_cell AS (PARTITION BY {{.Key ""}}, cell, cell_ns),
    wall_cell AS (PARTITION BY {{.Key ""}}, cell_wall, cell_wall_ns)
),
weighed AS (
  SELECT
    c.*,
    CASE WHEN c.kind IN ('call', 'aggregate') AND c.measured > 0 AND c.cpu_measured > 0
      THEN (CASE WHEN c.level <> 'raw' OR c.stratum = 'tail' THEN 1 ELSE f.cpu_factor END) / NULLIF(c.p * c.cpu_p, 0)
      END AS w,
    CASE WHEN c.kind IN ('call', 'aggregate') AND c.measured > 0
      THEN (CASE WHEN c.level <> 'raw' OR c.stratum = 'tail' THEN 1 ELSE f.wall_factor END) / NULLIF(c.p, 0)
      END AS w_wall,
    CASE WHEN c.level <> 'raw' THEN c.level WHEN f.cpu_factor IS NULL THEN 'none' ELSE f.cell END AS cell,
    CASE WHEN c.level <> 'raw' THEN c.start_ns ELSE f.cell_ns END AS cell_ns,
    CASE WHEN c.level <> 'raw' THEN c.level WHEN f.wall_factor IS NULL THEN 'none' ELSE f.cell_wall END AS cell_wall,
    CASE WHEN c.level <> 'raw' THEN c.start_ns ELSE f.cell_wall_ns END AS cell_wall_ns
  FROM {{.Source}} AS c
  LEFT JOIN factors AS f
    ON c.start_ns - MOD(c.start_ns, 60000000000) = f.minute_ns
    AND {{.Same "c" "f" "service_namespace" "service" "environment" "version" "class" "method"}}
    AND c.kind <> 'process'
)
SELECT
  *,
  w * cpu_ns * usd_per_core_hour / 3.6e12 AS cost_usd
FROM weighed
{{end}}
