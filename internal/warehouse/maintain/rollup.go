package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/internal/weights"
)

// maxInstanceGroups is how many groups the instances of a service fall into, by
// the hash of their names: enough clusters for standard errors, and a bound.
const maxInstanceGroups = 64

// maxNamedInstances is how many instances of a service keep their names in sums that are
// kept as rollups, so that these have the clusters that the rows have. More fall into
// groups.
const maxNamedInstances = 1000

// maxCells bounds the namespaces and environments of one method whose weights are in
// memory, at 120 kB each: nothing else bounds how many a service has on a date. The rows
// of others stay as they are, since any weight but their own would be wrong.
const maxCells = 1000

// weighing are the columns that weights are made of.
var weighing = []string{
	"kind", "level", "start_ns", "service_namespace", "service", "version", "environment", "class", "method",
	"calls", "measured", "cpu_measured", "p", "cpu_p", "stratum",
	"wall_ns", "cpu_ns", // without which nothing was measured
}

// into says where sums go.
type into struct {
	put   put
	named bool  // instances keep their names
	most  int64 // rows, 0 for any number
	until int64 // ends after it are not believed
}

// Rollups take room, and save nothing if there are as many: a sum must be of
// worthwhile rows on average, unless there are but fewSums.
const (
	worthwhile = 3
	fewSums    = 50_000
)

// errTooMany means that there would be too many sums.
var errTooMany = errors.New("the rows have too little in common to be added up")

// beyond counts what the bounds of sums leave out: rows that are not in any, and rows of
// processes whose sums do not name their host.
type beyond struct{ kept, hostless int64 }

// put is table.Maintainer.Replace or AddPreaggregated.
type put func(ctx context.Context, date string, files []parquet.File, o table.Output, produce func(add func(*methodspan.Row) error) error) (parquet.File, error)

// roll puts the sums of a date's rows where they go. The date is read twice side
// by side: ahead for the weights of a method's rows, behind for the rows. Rows come
// sorted by method, then by time, so what is in memory are the weight cells of one
// method and the sums of one minute or hour.
func roll(ctx context.Context, to into, date string, files []parquet.File, level string) (file parquet.File, b beyond, err error) {
	file, err = to.put(ctx, date, files, table.Output{Kind: table.KindRoll, Level: level, NoIDs: true}, func(add func(*methodspan.Row) error) error {
		ahead, err := parquet.OpenRun(ctx, files, parquet.RunOptions{Columns: weighing})
		if err != nil {
			return err
		}
		defer ahead.Close()
		behind, err := parquet.OpenRun(ctx, files, parquet.RunOptions{Without: ids})
		if err != nil {
			return err
		}
		defer behind.Close()
		r := &roller{level: level, unit: unitOf(level), until: to.until, add: add, cells: map[cellKey]*weights.Cells{}, numbers: map[sumKey]int{}, stretches: map[sumKey]stretch{}}
		r.resources.keepNames = to.named
		if to.most > 0 {
			r.add = atMost(to.most, add)
		}
		err = r.mergeRuns(ahead, behind)
		b = beyond{r.kept.total, r.resources.hostless}
		return err
	})
	return file, b, err
}

func atMost(n int64, add func(*methodspan.Row) error) func(*methodspan.Row) error {
	return func(row *methodspan.Row) error {
		if n--; n < 0 {
			return errTooMany
		}
		return add(row)
	}
}

func unitOf(level string) int64 {
	if level == methodspan.LevelHour {
		return int64(time.Hour)
	}
	return int64(time.Minute)
}

// methodKey is what the rows of a Run come grouped by.
type methodKey struct{ service, class, method, version string }

func methodOf(r *methodspan.Row) methodKey {
	return methodKey{r.Resource.Service, r.Class, r.Method, r.Resource.Version}
}

// cellKey is what else weights are made by.
type cellKey struct{ namespace, environment string }

func cellOf(r *methodspan.Row) cellKey {
	return cellKey{r.Resource.ServiceNamespace, r.Resource.Environment}
}

type roller struct {
	level string
	unit  int64
	until int64
	add   func(*methodspan.Row) error

	cells map[cellKey]*weights.Cells // of the method, at most maxCells
	spare []*weights.Cells
	none  weights.Cells // of rows that are in no cell
	kept  passthroughRows

	at        int64 // the minute or hour under way
	numbers   map[sumKey]int
	stretches map[sumKey]stretch
	sums      []sum
	order     []int
	row       methodspan.Row
	resources resources
}

func (r *roller) mergeRuns(ahead, behind *parquet.Run) error {
	next, err := r.bounded(ahead)
	if err != nil {
		return err
	}
	row, err := r.bounded(behind)
	if err != nil {
		return err
	}
	for row != nil {
		method := methodOf(row)
		for key, c := range r.cells {
			c.Reset()
			r.spare = append(r.spare, c)
			delete(r.cells, key)
		}
		for next != nil && methodOf(next) == method {
			r.weigh(next)
			if next, err = r.bounded(ahead); err != nil {
				return err
			}
		}
		for row != nil && methodOf(row) == method {
			if err := r.addRow(row); err != nil {
				return err
			}
			if row, err = r.bounded(behind); err != nil {
				return err
			}
		}
		if err := r.flush(); err != nil {
			return err
		}
	}
	return nil
}

