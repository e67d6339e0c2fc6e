package parquet

import (
	"bytes"
	"math"
	"slices"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/internal/methodspan"
)

// An end equal to start plus wall time is not stored; any other is.
func TestEncode_OmitsDerivedEnds(t *testing.T) {
	const start = 1_000
	for _, tc := range []struct {
		name             string
		start, wall, end int64
		measured         int64
		stored           bool
	}{
		{name: "a call", start: start, wall: 40, end: start + 40, measured: 1},
		{name: "a sum whose end follows by chance", start: start, wall: 40, end: start + 40, measured: 3},
		{name: "a call of no time", start: start, end: start, measured: 1},
		{name: "a negative time", start: start, wall: -40, end: start - 40, measured: 1},
		{name: "a start before 1970", start: -start, wall: 40, end: 40 - start, measured: 1},
		{name: "another end", start: start, wall: 40, end: start + 41, measured: 1, stored: true},
		{name: "counts, of which nothing was timed", start: start, end: start, stored: true},
		{name: "a wall time that is not stored", start: start, wall: 40, end: start + 40, stored: true},
		{name: "a sum that is too large", start: start, wall: math.MaxInt64, end: math.MinInt64 + start - 1, measured: 1, stored: true},
		{name: "a sum that is too small", start: -start, wall: math.MinInt64, end: math.MaxInt64 - start + 1, measured: 1, stored: true},
	} {
		row := methodspan.Row{
			Resource: shop, Kind: methodspan.KindCall, Level: methodspan.LevelRaw, StartNS: tc.start, EndNS: tc.end,
			Measured: tc.measured, WallNS: tc.wall, WallMaxNS: 7, BatchID: "a-1",
		}
		var file bytes.Buffer
		if _, err := NewEncoder().Encode(&file, []*methodspan.Row{&row}, &WriteGroup{}); err != nil {
			t.Fatal(err)
		}
		stored, err := pq.Read[record](bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if got := stored[0].EndNS; (got != nil) != tc.stored || got != nil && *got != tc.end {
			t.Errorf("%s: its end is stored: %v", tc.name, got)
		}
		c, err := ReadContent(file.Bytes())
		if err != nil || c.Rows[0].EndNS != tc.end {
			t.Errorf("%s: read back: %+v, %v", tc.name, c, err)
		}
		err = NewExchangeEncoder().Encode([]*methodspan.Row{&row}, func(_ string, _ []*methodspan.Row, file []byte) error {
			if ends := requiredEnds(t, file); !slices.Equal(ends, []int64{tc.end}) {
				t.Errorf("%s: in a file for other programs it ends at %v", tc.name, ends)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// requiredEnds returns the ends of the rows of a file in which end_ns is required.
func requiredEnds(t *testing.T, file []byte) (ends []int64) {
	t.Helper()
	f, err := pq.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	leaf, ok := f.Schema().Lookup("end_ns")
	if !ok || !leaf.Node.Required() {
		t.Fatal("end_ns is not required")
	}
	for _, g := range f.RowGroups() {
		v := longs{page: longsOf}
		if err := readVector(g.ColumnChunks()[leaf.ColumnIndex], &v); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, v.values[:v.rows]...)
	}
	return ends
}
