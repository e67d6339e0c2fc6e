package warehouse

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync"

	"github.com/corehour/corehour/internal/methodspan"
)

// overflowTable aggregates rows that cannot be stored one by one. The aggregate of a cell preserves every
// estimate that its rows allow (methodspan.Sum). Detail is lost, estimates are not.
//
// It is bounded: beyond maxCells, rows go to at most maxCells coarser cells. Counts and measurements keep their
// method and minute in both kinds: without its counts a method's measurements would weigh too little. When the
// named coarse cells are full, further measurements are lost and counted. The remaining cells are for counts,
// which become (overflow); when these are full too, further counts are lost.
type overflowTable struct {
	maxCells   int
	namedCells int // nine tenths of max
	runID      string

	mu        sync.Mutex
	items     int // that were drained
	resources map[methodspan.Resource]int32
	shared    []*methodspan.Resource
	fine      map[overflowKey]*methodspan.Sum
	coarse    map[overflowKey]*methodspan.Sum
	process   []methodspan.Row // rows that cannot be added up
	ids       []string
}

// overflowKey is the key by which rows are aggregated: one method, caller and minute of one
// process, with the same probabilities and the same price.
type overflowKey struct {
	resource  int32
	counts    bool // counts rows, which have no measurements
	class     string
	method    string
	signature string
	caller    string
	stratum   string
	basis     string
	tier      string
	source    string // of the price
	price     float64
	p, cpuP   float64
	minute    int64
}

const (
	unpriced       = -1
	nsPerMin       = int64(60e9)
	maxOverflowIDs = 65_536 // ids of the items in one drained item
)

// overflowResult counts the rows passed to an overflow table by their outcome.
type overflowResult struct {
	measurements int64
	calls        float64
	lostRows     losses
	// forgotten are the ids that could not be kept. Their items would be stored twice if sent again.
	forgotten []string
}

// losses counts permanently lost rows and calls.
type losses struct {
	measurements float64
	calls        float64
	processRows  float64
}

func (l *losses) addRow(r *methodspan.Row) {
	if r.Kind == methodspan.KindProcess {
		l.processRows++
		return
	}
	l.measurements += float64(r.Measured)
	l.calls += r.Calls
}

func (l *losses) addLosses(m losses) {
	l.measurements += m.measurements
	l.calls += m.calls
	l.processRows += m.processRows
}

func newOverflowTable(max int) *overflowTable {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails since Go 1.24
	f := &overflowTable{maxCells: max, namedCells: max - (max+9)/10, runID: hex.EncodeToString(id[:])}
	f.reset()
	return f
}

func (f *overflowTable) reset() {
	f.resources = map[methodspan.Resource]int32{}
	f.shared = nil
	f.fine = map[overflowKey]*methodspan.Sum{}
	f.coarse = map[overflowKey]*methodspan.Sum{}
	f.process, f.ids = nil, nil
}

// addItems aggregates the rows of items. It keeps no reference to the items except their strings.
func (f *overflowTable) addItems(items []methodspan.Item) overflowResult {
	f.mu.Lock()
	defer f.mu.Unlock()
	var result overflowResult
	for i := range items {
		item := &items[i]
		f.addID(item.ID, &result)
		for _, id := range item.Folds {
			f.addID(id, &result)
		}
		f.addRows(item.Rows, &result)
	}
	return result
}

func (f *overflowTable) addID(id string, result *overflowResult) {
	if len(f.ids) >= maxOverflowIDs {
		result.forgotten = append(result.forgotten, id)
		return
	}
	f.ids = append(f.ids, id)
}

func (f *overflowTable) addRows(rows []methodspan.Row, result *overflowResult) {
	var last *methodspan.Resource
	resource := int32(-1)
	for i := range rows {
		r := &rows[i]
		if r.Kind == methodspan.KindProcess {
			f.addProcess(r, result)
			continue
		}
		// A measurement of unknown probability has no weight.
		if r.Measured > 0 && !(r.P > 0) {
			result.lostRows.addRow(r)
			continue
		}
		if r.Resource != last || resource < 0 {
			last, resource = r.Resource, f.resource(r)
		}
		if resource < 0 || !f.addRow(r, resource) {
			result.lostRows.addRow(r)
			continue
		}
		result.measurements += r.Measured
		result.calls += r.Calls
	}
}