// bounded is the next row without numbers that cannot be true, which sums would hold for ever.
func (r *roller) bounded(run *parquet.Run) (*methodspan.Row, error) {
	row, err := run.Next()
	if row != nil {
		row.Bound(r.until)
	}
	return row, err
}

// weigh adds a row to the weight cells of its namespace and environment, if there is room
// for them.
func (r *roller) weigh(row *methodspan.Row) {
	if row.Level != methodspan.LevelRaw || row.Kind == methodspan.KindProcess {
		return
	}
	key := cellOf(row)
	c := r.cells[key]
	if c == nil {
		if len(r.cells) == maxCells {
			return
		}
		if n := len(r.spare); n > 0 {
			c, r.spare = r.spare[n-1], r.spare[:n-1]
		} else {
			c = &weights.Cells{}
		}
		r.cells[key] = c
	}
	c.Add(row)
}

// cellsOf are the weight cells of a raw row, nil if there was no room for them.
func (r *roller) cellsOf(row *methodspan.Row) *weights.Cells {
	if row.Kind == methodspan.KindProcess {
		return &r.none
	}
	return r.cells[cellOf(row)]
}

// sumKey says which rows are added up, of one method and one minute or hour.
type sumKey struct {
	resource  int
	kind      string
	signature string
	caller    string
	stratum   string
	basis     string
	cells     string // kinds of the weight cells, see Weight
	source    string // of the price
	price     uint64 // its bits
	unpriced  bool
	cores     bool    // of processes: known
	minus     [2]bool // weights below zero are not added to others
	process   processKey
}

// processKey is what else sums of processes are distinguished by, so that they keep for how
// long a host had any.
type processKey struct {
	hostCores float64
	limited   bool
	stretch   int // in which rows follow one another without a gap
}

type sum struct {
	methodspan.Sum
	key     sumKey
	oldest  int64 // process of which a row is
	unknown bool  // a row does not say when its process started
}

// stretch is where the rows of a host, sorted by start, had their last gap.
type stretch struct {
	number int
	end    int64
}

// addRow adds one row to its sum.
func (r *roller) addRow(row *methodspan.Row) error {
	if at := row.StartNS - row.StartNS%r.unit; at != r.at {
		if err := r.flush(); err != nil {
			return err
		}
		r.at = at
	}
	cells := row.Reason // what rows that are sums already were weighed in
	if row.Level == methodspan.LevelRaw {
		weighed := r.cellsOf(row)
		if weighed == nil {
			if r.kept.addRow(row) {
				return nil
			}
			return r.flush()
		}
		cells = weights.Final(row, weighed.Weigh(row))
	}
	if r.level == methodspan.LevelHour {
		cells = strings.ReplaceAll(cells, methodspan.LevelMinute, methodspan.LevelHour)
	}
	key := sumKey{
		resource: r.resources.of(row), kind: row.Kind, signature: row.Signature, caller: row.Caller, stratum: row.Stratum, basis: row.WeightBasis,
		cells: cells, source: row.PriceSource, unpriced: row.USDPerCoreHour == nil,
		cores: row.HasCores(),
		minus: [2]bool{row.P < 0, row.CPUMeasured > 0 && row.Q() < 0},
	}
	if key.kind == methodspan.KindCall {
		key.kind = methodspan.KindAggregate
	}
	if !key.unpriced {
		key.price = math.Float64bits(*row.USDPerCoreHour)
	}
	if row.Kind == methodspan.KindProcess {
		row.P, row.CPUP = 1, 1 // its CPU time is counted and not sampled
		key.process = r.processOf(row, key)
	}
	n, ok := r.numbers[key]
	if !ok {
		n = len(r.sums)
		r.numbers[key] = n
		r.sums = append(r.sums, sum{key: key, oldest: row.Resource.ProcessStartNS})
	}
	s := &r.sums[n]
	s.oldest = min(s.oldest, row.Resource.ProcessStartNS)
	s.unknown = s.unknown || row.Resource.ProcessStartNS == 0
	s.Add(row)
	return nil
}

// processOf is what tells the row of a process apart from others with this key.
func (r *roller) processOf(row *methodspan.Row, key sumKey) (p processKey) {
	if s := row.Process; s != nil {
		p = processKey{hostCores: s.HostCores, limited: s.CPULimit > 0}
	}
	if res := r.resources.values[key.resource]; res.HostID == "" && res.Host == "" {
		return p
	}
	key.process = p
	at, ok := r.stretches[key]
	if ok && row.StartNS > at.end {
		at.number++
	}
	at.end = max(at.end, row.EndNS)
	r.stretches[key] = at
	p.stretch = at.number
	return p
}

