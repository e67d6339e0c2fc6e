package methodspan

import (
	"cmp"
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

// Item is a set of rows that the warehouse stores together or not at all.
type Item struct {
	// ID identifies the item permanently. For the corehour SDK it follows from the
	// process and its batch number, so a resend has the same ID, even after a restart.
	ID string
	// Folds holds the ids of the items whose rows were aggregated into this one.
	// Storing this item settles them.
	Folds []string
	Rows  []Row
}

// Skipped counts the spans that yielded no row.
type Skipped struct {
	NotMethod int // no kind
	Invalid   int // a kind, but values that the receiver refuses
}

const (
	maxStats = 64   // counters kept per process span
	maxBins  = 4096 // bins of one histogram: more than exist
)

// Converter turns spans into rows. It is safe for concurrent use.
type Converter struct {
	names names
	rows  rowPool
	runID string // makes ids of items without a number unique across runs
	items atomic.Uint64
}

// NewConverter returns a converter. An exporter needs only one.
func NewConverter() *Converter {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails since Go 1.24
	return &Converter{runID: hex.EncodeToString(id[:])}
}

// ReuseRows keeps the memory of at most max recycled rows for later requests. Call it
// before any other method.
func (c *Converter) ReuseRows(max int) { c.rows.max = max }

// Recycle takes back the rows of items that Items returned. The rows and their backing
// arrays must not be used afterwards; their strings can be.
func (c *Converter) Recycle(items []Item) {
	for i := range items {
		c.rows.give(items[i].Rows)
		items[i].Rows = nil
	}
}

// Items converts a request into one item for each scope with a batch number and one for
// all other scopes. The rows keep nothing of td but its strings.
func (c *Converter) Items(td ptrace.Traces) ([]Item, Skipped) {
	var items []Item
	var rest Item
	conversion := &conversion{nameReader: c.names.begin(), rows: &c.rows}
	defer conversion.end()
	for _, rs := range td.ResourceSpans().All() {
		resource := ReadResource(rs.Resource())
		hash := ""
		shared := shared{resource: resource}
		for _, ss := range rs.ScopeSpans().All() {
			shared.scope = ss.Scope().Name()
			seq, total, numbered := BatchOf(ss.Scope())
			shared.callsTotal = total
			// Two processes can have the same number; the second batch would be dropped
			// as a resend.
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

// shared holds the values that the spans of a scope have in common.
type shared struct {
	resource   *ParsedResource
	scope      string
	callsTotal int64
}

// conversion is the conversion of one request.
type conversion struct {
	nameReader
	rows    *rowPool
	parsed  ParsedSpan // the current span
	skipped Skipped
}

// addSpans converts spans and appends their rows to item. The memory behind the end of the
// item's rows stays zero.
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
		row.Resource, row.Level = &s.resource.Resource, LevelRaw
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

// rowFields are the fields that rows have columns for, and the older names of a method. A
// number of the wrong type makes the span invalid; a text or boolean counts as absent.
var (
	rowFields     = AllFields &^ FieldsOf(FieldCountsMethods, FieldCountsCalls)
	numericFields = rowFields &^ (textFields | FieldsOf(FieldPrice, FieldFinal, FieldActivated))
)

// fill writes the columns of a span to r, whose other columns are zero.
func (c *conversion) fill(r *Row, span ptrace.Span, s *shared) spanOutcome {
	r.StartNS, r.EndNS = int64(span.StartTimestamp()), int64(span.EndTimestamp())
	if r.StartNS < 0 || r.EndNS < r.StartNS { // beyond 2262, or reversed
		return invalid
	}
	p := &c.parsed
	p.Parse(span.Attributes(), rowFields)
	r.Kind = spelled(p.Text(FieldKind))
	switch {
	case r.Kind == "":
		return notMethod
	case p.Seen&^p.Good&numericFields != 0:
		return invalid
	}
	r.Signature = p.Text(FieldSignature)
	if r.Kind != KindProcess {
		id, ok := p.Identity(span, s.scope)
		if !ok {
			return invalid
		}
		f := Function{Class: id.Class, Method: id.Method}
		if f.Method == "" {
			f = c.function(f.Class)
		}
		r.Class, r.Method = f.Class, f.Method
		r.Signature = cmp.Or(r.Signature, f.Signature)
	}
	c.fillContext(r, s.resource)

	ok := false
	switch r.Kind {
	case KindCall:
		ok = fillCall(r, span, p)
	case KindCounts:
		r.Calls, ok = p.Number(FieldCalls), p.Seen.Has(FieldCalls)
		ok = ok && r.Calls >= 0
		if r.P >= 1 || r.P < 0 {
			r.P = 0
		}
	case KindAggregate:
		ok = fillAggregate(r, p)
	case KindProcess:
		ok = true
		fillProcess(r, span, p, s.callsTotal)
	}
	if !ok {
		return invalid
	}
	return good
}

// fillContext writes the columns that rows of every kind have.
func (c *conversion) fillContext(r *Row, resource *ParsedResource) {
	p := &c.parsed
	r.P, r.CPUP = p.Number(FieldP), p.Number(FieldCPUP)
	r.CPUState = spelled(p.Text(FieldCPUState))
	if caller := p.Text(FieldCaller); caller != "" {
		r.Caller = c.caller(caller)
	}
	r.Tier, r.Reason = p.Text(FieldTier), p.Text(FieldReason)
	r.WeightBasis, r.PriceSource = BasisExact, resource.PriceSource
	if resource.Price > 0 {
		r.USDPerCoreHour = &resource.Price
	}
	if p.Seen&rareFields != 0 {
		c.fillRare(r)
	}
	if r.ConfiguredRate = p.Number(FieldConfiguredRate); r.ConfiguredRate > 0 && r.EffectiveRate == 0 {
		r.EffectiveRate = r.P // the sampler wrote its rate to both
	}
}

// rareFields are absent from most spans of our SDK. One test skips them all.
var rareFields = FieldsOf(FieldStratum, FieldGroup, FieldStack, FieldRequest, FieldActivated, FieldEffectiveRate, FieldWeightBasis, FieldPrice, FieldPriceSource)

func (c *conversion) fillRare(r *Row) {
	p := &c.parsed
	r.Stratum = spelled(p.Text(FieldStratum))
	if group := p.Text(FieldGroup); group != "" {
		r.Group = c.group(group)
	}
	r.Stack, r.RequestID = p.Text(FieldStack), p.Text(FieldRequest)
	r.Activated = p.Bool(FieldActivated)
	r.EffectiveRate = p.Number(FieldEffectiveRate)
	if basis := p.Text(FieldWeightBasis); basis != "" {
		r.WeightBasis = spelled(basis)
	}
	if p.Seen.Has(FieldPrice) {
		r.USDPerCoreHour = nil
		if price := p.Number(FieldPrice); price > 0 {
			own := price
			r.USDPerCoreHour = &own
		}
	}
	if p.Seen.Has(FieldPriceSource) {
		r.PriceSource = p.Text(FieldPriceSource)
	}
}

func fillCall(r *Row, span ptrace.Span, p *ParsedSpan) bool {
	if !ValidProbability(r.P) {
		return false
	}
	r.Measured = 1
	r.WallNS = r.EndNS - r.StartNS
	r.WallMaxNS = r.WallNS
	if span.Status().Code() == ptrace.StatusCodeError {
		r.Errors = 1
	}
	if p.Seen.Has(FieldCPUTime) {
		cpu := p.Whole(FieldCPUTime)
		r.CPUWaits = float64(p.Whole(FieldCPUWaits))
		if cpu < 0 || r.CPUWaits < 0 || !ValidProbability(r.CPUP) {
			return false
		}
		r.CPUMeasured, r.CPUNS, r.CPUMaxNS = 1, cpu, cpu
		r.CPUState = CPUExact
	} else if r.CPUState == "" || r.CPUState == CPUExact {
		r.CPUState = CPUUnavailable
	}
	if r.WeightBasis != BasisExact {
		r.Calls = p.ownCalls(1 / r.P)
	}
	if p.Text(FieldIDs) != IDsSynthetic {
		r.TraceID = [16]byte(span.TraceID())
		r.SpanID = [8]byte(span.SpanID())
		r.ParentSpanID = [8]byte(span.ParentSpanID())
	}
	return true
}

func fillAggregate(r *Row, p *ParsedSpan) bool {
	r.Measured, r.CPUMeasured = p.Whole(FieldMeasured), p.Whole(FieldCPUMeasured)
	r.WallNS, r.WallSq, r.WallMaxNS = p.Whole(FieldWallSum), p.Number(FieldWallSquares), p.Whole(FieldWallMax)
	r.CPUNS, r.CPUSq, r.CPUMaxNS = p.Whole(FieldCPUSum), p.Number(FieldCPUSquares), p.Whole(FieldCPUMax)
	r.Errors = p.Number(FieldErrors)
	waits := p.Whole(FieldCPUWaits)
	if !ValidProbability(r.P) || r.Measured <= 0 || r.CPUMeasured < 0 || r.CPUMeasured > r.Measured ||
		r.WallNS < 0 || r.CPUNS < 0 || waits < 0 || r.WallSq < 0 || r.CPUSq < 0 || r.Errors < 0 {
		return false
	}
	if r.CPUMeasured > 0 {
		if r.CPUP <= 0 {
			return false
		}
		r.CPUWaits = float64(waits)
	}
	if r.WeightBasis != BasisExact {
		r.Calls = p.ownCalls(float64(r.Measured) / r.P)
	}
	var okWall, okCPU bool
	r.WallHist, okWall = p.Histogram(FieldWallBins, FieldWallCounts)
	r.CPUHist, okCPU = p.Histogram(FieldCPUBins, FieldCPUCounts)
	if r.CPUState == "" {
		r.CPUState = CPUNotSampled
		if r.CPUMeasured > 0 {
			r.CPUState = CPUExact
		}
	}
	return okWall && okCPU
}

// ownCalls returns the calls of a measurement of another SDK: represented, or 0 if a counts span has them.
func (s *ParsedSpan) ownCalls(represented float64) float64 {
	if s.Seen.Has(FieldCalls) {
		return 0
	}
	return represented
}

func fillProcess(r *Row, span ptrace.Span, p *ParsedSpan, callsTotal int64) {
	if p.Seen.Has(FieldCPUTime) {
		r.CPUNS, r.CPUMeasured, r.CPUState = p.Whole(FieldCPUTime), 1, CPUExact
	}
	r.Process = &ProcessStats{
		Cores: p.Number(FieldCores), CPULimit: p.Number(FieldCPULimit), HostCores: p.Number(FieldHostCores),
		RSSBytes: p.Whole(FieldRSS), Final: p.Bool(FieldFinal), CallsTotal: callsTotal,
	}
	if !p.Reserved {
		return
	}
	var stats []Stat
	for name, v := range span.Attributes().All() {
		if stat, ok := strings.CutPrefix(name, AttrSDKPrefix); ok {
			if value, ok := FloatOf(v); ok && len(stats) < maxStats {
				stats = append(stats, Stat{stat, value})
			}
		}
	}
	slices.SortFunc(stats, func(a, b Stat) int { return strings.Compare(a.Name, b.Name) })
	r.Process.Stats = stats
}

// Histogram returns the histogram of two lists. It is nil if the span has neither of them.
// Histogram returns false if one is missing or bad.
func (s *ParsedSpan) Histogram(bins, counts Field) (Histogram, bool) {
	if lists := FieldsOf(bins, counts); s.Seen&lists == 0 {
		return nil, true
	} else if s.Good&lists != lists {
		return nil, false
	}
	return histogramOf(s.List(bins), s.List(counts))
}

func histogramOf(bins, counts pcommon.Slice) (Histogram, bool) {
	if bins.Len() != counts.Len() || bins.Len() > maxBins {
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
