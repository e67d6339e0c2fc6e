package methodspan

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Item is what arrives at the warehouse together or not at all.
type Item struct {
	// ID names the item for ever. For our SDK it follows from the process and
	// its batch number, so a resend has the same one, across restarts too.
	ID string
	// Folds are the ids of the items whose rows were folded into this one:
	// writing it settles them.
	Folds []string
	Rows  []Row
}

// Skipped counts the spans that gave no row.
type Skipped struct {
	NotMethod int // no kind: not for us
	Invalid   int // a kind, and values that the receiver would have refused
}

const (
	maxStats = 64   // counters kept of one process span
	maxBins  = 4096 // bins kept of one histogram: all there can be
)

// Converter turns spans into rows. It is safe for concurrent use.
type Converter struct {
	names names
	rows  rowPool
	runID string // makes ids of items without a number unique across runs
	items atomic.Uint64
}

// NewConverter makes a converter; an exporter has one.
func NewConverter() *Converter {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails since Go 1.24
	return &Converter{runID: hex.EncodeToString(id[:])}
}

// ReuseRows lets the memory of so many rows be used again once they were given
// back with Recycle. It is to be called before all else.
func (c *Converter) ReuseRows(max int) { c.rows.max = max }

// Recycle takes back the rows of items that Items has made. Nobody may use them, or
// other parts of the same slices, afterwards; their strings stay what they are.
func (c *Converter) Recycle(items []Item) {
	for i := range items {
		c.rows.give(items[i].Rows)
		items[i].Rows = nil
	}
}

// Items converts a request: one item for every scope with a batch number, one
// for all the rest. The rows keep no part of td but its strings.
func (c *Converter) Items(td ptrace.Traces) ([]Item, Skipped) {
	var items []Item
	var rest Item
	conversion := newConversion(c)
	defer conversion.end()
	for _, rs := range td.ResourceSpans().All() {
		resource := ReadResource(rs.Resource())
		hash := ""
		shared := sharedOf(rs.Resource(), resource)
		for _, ss := range rs.ScopeSpans().All() {
			shared.scope = ss.Scope().Name()
			seq, total, numbered := BatchOf(ss.Scope())
			shared.callsTotal = total
			// A number alone could be shared by two processes, and the second
			// one's batch would pass for a repeat.
			if !numbered || !resource.Identified() {
				if rest.ID == "" {
					rest.ID = fmt.Sprintf("%s-%d", c.runID, c.items.Add(1))
				}
				conversion.addSpans(&rest, ss.Spans(), &shared)
				continue
			}
			if hash == "" {
				hash = resource.Key().Hash()
			}
			item := Item{ID: itemID(hash, seq, ss.Scope())}
			conversion.addSpans(&item, ss.Spans(), &shared)
			if len(item.Rows) > 0 {
				items = append(items, item)
			}
		}
	}
	if len(rest.Rows) > 0 {
		items = append(items, rest)
	}
	return items, conversion.skipped
}

// shared is what the spans of a scope have in common.
type shared struct {
	resource    *Resource
	scope       string
	callsTotal  int64
	price       *float64
	priceSource string
}

func sharedOf(res pcommon.Resource, r *Resource) shared {
	s := shared{resource: r}
	if v, ok := res.Attributes().Get(AttrPrice); ok {
		s.price = priceOf(v)
	}
	if v, ok := res.Attributes().Get(AttrPriceSource); ok {
		s.priceSource = v.Str()
	}
	return s
}

func priceOf(v pcommon.Value) *float64 {
	price, ok := FloatOf(v)
	if !ok || !(price > 0) || math.IsInf(price, 0) {
		return nil
	}
	return &price
}

// conversion is the conversion of one request.
type conversion struct {
	nameReader
	rows       *rowPool
	attributes attributes // of the span under way
	read       func(string, pcommon.Value) bool
	skipped    Skipped
}

func newConversion(of *Converter) *conversion {
	c := &conversion{nameReader: of.names.begin(), rows: &of.rows}
	c.attributes.names = &c.nameReader
	c.read = c.attributes.read // bound once: a method value allocates
	return c
}

// addSpans makes rows of spans and puts them to an item. What is behind the end of the
// item's rows is zero.
func (c *conversion) addSpans(item *Item, spans ptrace.SpanSlice, s *shared) {
	rows := item.Rows
	if rows == nil {
		rows = c.rows.allocate(spans.Len())
	}
	rows = slices.Grow(rows, spans.Len())
	for i := range spans.Len() {
		n := len(rows)
		rows = rows[:n+1]
		row := &rows[n]
		row.Resource, row.Level = s.resource, LevelRaw
		row.USDPerCoreHour, row.PriceSource = s.price, s.priceSource
		row.BatchID, row.RowSeq = item.ID, int32(n)
		became := c.fill(row, spans.At(i), s)
		if became == good {
			continue
		}
		*row = Row{}
		rows = rows[:n]
		if became == notMethod {
			c.skipped.NotMethod++
		} else {
			c.skipped.Invalid++
		}
	}
	item.Rows = rows
}

type spanOutcome int

const (
	good spanOutcome = iota
	notMethod
	invalid
)