// flush writes the sums of a minute or hour, and the rows that were kept.
func (r *roller) flush() error {
	r.order = r.order[:0]
	for i := range r.sums {
		r.order = append(r.order, i)
	}
	slices.SortFunc(r.order, func(i, j int) int { return r.compare(&r.sums[i], &r.sums[j]) })
	for _, i := range r.order {
		s := &r.sums[i]
		if s.unknown {
			s.oldest = 0
		}
		r.row = s.Row()
		row := &r.row
		row.Resource, row.Level, row.Reason = r.resources.since(s.key.resource, s.oldest), r.level, s.key.cells
		row.Stack, row.Group, row.Tier, row.ConfiguredRate, row.EffectiveRate = "", "", "", 0, 0
		if err := r.kept.write(row.StartNS, r.add); err != nil {
			return err
		}
		if err := r.add(row); err != nil {
			return err
		}
	}
	if err := r.kept.writeAll(r.add); err != nil {
		return err
	}
	clear(r.numbers)
	clear(r.stretches)
	clear(r.sums)
	r.sums = r.sums[:0]
	return nil
}

// compare orders the sums of one minute or hour as rows are, by start, and those
// of one start by what is likely to be asked for.
func (r *roller) compare(a, b *sum) int {
	instance := func(s *sum) string { return r.resources.values[s.key.resource].Instance }
	return cmp.Or(
		cmp.Compare(a.Start(), b.Start()), cmp.Compare(a.key.kind, b.key.kind), cmp.Compare(instance(a), instance(b)), cmp.Compare(a.key.caller, b.key.caller))
}

// resources maps the resource of a row to what a sum keeps of it.
type resources struct {
	byPointer map[resourceOf]int
	numbers   map[methodspan.Resource]int
	values    []*methodspan.Resource
	// started holds them with the start of a process again.
	started map[startedResource]*methodspan.Resource
	// named are the instances that keep their names, of a service.
	keepNames bool
	service   string
	named     map[string]bool
	// hosts are those of processes that keep their names, of all services.
	hosts map[host]bool
	// hostless counts the rows of processes whose host had no room.
	hostless int64
}

type host struct{ id, name string }

// maxHosts is how many hosts of a date keep their names in sums of processes. Those of
// more are billed by process.
const maxHosts = 20_000

type resourceOf struct {
	*methodspan.Resource
	process bool
}

// keepHost reports whether there is room for the name of a host.
func (n *resources) keepHost(h host) bool {
	if !n.hosts[h] {
		if len(n.hosts) == maxHosts {
			return false
		}
		if n.hosts == nil {
			n.hosts = map[host]bool{}
		}
		n.hosts[h] = true
	}
	return true
}

type startedResource struct {
	number int
	start  int64
}

// maxResources bounds how many are remembered only to be shared by rows.
const maxResources = 100_000

// of numbers the resource without what tells single instances apart, and hosts, which
// only the bill of processes needs.
func (n *resources) of(r *methodspan.Row) int {
	i := n.number(r)
	if named := n.values[i]; r.Kind == methodspan.KindProcess && r.Resource.Host+r.Resource.HostID != "" && named.Host+named.HostID == "" {
		n.hostless++
	}
	return i
}

func (n *resources) number(r *methodspan.Row) int {
	by := resourceOf{r.Resource, r.Kind == methodspan.KindProcess}
	if i, ok := n.byPointer[by]; ok {
		return i
	}
	if n.byPointer == nil || len(n.byPointer) > maxResources {
		n.byPointer = map[resourceOf]int{}
	}
	if n.numbers == nil {
		n.numbers = map[methodspan.Resource]int{}
	}
	res := *r.Resource
	res.ProcessStartNS = 0
	if res.HostID != "" {
		res.Host = ""
	}
	if !by.process || !n.keepHost(host{res.HostID, res.Host}) {
		res.Host, res.HostID = "", ""
	}
	if r.Level == methodspan.LevelRaw {
		res.Instance = n.instance(r.Resource)
	}
	i, ok := n.numbers[res]
	if !ok {
		i = len(n.values)
		n.numbers[res] = i
		n.values = append(n.values, &res)
	}
	n.byPointer[by] = i
	return i
}

// instance is what a sum says of the instance of a row. Rows come sorted by service.
func (n *resources) instance(r *methodspan.Resource) string {
	if !n.keepNames {
		return instanceGroup(r.Instance)
	}
	if n.named == nil || n.service != r.Service {
		n.service, n.named = r.Service, map[string]bool{}
	}
	if !n.named[r.Instance] {
		if len(n.named) == maxNamedInstances {
			return instanceGroup(r.Instance)
		}
		n.named[r.Instance] = true
	}
	return r.Instance
}

// since is a numbered resource of a process that started then, 0 for unknown.
func (n *resources) since(number int, start int64) *methodspan.Resource {
	key := startedResource{number, start}
	res := n.started[key]
	if res == nil {
		if n.started == nil || len(n.started) > maxResources {
			n.started = map[startedResource]*methodspan.Resource{}
		}
		changed := *n.values[number]
		changed.ProcessStartNS = start
		res = &changed
		n.started[key] = res
	}
	return res
}

// instanceGroup is the name of the group that an instance falls into.
func instanceGroup(instance string) string {
	if instance == "" {
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(instance)) // never fails
	return fmt.Sprintf("group-%02d", h.Sum32()%maxInstanceGroups)
}
