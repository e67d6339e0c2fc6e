package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// batchRows is the number of rows that the exporter writes at once.
const batchRows = 32_768

// store writes rows as the exporter does.
type store struct {
	writer *table.Writer
	rows   []methodspan.Row
	items  int
	stored int
}

func newStore(root string, now time.Time) (*store, error) {
	w, err := table.NewWriter(root, table.Options{Now: func() time.Time { return now }})
	if err != nil {
		return nil, err
	}
	return &store{writer: w}, nil
}

func (s *store) addRow(ctx context.Context, r methodspan.Row) error {
	s.rows = append(s.rows, r)
	if len(s.rows) < batchRows {
		return nil
	}
	return s.flush(ctx)
}

func (s *store) flush(ctx context.Context) error {
	if len(s.rows) == 0 {
		return nil
	}
	s.items++
	item := methodspan.Item{ID: fmt.Sprintf("bench-%d", s.items), Rows: s.rows}
	for i := range item.Rows {
		item.Rows[i].BatchID, item.Rows[i].RowSeq = item.ID, int32(i)
	}
	result, err := s.writer.Write(ctx, []methodspan.Item{item})
	s.stored += result.Rows
	s.rows = s.rows[:0]
	return err
}

func (s *store) close(ctx context.Context) error {
	err := s.flush(ctx)
	if cerr := s.writer.Close(); err == nil {
		err = cerr
	}
	return err
}

// binsOf is the number of values in a histogram of calls: equally likely quantiles of a log-normal distribution.
const binsOf = 12

// spread is the standard deviation of the logarithm in that distribution.
const spread = 0.5

// measure sets the measurement of a row to records calls with the given mean. Wall time and CPU time are equal.
func measure(r *methodspan.Row, records, mean float64) {
	n := int64(math.Round(records))
	r.Measured, r.CPUMeasured, r.P, r.CPUP = n, n, 1, 1
	r.WeightBasis, r.CPUState = methodspan.BasisExact, methodspan.CPUExact
	if n == 1 {
		r.WallNS, r.CPUNS = int64(mean), int64(mean)
		r.WallMaxNS, r.CPUMaxNS = r.WallNS, r.CPUNS
		return
	}
	var sum, squares, largest float64
	var bins methodspan.Histogram
	each := float64(n) / binsOf
	for i := range binsOf {
		x := mean * math.Exp(spread*math.Sqrt2*math.Erfinv(2*(float64(i)+0.5)/binsOf-1)-spread*spread/2)
		sum, squares, largest = sum+each*x, squares+each*x*x, max(largest, x)
		bins = append(bins, methodspan.Bin{Bin: methodspan.BinOf(x), N: each})
	}
	bins = bins.Normalize()
	r.WallNS, r.WallSq, r.WallMaxNS, r.WallHist = int64(sum), squares, int64(largest), bins
	r.CPUNS, r.CPUSq, r.CPUMaxNS, r.CPUHist = r.WallNS, squares, r.WallMaxNS, bins
}
