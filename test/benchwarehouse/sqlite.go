package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// numbers are the columns that SQLite must not take for text.
var numbers = map[string]string{
	"start_ns": "INTEGER", "end_ns": "INTEGER", "measured": "INTEGER", "cpu_measured": "INTEGER", "wall_ns": "INTEGER", "cpu_ns": "INTEGER",
	"wall_max_ns": "INTEGER", "cpu_max_ns": "INTEGER", "process_start_ns": "INTEGER", "row_seq": "INTEGER",
	"calls": "REAL", "errors": "REAL", "p": "REAL", "cpu_p": "REAL", "configured_rate": "REAL", "effective_rate": "REAL", "usd_per_core_hour": "REAL",
}

// inSQLite uses the program sqlite3, with an index for the second question.
func inSQLite(ctx context.Context, db *sql.DB, dir string) (*store, error) {
	s := &store{name: "SQLite"}
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		return nil, err
	}
	text, path := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "rows.sqlite")
	if err := run1(ctx, db, "COPY (SELECT * FROM rows) TO '"+text+"' (FORMAT csv, HEADER false)"); err != nil {
		return nil, err
	}
	var columns []string
	for _, c := range strings.Split(peerColumns, ", ") {
		if _, alias, ok := strings.Cut(c, " AS "); ok {
			c = alias
		}
		columns = append(columns, strings.TrimSpace(c+" "+numbers[c]))
	}
	if _, err := sqlite(ctx, program, path, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;",
		"CREATE TABLE calls ("+strings.Join(columns, ", ")+");", ".mode csv", ".import '"+text+"' calls",
		"CREATE INDEX service_and_time ON calls (service, start_ns);"); err != nil {
		return nil, err
	}
	if err := os.Remove(text); err != nil {
		return nil, err
	}
	if s.bytes, err = size(path); err != nil {
		return nil, err
	}
	for _, q := range questions {
		best := 0.0
		for n := range asks {
			seconds, err := sqlite(ctx, program, path, question("calls", q.where)+";")
			if err != nil {
				return nil, err
			}
			if n == 0 || seconds < best {
				best = seconds
			}
		}
		s.seconds = append(s.seconds, best)
	}
	return s, nil
}

// sqlite runs lines and tells the CPU that it took.
func sqlite(ctx context.Context, program, path string, lines ...string) (float64, error) {
	cmd := exec.CommandContext(ctx, program, "-batch", "-bail", path)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("sqlite3: %w: %.500s", err, out)
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}
