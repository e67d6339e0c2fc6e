package main

import (
	"fmt"
	"time"
)

// statements are typical SQL queries of a user: the cost per call of each method by version, over all rows and
// over one service and day.
var statements = []struct{ name, where string }{
	{"version over version, all rows", ""},
	{"version over version, one service and day", fmt.Sprintf(" AND service = 'service-3' AND start_ns >= %d AND start_ns < %d", midnight.UnixNano(), midnight.Add(24*time.Hour).UnixNano())},
}

func statement(where string) string {
	return "SELECT class, method, version, SUM(cpu_ns / (p * cpu_p)) / SUM(cpu_measured / (p * cpu_p)) AS ns FROM method_calls WHERE cpu_measured > 0" + where + " GROUP BY class, method, version"
}
