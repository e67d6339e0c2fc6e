// Package weights says how many calls a row stands for: in Go for maintenance, which adds rows up
// (Cells, Final), and in SQL for every statement that estimates from rows (weights.sql). A test
// compares both with the rule, said as plainly as it can be.
package weights

import _ "embed"

// SQL are the templates "weights" and those it is made of, for package query.
//
//go:embed weights.sql
var SQL string
