package parquet

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/rowtest"
)

// hostile are names that break careless code.
var hostile = []string{
	"../../etc/passwd", `a'; DROP TABLE method_calls; --`, `"quoted"`, "new\nline\r\t", "nul\x00byte", "\x1b[31mred",
	"🦀.(*Überprüfung).λ", "\xff\xfe not utf-8", "<script>alert(1)</script>", "=cmd|' /C calc'!A0", " ", "%s%d%n",
	strings.Repeat("x", 64<<10), strings.Repeat("ü", 300) + "a", strings.Repeat("ü", 300) + "b", "(overflow)", "NULL",
}

// anyRow returns a row with random fields, each of them known or unknown.
func anyRow(rng *rand.Rand, resources []*methodspan.Resource) methodspan.Row {
	name := func() string {
		switch rng.IntN(4) {
		case 0:
			return ""
		case 1:
			return hostile[rng.IntN(len(hostile))]
		default:
			return string(rune('a' + rng.IntN(5)))
		}
	}
	number := func() float64 {
		return []float64{0, 1, 0.5, -3, math.Copysign(0, -1), math.Inf(1), 1e-300, rng.Float64()}[rng.IntN(8)]
	}
	r := methodspan.Row{
		Resource: resources[rng.IntN(len(resources))], Kind: name(), Level: methodspan.LevelRaw,
		StartNS: noon.UnixNano() + rng.Int64N(1e9), Class: name(), Method: name(), Signature: name(), Caller: name(),
		Stack: name(), Group: name(), Calls: number(), Errors: number(), P: math.Abs(number()), CPUP: math.Abs(number()), Stratum: name(),
		ConfiguredRate: math.Abs(number()), EffectiveRate: math.Abs(number()), Tier: name(), Reason: name(), WeightBasis: name(), CPUState: name(),
		PriceSource: name(), RequestID: name(), BatchID: name(), RowSeq: rng.Int32(),
	}
	histogram := func() (h methodspan.Histogram) {
		for i := range rng.IntN(4) {
			h = append(h, methodspan.Bin{Bin: int32(i * 3), N: rng.Float64()})
		}
		return h
	}
	if r.Measured = int64(rng.IntN(3)); r.Measured > 0 {
		r.WallNS = []int64{rng.Int64() - rng.Int64(), rng.Int64N(1e9), 0, -7, math.MaxInt64, math.MinInt64}[rng.IntN(6)]
		r.WallMaxNS, r.WallSq, r.WallHist = rng.Int64N(5), float64(rng.IntN(2)), histogram()
	}
	r.EndNS = anyEnd(rng, r.StartNS, r.WallNS)
	if r.CPUMeasured = int64(rng.IntN(3)); r.CPUMeasured > 0 {
		r.CPUNS, r.CPUMaxNS, r.CPUSq, r.CPUHist = rng.Int64N(2), rng.Int64N(5), float64(rng.IntN(2)), histogram()
	}
	if rng.IntN(3) == 0 {
		price := number()
		r.USDPerCoreHour = &price
	}
	if rng.IntN(10) == 0 {
		r.Process = &methodspan.ProcessStats{Cores: number(), HostCores: float64(uint32(r.RowSeq) % 3), CPULimit: float64(uint32(r.RowSeq)%5) / 2, RSSBytes: rng.Int64(), CallsTotal: rng.Int64(), Final: rng.IntN(2) == 0}
		for range rng.IntN(3) {
			r.Process.Stats = append(r.Process.Stats, methodspan.Stat{Name: name(), Value: number()})
		}
	}
	if rng.IntN(2) == 0 {
		r.TraceID[rng.IntN(16)], r.SpanID[rng.IntN(8)], r.ParentSpanID[rng.IntN(8)] = 1, 2, byte(rng.IntN(2))
	}
	return r
}

// anyEnd returns an end that equals start plus wall time, or nearly, or is unrelated.
func anyEnd(rng *rand.Rand, start, wall int64) int64 {
	return []int64{start + wall, start + wall + 1, start + wall - 1, start, 0, -start, math.MaxInt64, math.MinInt64, start + rng.Int64N(1e12)}[rng.IntN(9)]
}

