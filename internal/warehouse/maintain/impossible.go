package maintain

import (
	"cmp"
	"context"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Impossible counts the rows of a service in a file that have impossible numbers.
type Impossible struct {
	Of
	Rows int64 `json:"rows"`
}

// Of identifies a service and a file.
type Of struct {
	File        string `json:"file"`
	Namespace   string `json:"service_namespace"`
	Service     string `json:"service"`
	Environment string `json:"environment"`
}

func (o Of) compare(other Of) int {
	return cmp.Or(cmp.Compare(o.File, other.File), cmp.Compare(o.Service, other.Service), cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Environment, other.Environment))
}

// maxImpossible bounds the entries of a report. One more entry counts all other rows.
const maxImpossible = 10_000

// DropImpossible removes impossible numbers from stored rows, as readers do each time they read
// them (methodspan.Row.Bound). All rows stay, so results do not change. Rows that start in the
// future do not change: the store takes none more than a day ahead, and they are read when their
// time comes.
func (j *Job) DropImpossible(ctx context.Context) (*Result, error) {
	found := map[Of]int64{}
	report, err := j.withDates(ctx, func(r *runner, d *table.Date) error { return r.dropImpossible(ctx, d, found) })
	for of, rows := range found {
		report.Impossible = append(report.Impossible, Impossible{of, rows})
	}
	slices.SortFunc(report.Impossible, func(a, b Impossible) int { return a.compare(b.Of) })
	return report, err
}

func (r *runner) dropImpossible(ctx context.Context, d *table.Date, found map[Of]int64) error {
	until := methodspan.Until(r.now)
	had := d.Sums != nil
	err := r.rewrite(ctx, d, Mend, parquet.RunOptions{Edit: func(_ int, row *methodspan.Row) bool {
		row.Bound(until)
		return true
	}}, func(f parquet.File) (bool, error) {
		return impossible(ctx, f, until, found)
	})
	if err != nil || !had || r.DryRun {
		return err
	}
	return r.preaggregate(ctx, d)
}

// impossible reports whether a file has rows with such numbers, and counts them in found.
func impossible(ctx context.Context, f parquet.File, until int64, found map[Of]int64) (has bool, err error) {
	run, err := parquet.OpenRun(ctx, []parquet.File{f}, parquet.RunOptions{Without: ids})
	if err != nil {
		return false, err
	}
	defer run.Close()
	for {
		row, err := run.Next()
		if row == nil || err != nil {
			return has, err
		}
		if !row.Bound(until) {
			continue
		}
		has = true
		of := Of{f.Path, row.Resource.ServiceNamespace, row.Resource.Service, row.Resource.Environment}
		if _, known := found[of]; !known && len(found) >= maxImpossible {
			of = Of{Service: "(others)"}
		}
		found[of]++
	}
}