// fill reads a span in one pass over its attributes.
func (c *conversion) fill(r *Row, span ptrace.Span, s *shared) spanOutcome {
	r.StartNS, r.EndNS = int64(span.StartTimestamp()), int64(span.EndTimestamp())
	if r.StartNS < 0 || r.EndNS < r.StartNS { // beyond 2262, or reversed
		return invalid
	}
	a := &c.attributes
	a.begin(r)
	span.Attributes().Range(c.read)
	switch r.Kind {
	case "":
		return notMethod
	case KindCall, KindCounts, KindAggregate, KindProcess:
	default:
		return invalid
	}
	if a.bad {
		return invalid
	}

	if r.Kind != KindProcess {
		r.Process = nil
		var f Function
		if a.function != "" {
			f = c.function(a.function)
		} else {
			var ok bool
			if f, ok = IdentityOf(span, s.scope); !ok {
				return invalid
			}
		}
		r.Class, r.Method = f.Class, f.Method
		if r.Signature == "" {
			r.Signature = f.Signature
		}
	}
	if r.WeightBasis == "" {
		r.WeightBasis = BasisExact
	}
	if r.ConfiguredRate > 0 && r.EffectiveRate == 0 {
		r.EffectiveRate = r.P // the sampler that stamped the one has set the other to it
	}

	switch r.Kind {
	case KindCall:
		if !fillCall(r, span, a) {
			return invalid
		}
	case KindCounts:
		if !a.hasCalls || !(r.Calls >= 0) || math.IsInf(r.Calls, 0) {
			return invalid
		}
	case KindAggregate:
		if !fillAggregate(r, a) {
			return invalid
		}
	case KindProcess:
		if a.hasCPU {
			r.CPUNS, r.CPUMeasured, r.CPUState = a.cpu, 1, CPUExact
		}
		a.process().CallsTotal = s.callsTotal
		slices.SortFunc(r.Process.Stats, func(a, b Stat) int { return strings.Compare(a.Name, b.Name) })
	}
	if r.CPUMeasured == 0 || r.Kind == KindProcess {
		r.CPUWaits = 0
	}
	return good
}

func fillCall(r *Row, span ptrace.Span, a *attributes) bool {
	if !ValidProbability(r.P) {
		return false
	}
	r.Measured = 1
	r.WallNS = r.EndNS - r.StartNS
	r.WallMaxNS = r.WallNS
	if span.Status().Code() == ptrace.StatusCodeError {
		r.Errors = 1
	}
	if a.hasCPU {
		if a.cpu < 0 || !(r.CPUWaits >= 0) || !ValidProbability(r.CPUP) {
			return false
		}
		r.CPUMeasured, r.CPUNS, r.CPUMaxNS = 1, a.cpu, a.cpu
		r.CPUState = CPUExact
	} else if r.CPUState == "" || r.CPUState == CPUExact {
		r.CPUState = CPUUnavailable
	}
	if r.WeightBasis != BasisExact {
		r.Calls = 1 / r.P
	}
	if !a.synthetic {
		r.TraceID = [16]byte(span.TraceID())
		r.SpanID = [8]byte(span.SpanID())
		r.ParentSpanID = [8]byte(span.ParentSpanID())
	}
	return true
}

func fillAggregate(r *Row, a *attributes) bool {
	if !ValidProbability(r.P) || r.Measured <= 0 || r.CPUMeasured < 0 || r.CPUMeasured > r.Measured ||
		r.WallNS < 0 || r.CPUNS < 0 || !(r.CPUWaits >= 0) || !(r.WallSq >= 0) || !(r.CPUSq >= 0) || !(r.Errors >= 0) {
		return false
	}
	if r.CPUMeasured > 0 && !(r.CPUP > 0) {
		return false
	}
	if r.WeightBasis != BasisExact {
		r.Calls = float64(r.Measured) / r.P
	}
	var okWall, okCPU bool
	r.WallHist, okWall = histogramOf(a.wallBins, a.wallCounts)
	r.CPUHist, okCPU = histogramOf(a.cpuBins, a.cpuCounts)
	if r.CPUState == "" {
		r.CPUState = CPUNotSampled
		if r.CPUMeasured > 0 {
			r.CPUState = CPUExact
		}
	}
	return okWall && okCPU
}

// HistogramOf reads the histogram of a sum, by the names of its two attributes. False
// if there is none, or none that can be one.
func HistogramOf(attributes pcommon.Map, bins, counts string) (Histogram, bool) {
	b, okBins := attributes.Get(bins)
	n, okCounts := attributes.Get(counts)
	if !okBins || !okCounts || b.Type() != pcommon.ValueTypeSlice || n.Type() != pcommon.ValueTypeSlice {
		return nil, false
	}
	return histogramOf(b.Slice(), n.Slice())
}

func histogramOf(bins, counts pcommon.Slice) (Histogram, bool) {
	if (bins == pcommon.Slice{}) && (counts == pcommon.Slice{}) {
		return nil, true
	}
	if (bins == pcommon.Slice{}) || (counts == pcommon.Slice{}) || bins.Len() != counts.Len() || bins.Len() > maxBins {
		return nil, false
	}
	h := make(Histogram, 0, bins.Len())
	for i := range bins.Len() {
		bin, okBin := IntOf(bins.At(i))
		n, okN := FloatOf(counts.At(i))
		if !okBin || !okN || bin < 0 || bin > int64(MaxBin) || !(n >= 0) || math.IsInf(n, 0) {
			return nil, false
		}
		h = append(h, Bin{int32(bin), n})
	}
	return h.Normalize(), true
}