func anyResources(rng *rand.Rand, n int) []*methodspan.Resource {
	list := make([]*methodspan.Resource, n)
	for i := range list {
		r := &methodspan.Resource{Service: string(rune('a' + rng.IntN(3))), ProcessStartNS: rng.Int64N(2)}
		v := reflect.ValueOf(r).Elem()
		for f := range v.NumField() {
			if v.Field(f).Kind() == reflect.String && rng.IntN(3) == 0 {
				v.Field(f).SetString(hostile[rng.IntN(len(hostile))])
			}
		}
		list[i] = r
	}
	return list
}

// encodeRows encodes the rows and reads them back.
func encodeRows(t testing.TB, e *Encoder, rows []methodspan.Row) []methodspan.Row {
	t.Helper()
	pointers := make([]*methodspan.Row, len(rows))
	for i := range rows {
		pointers[i] = &rows[i]
	}
	var buf bytes.Buffer
	if _, err := e.Encode(&buf, pointers, &WriteGroup{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "f.parquet")
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRows(path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// clean replaces invalid UTF-8 in all strings of the row.
func clean(r *methodspan.Row) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			v.SetString(strings.ToValidUTF8(v.String(), "\uFFFD"))
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Pointer:
			if !v.IsNil() {
				c := reflect.New(v.Type().Elem())
				c.Elem().Set(v.Elem())
				v.Set(c)
				walk(c.Elem())
			}
		}
	}
	walk(reflect.ValueOf(r).Elem())
}

// deduceMaxima sets the maxima of rows with one measured call, as reading does.
func deduceMaxima(r *methodspan.Row) {
	if r.Measured == 1 && r.WallMaxNS == 0 {
		r.WallMaxNS = r.WallNS
	}
	if r.CPUMeasured == 1 && r.CPUMaxNS == 0 {
		r.CPUMaxNS = r.CPUNS
	}
}

// sortedCopy returns a copy of the rows in the sort order of files.
func sortedCopy(rows []methodspan.Row) []methodspan.Row {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b methodspan.Row) int {
		for _, c := range []int{
			strings.Compare(a.Resource.Service, b.Resource.Service), strings.Compare(a.Class, b.Class),
			strings.Compare(a.Method, b.Method), strings.Compare(a.Resource.Version, b.Resource.Version),
		} {
			if c != 0 {
				return c
			}
		}
		return int(a.StartNS - b.StartNS)
	})
	return rows
}

// Any row is read back unchanged, in the documented order.
func TestEncode_RoundTrip(t *testing.T) {
	e := NewEncoder() // shared, so that data left over from the previous file is detected
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		resources := anyResources(rng, 1+rng.IntN(4))
		rows := make([]methodspan.Row, 1+rng.IntN(60))
		for i := range rows {
			rows[i] = anyRow(rng, resources)
			rows[i].StartNS = noon.UnixNano() + int64(i)*7 // unique, so that the order is unambiguous
			rows[i].EndNS = anyEnd(rng, rows[i].StartNS, rows[i].WallNS)
		}
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		got := encodeRows(t, e, rows)
		for i := range rows {
			clean(&rows[i])
			deduceMaxima(&rows[i])
		}
		want := sortedCopy(rows)
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d rows, want %d", seed, len(got), len(want))
		}
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("seed %d, row %d:\n got %+v\nwant %+v", seed, i, got[i], want[i])
			}
		}
	}
}

