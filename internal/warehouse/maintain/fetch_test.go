package maintain_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

const (
	day   = 24 * time.Hour
	local = 60_000 // limit of the local directory in bytes
)

// bucketOf creates a warehouse in a bucket. It has eight files of a date ten days ago, together larger than the
// local directory's limit, and small files of today.
func bucketOf(t *testing.T, options table.Options, root string) *bucket.Writer {
	t.Helper()
	now := options.Now()
	address := "file://" + t.TempDir()
	w, err := bucket.NewWriter(t.Context(), bucket.Options{Address: address, Prefix: "host-1", Directory: root, LocalBytes: 1 << 30, Interval: time.Hour}, options)
	if err != nil {
		t.Fatal(err)
	}
	for i, daysAgo := range []int{10, 10, 10, 10, 10, 10, 10, 10, 0, 0, 0, 0, 0} {
		rows := 250
		if daysAgo == 0 {
			rows = 20
		}
		it := methodspan.Item{ID: fmt.Sprintf("item-%d", i)}
		for j := range rows {
			start := now.Add(-time.Duration(daysAgo)*day - time.Duration(j)*time.Second).UnixNano()
			it.Rows = append(it.Rows, methodspan.Row{
				Resource: &methodspan.Resource{Service: "shop"}, Kind: methodspan.KindCall, Level: methodspan.LevelRaw, StartNS: start, EndNS: start + 5,
				Method: "m", Measured: 1, WallNS: 5, P: 1, BatchID: it.ID, RowSeq: int32(j), TraceID: [16]byte{byte(i), byte(j), byte(j >> 8), 1},
				RequestID: fmt.Sprintf("%x", (i*1000+j)*2654435761), Stack: fmt.Sprintf("%064x", (i*1000+j)*40503*2654435761),
			})
		}
		if _, err := w.Write(t.Context(), []methodspan.Item{it}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w, err = bucket.NewWriter(t.Context(), bucket.Options{Address: address, Prefix: "host-1", Directory: root, LocalBytes: local, Interval: time.Hour}, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// A date larger than the limit of the bucket's local directory is not rolled up. Its files are merged as far as
// they fit. All other steps that are due still run, for this date and the others.
func TestRun_DateTooLargeToFetch(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	options := table.Options{Late: 30 * day, Now: func() time.Time { return now }}
	root := t.TempDir()
	w := bucketOf(t, options, root)
	var size int64
	old := filesOf(t, root, now.Add(-10*day))
	for _, f := range old {
		size += f.Bytes
	}
	if len(old) != 8 || size <= local || size/4 > local {
		t.Fatalf("%d files of %d bytes do not show it", len(old), size)
	}
	now = now.Add(2 * time.Hour) // so that the date counts as quiet
	run := func(p maintain.Policy) (*maintain.Result, error) {
		job := maintain.Job{Root: root, Policy: p, Parquet: options, Fetch: w.Fetch, FetchBytes: w.FetchBytes()}
		return job.Run(t.Context())
	}
	p := maintain.Policy{MaxFiles: 2, MinuteAfter: 7 * day, KeepRollups: 400 * day}
	if _, err := run(p); !errors.Is(err, warehouse.ErrTooLarge) || errors.Is(err, warehouse.ErrFull) || !strings.Contains(err.Error(), "date=2026-11-11") {
		t.Errorf("%v, want one that names the date", err)
	}
	if n := len(filesOf(t, root, now)); n > 2 {
		t.Errorf("%d files of today are left", n)
	}
	if n := len(filesOf(t, root, now.Add(-10*day))); n >= len(old) {
		t.Errorf("none of the %d old files were merged", n)
	}
	p.KeepIDs = 5 * day
	if _, err := run(p); !errors.Is(err, warehouse.ErrTooLarge) {
		t.Error(err)
	}
	for _, f := range filesOf(t, root, now.Add(-10*day)) {
		if !f.NoIDs {
			t.Errorf("%s has its ids still", f.Path)
		}
	}
	p.KeepIDs, p.KeepRollups = 0, 9*day
	if report, err := run(p); err != nil || len(report.Steps) == 0 || report.Steps[0].Action != maintain.Expire {
		t.Errorf("%+v, %v, want the old date dropped", report, err)
	}
}

// If no two files can be fetched together, no step tries to merge them.
func TestMerge_FilesTooLargeToFetch(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	options := table.Options{Late: 30 * day, Now: func() time.Time { return now }}
	root := t.TempDir()
	w := bucketOf(t, options, root)
	old := filesOf(t, root, now.Add(-10*day))
	limit := old[0].Bytes
	for _, f := range old {
		limit = min(limit, f.Bytes)
	}
	limit += limit / 2
	fetch := func(ctx context.Context, files []parquet.File) (func(), error) {
		var size int64
		for _, f := range files {
			size += f.Bytes
		}
		if size > limit {
			t.Errorf("%d files of %d bytes are fetched at once, %d can be", len(files), size, limit)
		}
		return w.Fetch(ctx, files)
	}
	job := maintain.Job{Root: root, Policy: maintain.Policy{MaxFiles: 2}, Parquet: options, Fetch: fetch, FetchBytes: limit}
	for _, dry := range []bool{true, false} {
		job.DryRun = dry
		report, err := job.Run(t.Context())
		if err != nil || len(report.Steps) == 0 {
			t.Errorf("%+v, %v, want the small files of today merged", report, err)
		}
		for _, s := range report.Steps {
			if s.Date != now.Format(time.DateOnly) {
				t.Errorf("%+v", s)
			}
		}
	}
	if n := len(filesOf(t, root, now.Add(-10*day))); n != len(old) {
		t.Errorf("%d of %d old files are left", n, len(old))
	}
	job.Policy = maintain.Policy{MaxFiles: 200, KeepIDs: 5 * day} // file by file
	if report, err := job.Run(t.Context()); err != nil || len(report.Steps) != len(old) {
		t.Errorf("%+v, %v, want the ids of %d files left out", report, err, len(old))
	}
}

// A service can be renamed in, and deleted from, a date larger than the limit of the bucket's local directory:
// each step takes some of the files.
func TestServices_DateTooLargeToFetch(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	options := table.Options{Late: 30 * day, Now: func() time.Time { return now }}
	root := t.TempDir()
	w := bucketOf(t, options, root)
	job := maintain.Job{Root: root, Parquet: options, Fetch: w.Fetch, FetchBytes: w.FetchBytes()}
	rows := func(r *maintain.Result) (in, out, outBytes int64) {
		for _, s := range r.Steps {
			in, out, outBytes = in+s.Rows, out+s.OutRows, outBytes+s.OutBytes
			if s.Bytes > local {
				t.Errorf("%+v takes more than %d bytes at once", s, local)
			}
		}
		return in, out, outBytes
	}
	const all = 8*250 + 5*20
	report, err := job.RelabelService(t.Context(), "shop", "market")
	if in, out, _ := rows(report); err != nil || in != all || out != all || len(report.Steps) < 3 {
		t.Errorf("%d rows became %d: %+v, %v", in, out, report, err)
	}
	// A file without rows is not written and takes no space.
	report, err = job.DeleteService(t.Context(), "market")
	if in, out, outBytes := rows(report); err != nil || in != all || out != 0 || outBytes != 0 || report.Bytes != 0 {
		t.Errorf("%d rows became %d in %d bytes: %+v, %v", in, out, outBytes, report, err)
	}
	for _, at := range []time.Time{now, now.Add(-10 * day)} {
		if files := filesOf(t, root, at); len(files) > 0 {
			t.Errorf("%+v are left", files)
		}
	}
}

func filesOf(t *testing.T, root string, day time.Time) []parquet.File {
	t.Helper()
	m, err := table.NewMaintainer(root, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	dates, err := m.Dates()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dates {
		if d.Date == day.Format(time.DateOnly) {
			return d.Files
		}
	}
	return nil
}
