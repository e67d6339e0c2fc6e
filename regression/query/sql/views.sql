{{define "create_method_cost"}}
CREATE OR REPLACE VIEW method_cost AS
{{template "method_cost" .EveryRow}}
{{end}}

{{define "create_weights"}}
-- The weights of all rows, so that they are formed once. Views of it follow.
CREATE TABLE weights.formed AS
WITH {{template "weights" .}}
SELECT 'keys' AS what, * {{.Except}} (name, name_id) FROM keys
UNION ALL BY NAME
SELECT 'factors' AS what, * FROM factors
UNION ALL BY NAME
SELECT 'tight' AS what, * FROM tight
UNION ALL BY NAME
SELECT 'uncounted' AS what, * FROM uncounted
{{end}}

{{define "create_method_cost_of_weights"}}
-- The same view. The engine reads those columns of the rows only that a statement asks
-- for, which it can't where a statement forms weights itself.
CREATE OR REPLACE VIEW method_cost AS
SELECT {{template "with_cost" .}}
FROM ({{template "weighted_rows" .EveryRow}}){{.Within}}
{{end}}

{{define "view_of_method_cost"}}
-- The rows of the last 31 days with their weights. Made by the exporter, which
-- puts the names of project and dataset in.
WITH recent AS {{.Bounded "`PROJECT.DATASET.method_calls`" "event_date >= DATE_SUB(CURRENT_DATE('UTC'), INTERVAL 31 DAY)"}}
SELECT *, TIMESTAMP_MICROS(DIV(start_ns, 1000)) AS start_time
FROM ({{template "method_cost" (.From "recent").EveryRow}})
{{end}}

{{define "user"}}
-- A statement of the user's own behind the two relations that it may read. Weights are
-- formed of whole dates, the window is cut after that.
WITH whole_calls AS {{.Bounded "`PROJECT.DATASET.method_calls`" "event_date BETWEEN @from_date AND @to_date"}},
method_calls AS (
  SELECT *
  FROM whole_calls{{.Within}}
),
method_cost AS ({{template "method_cost" (.From "whole_calls").EveryRow}})
(
STATEMENT
)
{{end}}

{{define "extent"}}
-- From which date there are rows, and how many.
SELECT CAST(MIN(event_date) AS STRING) AS first_date, COUNT(*) AS row_count
FROM {{.Calls}}
WHERE kind IS NOT NULL
  {{.Only ""}}
{{end}}
