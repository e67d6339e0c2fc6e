package main

import (
	"context"
	"flag"
	"io"
	"testing"
	"time"

	"github.com/corehour/corehour/test/fixture"
)

var benchRows = flag.Int("rows", 3_000_000, "rows of the warehouse that benchmarks read")

// BenchmarkCommands times whole commands, including opening the warehouse.
func BenchmarkCommands(b *testing.B) {
	before := now
	now = func() time.Time { return fixture.Start.Add(24 * time.Hour) }
	defer func() { now = before }()
	root, rows := fixture.Synthetic{Rows: *benchRows, Services: 12, Methods: 25, Instances: 4, Minutes: 1440}.Write(b)
	for _, bench := range []struct {
		name string
		args []string
	}{
		{"regress", []string{"regress"}},
		{"regress one service", []string{"regress", "--service", "service-03"}},
		{"cost", []string{"cost", "--since", "2d"}},
		{"cost one service", []string{"cost", "--since", "2d", "--service", "service-03"}},
		{"check", []string{"check"}},
		{"sql weights", []string{"sql", "SELECT service, SUM(w * cpu_ns) FROM method_cost GROUP BY ALL"}},
		{"sql count", []string{"sql", "SELECT COUNT(*) FROM method_calls"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			args := append([]string{bench.args[0], "--warehouse", root}, bench.args[1:]...)
			for b.Loop() {
				if code := run(context.Background(), args, io.Discard, io.Discard); code == exitFailed {
					b.Fatalf("%q failed", args)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
