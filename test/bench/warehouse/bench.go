package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/regression/query"
)

const (
	// Goals of the design.
	goalWrite      = 1.0e6 // rows per CPU second
	goalBytesIDs   = 50
	goalBytesPlain = 16
	goalMerge      = 0.5e6
	goalMemory     = 1e9
	goalRawQuery   = 10 // seconds for 100M rows
	goalSumQuery   = 2
	goalOneService = 0.3
	bigRows        = 100_000_000

	batchRows = 32_768 // as in the exporter
)

// midnight is the start of the newest date.
var midnight = time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)

// dates returns the number of dates for the rows. It is chosen so that every date has enough files.
func dates(rows int) int { return min(max(rows/(16*batchRows), 1), 10) }

// first returns the start of the oldest date.
func first(rows int) time.Time { return midnight.AddDate(0, 0, 1-dates(rows)) }

type bench struct {
	*figures
	root string
	rows int
	ids  bool
	// verified contains the files whose checksums earlier queries verified.
	verified *parquet.VerifiedFiles
}

func (b *bench) with() string {
	if b.ids {
		return "ids of all traces"
	}
	return "ids of exemplars"
}

// write writes the rows as the exporter does, with every fsync.
func (b *bench) write(ctx context.Context) error {
	w, err := table.NewWriter(b.root, table.Options{Now: func() time.Time { return midnight.Add(30 * time.Hour) }})
	if err != nil {
		return err
	}
	defer w.Close()
	source := newSource(b.ids)
	var total cost
	var bytes int64
	for done := 0; done < b.rows; done += batchRows {
		item := source.item(done, b.rows)
		c, err := measure(func() error {
			res, err := w.Write(ctx, []methodspan.Item{item})
			bytes += res.Bytes
			return err
		})
		if err != nil {
			return err
		}
		total.cpu += c.cpu
		total.wall += c.wall
	}
	rows := float64(b.rows / batchRows * batchRows)
	goal := float64(goalBytesPlain)
	if b.ids {
		goal = goalBytesIDs
	}
	b.addFigure("write with sort and fsync, "+b.with(), rows/total.cpu, "rows/CPU-s", "higher", goalWrite)
	b.addFigure("write with sort and fsync by the clock, "+b.with(), rows/total.wall, "rows/s", "higher", 0)
	b.addFigure("bytes per row, "+b.with(), float64(bytes)/rows, "B", "lower", goal)
	return nil
}

// columns adds the bytes per column of the first file.
func (b *bench) columns(context.Context) error {
	s, err := table.Open(b.root)
	if err != nil {
		return err
	}
	file, err := os.Open(s.Files[0].Path)
	if err != nil {
		return err
	}
	defer file.Close()
	read, err := pq.OpenFile(file, s.Files[0].Bytes)
	if err != nil {
		return err
	}
	type column struct {
		name  string
		bytes int64
	}
	var columns []column
	var total int64
	for _, group := range read.Metadata().RowGroups {
		for i, c := range group.Columns {
			if i >= len(columns) {
				columns = append(columns, column{name: c.MetaData.PathInSchema[0]})
			}
			columns[i].bytes += c.MetaData.TotalCompressedSize
			total += c.MetaData.TotalCompressedSize
		}
	}
	slices.SortFunc(columns, func(a, b column) int { return int(b.bytes - a.bytes) })
	rows := float64(s.Files[0].Rows)
	rest := total
	for _, c := range columns[:10] {
		b.addFigure("bytes per row in "+c.name, float64(c.bytes)/rows, "B", "lower", 0)
		rest -= c.bytes
	}
	b.addFigure("bytes per row in the other columns", float64(rest)/rows, "B", "lower", 0)
	return nil
}

func (b *bench) maintain(ctx context.Context, p maintain.Policy, after time.Duration) (*maintain.Result, cost, error) {
	debug.FreeOSMemory()
	job := maintain.Job{Root: b.root, Policy: p, Parquet: table.Options{Now: func() time.Time { return midnight.Add(after) }}}
	var report *maintain.Result
	c, err := measure(func() (err error) {
		report, err = job.Run(ctx)
		return err
	})
	return report, c, err
}