// resource returns the number of a row's resource, -1 if it is new and no cell is left
// for the row. So there are no more resources than cells and process rows.
func (f *overflowTable) resource(r *methodspan.Row) int32 {
	coarse := f.namedCells
	if r.Kind == methodspan.KindCounts {
		coarse = f.maxCells
	}
	return f.register(r.Resource, len(f.fine) < f.maxCells || len(f.coarse) < coarse)
}

// register returns the number of a resource, -1 if it is new and there is no room for it.
func (f *overflowTable) register(r *methodspan.Resource, room bool) int32 {
	var value methodspan.Resource
	if r != nil {
		value = *r
	}
	if n, ok := f.resources[value]; ok {
		return n
	}
	if !room {
		return -1
	}
	n := int32(len(f.shared))
	f.resources[value] = n
	f.shared = append(f.shared, &value)
	return n
}

// addRow adds a row and returns false if there is no cell left for the row.
func (f *overflowTable) addRow(r *methodspan.Row, resource int32) bool {
	c := overflowKey{
		resource: resource, counts: r.Kind == methodspan.KindCounts,
		class: r.Class, method: r.Method, signature: r.Signature, caller: r.Caller,
		stratum: r.Stratum, basis: r.WeightBasis, tier: r.Tier, source: r.PriceSource,
		price: unpriced, minute: r.StartNS / nsPerMin,
	}
	if !c.counts {
		c.p, c.cpuP = r.P, r.CPUP
	}
	if r.USDPerCoreHour != nil {
		c.price = *r.USDPerCoreHour
	}
	if f.addTo(f.fine, f.maxCells, c, r) {
		return true
	}
	c.caller = ""
	if f.addTo(f.coarse, f.namedCells, c, r) {
		return true
	}
	if !c.counts {
		return false
	}
	c.class, c.method, c.signature = "", methodspan.Overflow, ""
	return f.addTo(f.coarse, f.maxCells, c, r)
}

// addTo adds the row to its cell and reports whether there was room for a new one.
func (f *overflowTable) addTo(cells map[overflowKey]*methodspan.Sum, max int, c overflowKey, r *methodspan.Row) bool {
	sum := cells[c]
	if sum == nil {
		if len(cells) >= max {
			return false
		}
		sum = &methodspan.Sum{}
		cells[c] = sum
	}
	row := *r
	row.Resource = f.shared[c.resource]
	row.Class, row.Method, row.Signature, row.Caller = c.class, c.method, c.signature, c.caller
	row.Stack, row.Group, row.Reason = "", "", ""
	sum.Add(&row)
	return true
}

// addProcess keeps the row. If there is no room, the newest row of a process replaces an older one, since
// its totals include the older ones.
func (f *overflowTable) addProcess(r *methodspan.Row, result *overflowResult) {
	row := *r
	if len(f.process) < f.maxCells {
		row.Resource = f.shared[f.register(r.Resource, true)]
		f.process = append(f.process, row)
		return
	}
	result.lostRows.processRows++
	for i := len(f.process) - 1; i >= 0; i-- {
		old := &f.process[i]
		if r.Resource != nil && old.Resource.Key() == r.Resource.Key() && old.StartNS <= r.StartNS {
			row.Resource = old.Resource
			*old = row
			return
		}
	}
}

// cells returns the number of cells in use.
func (f *overflowTable) cells() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.fine) + len(f.coarse)
}

// drain removes everything and returns it as one item, nil if there is nothing.
func (f *overflowTable) drain() *methodspan.Item {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ids) == 0 && len(f.fine)+len(f.coarse)+len(f.process) == 0 {
		return nil
	}
	f.items++
	item := &methodspan.Item{ID: f.runID + "-fold-" + strconv.Itoa(f.items), Folds: f.ids, Rows: f.process}
	for _, cells := range [...]map[overflowKey]*methodspan.Sum{f.fine, f.coarse} {
		for _, sum := range cells {
			item.Rows = append(item.Rows, sum.Row())
		}
	}
	for i := range item.Rows {
		item.Rows[i].BatchID, item.Rows[i].RowSeq = item.ID, int32(i)
	}
	f.reset()
	return item
}