// The maximum of a single value is not stored, and is set again when the row is read.
func TestEncode_OmitsMaximumOfOneValue(t *testing.T) {
	row := methodspan.Row{
		Resource: &methodspan.Resource{Service: "shop"}, Kind: methodspan.KindCall, Level: methodspan.LevelRaw,
		StartNS: noon.UnixNano(), EndNS: noon.UnixNano() + 40, Measured: 1, WallNS: 40, WallMaxNS: 40,
		CPUMeasured: 1, CPUNS: 30, CPUMaxNS: 30, P: 0.5, CPUP: 1,
	}
	path := filepath.Join(t.TempDir(), "new.parquet")
	var buf bytes.Buffer
	if _, err := NewEncoder().Encode(&buf, []*methodspan.Row{&row}, &WriteGroup{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	stored, err := pq.ReadFile[record](path)
	if err != nil || stored[0].WallMaxNS != nil || stored[0].CPUMaxNS != nil {
		t.Fatalf("stored: %+v, %v", stored, err)
	}
	if got, err := ReadRows(path); err != nil || !reflect.DeepEqual(got[0], row) {
		t.Fatalf("read: %+v, %v, want %+v", got, err, row)
	}
}

// There are more rows than a row group holds, and more distinct values than a dictionary is worth.
func TestEncode_ManyRowGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	items := rowtest.RandomItems(rng, 30, 256, false)
	var rows []methodspan.Row
	for i := range items {
		for j := range items[i].Rows {
			r := items[i].Rows[j]
			r.StartNS = noon.UnixNano() + int64(len(rows))
			r.RequestID = time.Duration(rng.Int64()).String()
			if j%7 == 0 {
				r.RequestID = ""
			}
			rows = append(rows, r)
		}
	}
	e := NewEncoder()
	e.groupRows = 1000
	got, want := encodeRows(t, e, rows), sortedCopy(rows)
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("row %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

// The schema made from the list of columns equals the one that the library makes from record, and its
// leaves are the columns that are written and read.
func TestSchema_EqualsColumns(t *testing.T) {
	w := pq.NewGenericWriter[record](io.Discard)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	found := schema().Schema
	if want := w.File().Metadata().Schema; !reflect.DeepEqual(found[1:], want[1:]) || found[0].Name != want[0].Name {
		t.Errorf("schema\n%v\nwant\n%v", found, want)
	}
	want := leafPaths()
	var paths [][]string
	for _, c := range newTable().leaves {
		paths = append(paths, c.path)
	}
	if !reflect.DeepEqual(paths, want) || len(schemaTypes()) != len(want) {
		t.Errorf("%d types, columns %v\nschema  %v", len(schemaTypes()), paths, want)
	}
	for i, c := range newBlock(nil, nil).columns {
		if c.path != strings.Join(want[i], ".") {
			t.Errorf("column %d is read as %s, want %v", i, c.path, want[i])
		}
	}
}

// Row groups contain the statistics by which queries skip them.
func TestStatistics(t *testing.T) {
	rows := item("a-1", noon, 10).Rows
	pointers := make([]*methodspan.Row, len(rows))
	for i := range rows {
		pointers[i] = &rows[i]
	}
	var buf bytes.Buffer
	if _, err := NewEncoder().Encode(&buf, pointers, &WriteGroup{}); err != nil {
		t.Fatal(err)
	}
	file, err := pq.OpenFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	rg := file.Metadata().RowGroups[0]
	if len(rg.SortingColumns) != 5 || rg.NumRows != 10 {
		t.Errorf("row group: %+v", rg)
	}
	found := map[string][2]string{}
	for _, c := range rg.Columns {
		found[c.MetaData.PathInSchema[0]] = [2]string{string(c.MetaData.Statistics.MinValue), string(c.MetaData.Statistics.MaxValue)}
		if c.MetaData.PathInSchema[0] == "revision" && c.MetaData.Statistics.NullCount != 10 {
			t.Errorf("revision: %+v", c.MetaData.Statistics)
		}
	}
	for name, want := range map[string][2]string{
		"service":  {"shop", "shop"},
		"method":   {"M0", "M2"},
		"start_ns": {string(appendLong(nil, rows[0].StartNS)), string(appendLong(nil, rows[9].StartNS))},
		"revision": {"", ""},
		"calls":    {string(appendDouble(nil, math.Copysign(0, -1))), string(appendDouble(nil, 0))},
	} {
		if found[name] != want {
			t.Errorf("%s: statistics %q, want %q", name, found[name], want)
		}
	}
}