func (b *bench) merge(ctx context.Context) error {
	before, err := table.Open(b.root)
	if err != nil {
		return err
	}
	rows, bytes := sizeOf(before.Files)
	report, c, err := b.maintain(ctx, maintain.Policy{MaxFiles: 2}, 31*time.Hour)
	if err != nil {
		return err
	}
	var merged int64
	for _, s := range report.Steps {
		merged += s.Rows
	}
	// The rate counts every row once, even if merging writes it several times.
	b.addFigure("merging", rows/c.cpu, "rows/CPU-s", "higher", goalMerge)
	b.addFigure("merging, times that a row is written", float64(merged)/rows, "", "lower", 0)
	b.addFigure("merging, memory", c.peakBytes, "B", "lower", goalMemory)
	b.addFigure("merging, bytes after by bytes before", float64(report.Bytes)/bytes, "", "lower", 0)
	return nil
}

func sizeOf(files []parquet.File) (rows, bytes float64) {
	for _, f := range files {
		rows += float64(f.Rows)
		bytes += float64(f.Bytes)
	}
	return rows, bytes
}

// sum creates hourly rollups next to the rows of the dates. Before that, it measures the comparison of versions
// without them.
func (b *bench) sum(ctx context.Context, what string) error {
	q := b.questions(0)[0]
	if err := b.time(ctx, q.profile(), what+" without rollups"); err != nil {
		return err
	}
	report, c, err := b.maintain(ctx, maintain.Policy{MaxFiles: maintain.DefaultMaxFiles, SumRows: maintain.DefaultSumRows}, 40*time.Hour)
	if err != nil {
		return err
	}
	var summed maintain.Step
	for _, s := range report.Steps {
		if s.Action == maintain.Sum {
			summed.Rows += s.Rows
			summed.Bytes += s.Bytes
			summed.OutRows += s.OutRows
			summed.OutBytes += s.OutBytes
		}
	}
	if summed.Rows == 0 {
		return nil // dates with so few rows get no rollup
	}
	b.addFigure("keeping hourly rollups, "+what, float64(summed.Rows)/c.cpu, "rows/CPU-s", "higher", 0)
	b.addFigure("keeping hourly rollups, "+what+", memory", c.peakBytes, "B", "lower", goalMemory)
	b.addFigure("rollup rows per row, "+what, float64(summed.OutRows)/float64(summed.Rows), "", "lower", 0)
	b.addFigure("rollup bytes per byte, "+what, float64(summed.OutBytes)/float64(summed.Bytes), "", "lower", 0)
	return nil
}

