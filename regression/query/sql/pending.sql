{{define "pending"}}
-- Measurements whose counts have not arrived, by method and version. They are in no figure.
{{if not .Asked}}WITH {{template "uncounted" .}}
{{end -}}
SELECT
  {{.Key "c."}},
  {{.Total `c.measured`}} AS measured,
  MIN(c.start_ns) AS first_ns, MAX(c.start_ns) AS last_ns
FROM {{.Rows}} AS c
JOIN uncounted AS u ON {{template "is_pending" .}}
WHERE c.start_ns >= {{.PendingFrom}} AND c.start_ns >= {{.Param}}from_ns AND c.start_ns < {{.Param}}to_ns
  {{.Only "c."}}
GROUP BY {{.Key "c."}}
ORDER BY {{.Key ""}}
{{end}}

{{define "create_uncounted"}}
CREATE OR REPLACE TABLE uncounted AS
WITH {{template "uncounted" .}}
SELECT * FROM uncounted
{{end}}

{{define "uncounted_from"}}
SELECT COALESCE(MIN(until_ns), -1) FROM uncounted
{{end}}
