// Package weights computes the weight of a row, the number of calls that it represents: in Go for
// maintenance, which aggregates rows (Cells, Final), and in SQL for every statement that estimates
// from rows (weights.sql). A test compares both with a plain implementation of the rule.
package weights

import _ "embed"

// SQL contains the template "weights" and the templates that it uses, for package query.
//
//go:embed weights.sql
var SQL string