// roll rolls the dates up by minute, then by hour, and runs the queries on each.
func (b *bench) roll(ctx context.Context) error {
	for _, level := range []struct {
		name   string
		policy maintain.Policy
	}{
		{"minute", maintain.Policy{MaxFiles: maintain.DefaultMaxFiles, MinuteAfter: time.Hour}},
		{"hour", maintain.Policy{MaxFiles: maintain.DefaultMaxFiles, HourAfter: time.Hour}},
	} {
		report, c, err := b.maintain(ctx, level.policy, 40*time.Hour)
		if err != nil {
			return err
		}
		var rolled maintain.Step
		for _, s := range report.Steps {
			if s.Action == maintain.Merge { // merges only prepare the files of a date for the rollup
				continue
			}
			rolled.Rows += s.Rows
			rolled.Bytes += s.Bytes
			rolled.OutRows += s.OutRows
			rolled.OutBytes += s.OutBytes
		}
		b.addFigure("rolling up by "+level.name, float64(rolled.Rows)/c.cpu, "rows/CPU-s", "higher", 0)
		b.addFigure("rolling up by "+level.name+", memory", c.peakBytes, "B", "lower", goalMemory)
		b.addFigure("rows by "+level.name+" of a row before", float64(rolled.OutRows)/float64(rolled.Rows), "", "lower", 0)
		b.addFigure("bytes by "+level.name+" of a byte before", float64(rolled.OutBytes)/float64(rolled.Bytes), "", "lower", 0)
		if level.name == "minute" {
			if err := b.sum(ctx, "by minute"); err != nil {
				return err
			}
		}
		if err := b.ask(ctx, "by "+level.name, goalSumQuery); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) askRaw(ctx context.Context) error {
	if err := b.sum(ctx, "raw"); err != nil {
		return err
	}
	return b.ask(ctx, "raw", goalRawQuery)
}

// about is the scope of a query.
type about struct {
	name   string
	window query.Window
	filter query.Filter
	plain  int // index into statements
	goal   float64
}

// asked is a query to run.
type asked struct {
	name   string
	window query.Window
	goal   float64
	ask    func(context.Context, *query.Warehouse) (found int, err error)
}

// questions returns two scopes: everything, and one service and day.
func (b *bench) questions(goal float64) []about {
	day := query.Window{From: midnight, To: midnight.Add(24 * time.Hour)}
	all := []about{
		{"all services and days", query.Window{From: first(b.rows), To: day.To}, query.Filter{}, 0, goal},
		{"one service and day", day, query.Filter{Service: "service-3"}, 1, goalOneService},
	}
	if b.rows < bigRows {
		all[0].goal, all[1].goal = 0, 0
	}
	return all
}

// profile returns the query behind a comparison of versions, with all weights and clusters.
func (q about) profile() asked {
	return asked{"profile of " + q.name, q.window, q.goal, func(ctx context.Context, w *query.Warehouse) (int, error) {
		profiles, _, err := w.Profiles(ctx, query.ProfileQuery{Metric: query.CPU, Window: q.window, Filter: q.filter, TimeBucket: time.Hour})
		return len(profiles), err
	}}
}

// bySQL returns an SQL query of a user.
func (q about) bySQL(name string, goal float64, text string) asked {
	return asked{name, q.window, goal, func(ctx context.Context, w *query.Warehouse) (found int, err error) {
		err = w.UserRows(ctx, text, func([]query.UserColumn) error { return nil }, func([]any) error { found++; return nil })
		return found, err
	}}
}

// ask measures queries: the query behind a comparison of versions, the plain SQL statement that is also run on other
// stores, and the most expensive methods by the view. It also adds the share of the files that is opened
// for one day.
func (b *bench) ask(ctx context.Context, what string, goal float64) error {
	if err := b.verify(ctx, what); err != nil {
		return err
	}
	for _, q := range b.questions(goal) {
		where := statements[q.plain].where
		for _, a := range []asked{
			q.profile(),
			q.bySQL(statements[q.plain].name, q.goal, statement(where)),
			q.bySQL("most expensive methods by the view, "+q.name, 0, "SELECT service, class, method, SUM(cost_usd) AS usd FROM method_cost WHERE true"+
				where+" GROUP BY ALL ORDER BY usd DESC LIMIT 20"),
		} {
			if err := b.time(ctx, a, what); err != nil {
				return err
			}
		}
	}
	var opened [2]struct{ files, bytes float64 }
	for i, q := range b.questions(goal) {
		w, err := query.Open(ctx, b.root, q.window, query.WithVerifiedFiles(b.verified))
		if err != nil {
			return err
		}
		opened[i].files = float64(len(w.Files))
		_, opened[i].bytes = sizeOf(w.Files)
		if err := w.Close(); err != nil {
			return err
		}
	}
	b.addFigure("files opened for one day of "+fmt.Sprint(dates(b.rows))+", "+what+", of all", opened[1].files/opened[0].files, "", "lower", 0)
	b.addFigure("bytes of these, of all", opened[1].bytes/opened[0].bytes, "", "lower", 0)
	return nil
}

// verify verifies the checksums of the files, as the first query of a day does.
func (b *bench) verify(ctx context.Context, what string) error {
	s, err := table.Open(b.root)
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // the result for a very new file is not cached
	c, err := measure(func() error { return b.verified.Verify(ctx, s.Files) })
	if err != nil {
		return err
	}
	b.addFigure("files compared with their checksums, once in 24 h, "+what, c.wall, "s", "lower", 0)
	return nil
}

// time measures one query.
func (b *bench) time(ctx context.Context, a asked, what string) error {
	c, err := measure(func() error {
		w, err := query.Open(ctx, b.root, a.window, query.WithVerifiedFiles(b.verified))
		if err != nil {
			return err
		}
		found, err := a.ask(ctx, w)
		if found == 0 && err == nil {
			err = errors.New("no answer")
		}
		return errors.Join(err, w.Close())
	})
	if err != nil {
		return fmt.Errorf("%s, %s: %w", a.name, what, err)
	}
	b.addFigure(a.name+", "+what, c.wall, "s", "lower", a.goal)
	b.addFigure(a.name+", "+what+", CPU", c.cpu, "CPU-s", "lower", 0)
	return nil
}

// source generates rows like those of a busy installation: 300 methods of 12 services with Zipf popularity,
// 3 versions, skewed times.
type source struct {
	rng       *rand.Rand
	zipf      *rand.Zipf
	ids       bool
	resources []*methodspan.Resource
	classes   []string
	methods   []string
}

func newSource(ids bool) *source {
	s := &source{rng: rand.New(rand.NewPCG(1, 2)), ids: ids}
	s.zipf = rand.NewZipf(s.rng, 1.2, 4, 299)
	for i := range 36 {
		s.resources = append(s.resources, &methodspan.Resource{
			ServiceNamespace: "shop", Service: fmt.Sprintf("service-%d", i/3), Version: fmt.Sprintf("1.%d.0", i%3),
			Revision: fmt.Sprintf("%040x", i), Environment: "production", Instance: fmt.Sprintf("pod-%d", i),
			Host: fmt.Sprintf("node-%d", i%7), HostType: "c7g.2xlarge", CloudProvider: "aws", Region: "eu-central-1",
			CapacityType: "spot", ProcessStartNS: midnight.UnixNano() - int64(i)*1e9,
		})
	}
	for i := range 300 {
		s.classes = append(s.classes, fmt.Sprintf("shop/package%d.Type%d", i/30, i/6))
		s.methods = append(s.methods, fmt.Sprintf("Method%d", i))
	}
	return s
}

// item returns one batch of rows. from of of rows were generated before; they select the batch's part of the dates.
func (s *source) item(from, of int) methodspan.Item {
	id := fmt.Sprintf("p-%d", from/batchRows+1)
	item := methodspan.Item{ID: id, Rows: make([]methodspan.Row, batchRows)}
	price := 0.0425
	whole := float64(dates(of)) * 24 * float64(time.Hour)
	length := time.Duration(whole * batchRows / float64(of))
	start := first(of).Add(time.Duration(whole * float64(from) / float64(of)))
	for i := range item.Rows {
		m := int(s.zipf.Uint64())
		at := start.Add(time.Duration(s.rng.Int64N(int64(length)))).UnixNano()
		wall := int64(20_000 * (1 + s.rng.ExpFloat64()*s.rng.ExpFloat64()))
		r := &item.Rows[i]
		*r = methodspan.Row{
			Resource: s.resources[s.rng.IntN(len(s.resources))], Kind: methodspan.KindCall, Level: methodspan.LevelRaw, StartNS: at, EndNS: at + wall,
			Class: s.classes[m], Method: s.methods[m], Caller: "shop/web.Handler.Serve",
			Measured: 1, WallNS: wall, WallMaxNS: wall, P: 0.05, WeightBasis: methodspan.BasisExact,
			Tier: "mid", Reason: "tier", ConfiguredRate: 0.05, EffectiveRate: 0.05,
			USDPerCoreHour: &price, PriceSource: "book", CPUState: methodspan.CPUNotSampled, BatchID: id, RowSeq: int32(i),
		}
		switch s.rng.IntN(8) {
		case 0, 1:
			r.CPUMeasured, r.CPUNS, r.CPUMaxNS, r.CPUP, r.CPUState = 1, wall*3/4, wall*3/4, 0.25, methodspan.CPUExact
		case 2:
			r.Kind, r.Calls, r.Measured, r.WallNS, r.WallMaxNS, r.P, r.CPUState, r.Caller = methodspan.KindCounts, 140, 0, 0, 0, 0, "", ""
			continue
		}
		if s.ids || s.rng.IntN(50) == 0 {
			for k := range 16 {
				r.TraceID[k] = byte(s.rng.Uint32())
			}
			for k := range 8 {
				r.SpanID[k], r.ParentSpanID[k] = byte(s.rng.Uint32()), byte(s.rng.Uint32())
			}
		}
	}
	return item
}
