package maintain

import (
	"fmt"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// A late row arrives for a date that has an hourly rollup, while the policy asks for minutes at its age. The row
// is rolled up by minute; the hourly rows stay.
func TestRollup_LateRowAfterHours(t *testing.T) {
	root, now := t.TempDir(), noon
	options := table.Options{Late: 30 * day, Now: func() time.Time { return now }}
	w, err := table.NewWriter(root, options)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	n := 0
	add := func(at time.Time) {
		t.Helper()
		n++
		id := fmt.Sprintf("item-%d", n)
		row := methodspan.Row{Resource: &methodspan.Resource{Service: "shop"}, Kind: methodspan.KindCall, Level: methodspan.LevelRaw, StartNS: at.UnixNano(), EndNS: at.UnixNano() + 5, Method: "m", Measured: 1, WallNS: 5, P: 1, BatchID: id}
		if res, err := w.Write(t.Context(), []methodspan.Item{{ID: id, Rows: []methodspan.Row{row}}}); err != nil || res.Rows != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	job := Job{Root: root, Policy: Policy{MaxFiles: DefaultMaxFiles, MinuteAfter: 7 * day, HourAfter: 10 * day}, Parquet: options}
	// run runs maintenance, checks its steps, and returns the number of files and of measurements per level.
	run := func(steps ...Action) string {
		t.Helper()
		now = now.Add(2 * time.Hour)
		report, err := job.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Steps) != len(steps) {
			t.Fatalf("steps %+v, want %v", report.Steps, steps)
		}
		for i, s := range report.Steps {
			if s.Action != steps[i] {
				t.Errorf("step %+v, want %v", s, steps[i])
			}
		}
		s, err := table.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, level := range []string{methodspan.LevelRaw, methodspan.LevelMinute, methodspan.LevelHour} {
			files, measured := 0, int64(0)
			for _, f := range s.Files {
				if f.Level == level {
					files++
				}
				rows, err := parquet.ReadRows(f.Path)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range rows {
					if r.Level != f.Level {
						t.Errorf("a row of level %s in a file of level %s", r.Level, f.Level)
					}
					if r.Level != level {
						continue
					}
					measured += r.Measured
					if spans := time.Duration(r.EndNS - r.StartNS); level == methodspan.LevelMinute && spans > time.Minute {
						t.Errorf("a sum of %s is of level %s", spans, level)
					}
				}
			}
			text += fmt.Sprintf("%s %d/%d ", level, files, measured)
		}
		return text
	}
	old := noon.Add(-12 * day).Truncate(time.Hour)
	for i := range 60 {
		add(old.Add(time.Duration(i) * time.Minute))
	}
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	want(run(Hour), "raw 0/0 minute 0/0 hour 1/60 ")
	job.Policy.HourAfter = DefaultHourAfter
	add(old.Add(time.Second))
	add(old.Add(3 * time.Hour))
	want(run(Minute), "raw 0/0 minute 1/2 hour 1/60 ")
	want(run(), "raw 0/0 minute 1/2 hour 1/60 ")
	add(old.Add(2 * time.Second))
	want(run(Minute), "raw 0/0 minute 1/3 hour 1/60 ")
	now = now.Add(20 * day)
	want(run(Hour), "raw 0/0 minute 0/0 hour 1/63 ")
}
