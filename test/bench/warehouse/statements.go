package main

import (
	"fmt"
	"time"
)

// statements are what a user asks by SQL: what a call of each method costs, by version,
// of all rows and of one service on one day.
var statements = []struct{ name, where string }{
	{"version over version, all rows", ""},
	{"version over version, one service and day", fmt.Sprintf(" AND service = 'service-3' AND start_ns >= %d AND start_ns < %d", midnight.UnixNano(), midnight.Add(24*time.Hour).UnixNano())},
}

func statement(where string) string {
	return "SELECT class, method, version, SUM(cpu_ns / (p * cpu_p)) / SUM(cpu_measured / (p * cpu_p)) AS ns FROM method_calls WHERE cpu_measured > 0" + where + " GROUP BY class, method, version"
}
