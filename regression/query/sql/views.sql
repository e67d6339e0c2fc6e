{{define "create_method_cost"}}
CREATE VIEW method_cost AS
{{template "method_cost" .}}
{{end}}
