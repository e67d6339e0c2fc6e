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

// maxInstanceGroups is the number of groups that the instances of a service are hashed into by
// name: enough clusters for standard errors, and a bound.
const maxInstanceGroups = 64

// maxNamedInstances is the number of instances of a service that keep their names in a
// pre-aggregated rollup, so that it has the clusters of the rows. Further instances are grouped.
const maxNamedInstances = 1000

// maxCells bounds the pairs of namespace and environment of one method whose weight cells are in
// memory, at 120 kB each. Nothing else bounds their number on a date. Rows of further pairs are
// not aggregated, because the weights of other pairs would be wrong for them.
const maxCells = 1000

// weightColumns are the columns that weights are computed from.
var weightColumns = []string{
	"kind", "level", "start_ns", "service_namespace", "service", "version", "environment", "class", "method",
	"calls", "measured", "cpu_measured", "p", "cpu_p", "stratum",
	"wall_ns", "cpu_ns", // the measured counts are 0 without them
}

// rollupTarget describes the file that a rollup is written to.
type rollupTarget struct {
	put   putFile
	named bool  // instances keep their names
	most  int64 // maximum number of rows, 0 for no limit
	until int64 // later ends of rows are impossible
}

// A rollup that has nearly as many rows as its files saves nothing. A pre-aggregated rollup may
// have at most one row per worthwhile rows, or fewSums rows if that is more.
const (
	worthwhile = 3
	fewSums    = 50_000
)

// errTooMany is returned if a rollup would exceed its maximum number of rows.
var errTooMany = errors.New("the rows have too little in common to be added up")

// rollupOverflow counts the rows beyond the bounds of a rollup: kept rows are not aggregated,
// hostless process rows are in sums without the name of their host.
type rollupOverflow struct{ kept, hostless int64 }

// putFile is table.Maintainer.Replace or AddPreaggregated.
type putFile func(ctx context.Context, date string, files []parquet.File, o table.Output, produce func(add func(*methodspan.Row) error) error) (parquet.File, error)

// roll writes a rollup of the files of a date to its target. It reads the files twice at the same
// time: ahead for the weights of a method's rows, behind for the rows themselves. Rows are sorted
// by method, then by time, so only the weight cells of one method and the sums of one minute or
// hour are in memory.
func roll(ctx context.Context, to rollupTarget, date string, files []parquet.File, level string) (file parquet.File, overflow rollupOverflow, err error) {
	file, err = to.put(ctx, date, files, table.Output{Kind: table.KindRoll, Level: level, NoIDs: true}, func(add func(*methodspan.Row) error) error {
		ahead, err := parquet.OpenRun(ctx, files, parquet.RunOptions{Columns: weightColumns})
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
		overflow = rollupOverflow{r.kept.total, r.resources.hostless}
		return err
	})
	return file, overflow, err
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

// methodKey is the key that the rows of a Run are grouped by.
type methodKey struct{ service, class, method, version string }

func methodOf(r *methodspan.Row) methodKey {
	return methodKey{r.Resource.Service, r.Class, r.Method, r.Resource.Version}
}

// cellKey is the rest of the key of weight cells, in addition to methodKey.
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
	next, err := r.nextBounded(ahead)
	if err != nil {
		return err
	}
	row, err := r.nextBounded(behind)
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
			if next, err = r.nextBounded(ahead); err != nil {
				return err
			}
		}
		for row != nil && methodOf(row) == method {
			if err := r.addRow(row); err != nil {
				return err
			}
			if row, err = r.nextBounded(behind); err != nil {
				return err
			}
		}
		if err := r.flush(); err != nil {
			return err
		}
	}
	return nil
}

// nextBounded returns the next row of run without impossible numbers, which would stay in the sums.
func (r *roller) nextBounded(run *parquet.Run) (*methodspan.Row, error) {
	row, err := run.Next()
	if row != nil {
		row.Bound(r.until)
	}
	return row, err
}

// weigh adds a row to the weight cells of its namespace and environment. It skips the row if there
// are maxCells others.
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

// cellsOf returns the weight cells of a raw row, nil if weigh skipped it.
func (r *roller) cellsOf(row *methodspan.Row) *weights.Cells {
	if row.Kind == methodspan.KindProcess {
		return &r.none
	}
	return r.cells[cellOf(row)]
}

// sumKey is the key of the sums of one method and one minute or hour.
type sumKey struct {
	resource  int
	kind      string
	signature string
	caller    string
	stratum   string
	basis     string
	cells     string // kinds of the weight cells, see weights.Weight
	source    string // of the price
	price     uint64 // its bits
	unpriced  bool
	cores     bool    // of process rows: the cores are known
	minus     [2]bool // negative weights for wall and CPU time have sums of their own
	process   processKey
}

// processKey is the part of the key for sums of process rows. It keeps the times at which a host
// had processes.
type processKey struct {
	hostCores float64
	limited   bool
	stretch   int // number of a period of the host without a gap
}

type sum struct {
	methodspan.Sum
	key     sumKey
	oldest  int64 // start of the oldest process
	unknown bool  // the start of a process is unknown
}

// stretch is a period in which the process rows of a host follow each other without a gap.
type stretch struct {
	number int
	end    int64
}

// addRow adds one row to its sum, or to the kept rows if it has no weight cells.
func (r *roller) addRow(row *methodspan.Row) error {
	if at := row.StartNS - row.StartNS%r.unit; at != r.at {
		if err := r.flush(); err != nil {
			return err
		}
		r.at = at
	}
	cells := row.Reason // of rollups: their weight cells
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
		resource: r.resources.numberOf(row), kind: row.Kind, signature: row.Signature, caller: row.Caller, stratum: row.Stratum, basis: row.WeightBasis,
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

// processOf returns the process part of the key of a process row; key is the rest of it.
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

// flush writes the sums of a minute or hour and the kept rows, ordered by start.
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
		row.Resource, row.Level, row.Reason = r.resources.withStart(s.key.resource, s.oldest), r.level, s.key.cells
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

// compare orders the sums of one minute or hour by start, as files require, and sums with equal
// starts by columns that queries are likely to filter by.
func (r *roller) compare(a, b *sum) int {
	instance := func(s *sum) string { return r.resources.values[s.key.resource].Instance }
	return cmp.Or(
		cmp.Compare(a.Start(), b.Start()), cmp.Compare(a.key.kind, b.key.kind), cmp.Compare(instance(a), instance(b)), cmp.Compare(a.key.caller, b.key.caller))
}

// resources numbers the resources of sums, which keep a part of the resource of their rows.
type resources struct {
	byPointer map[resourceKey]int
	numbers   map[methodspan.Resource]int
	values    []*methodspan.Resource
	// started holds the values with the start of a process.
	started map[startedResource]*methodspan.Resource
	// named are the instances of the current service that keep their names.
	keepNames bool
	service   string
	named     map[string]bool
	// hosts are the hosts that keep their names in sums of process rows, of all services.
	hosts map[host]bool
	// hostless counts the process rows whose host is not in hosts.
	hostless int64
}

type host struct{ id, name string }

// maxHosts is the number of hosts of a date that keep their names in sums of process rows. The
// processes of further hosts are billed by process.
const maxHosts = 20_000

type resourceKey struct {
	*methodspan.Resource
	process bool
}

// keepHost reports whether h keeps its name, and adds it to hosts if there is room.
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

// maxResources bounds the resources that are cached only so that rows share them.
const maxResources = 100_000

// numberOf returns the number of the resource of r in the form of a rollup: without the start of the process,
// and with the host on process rows only, which the bill of a host needs. It counts process rows that lose
// their host.
func (n *resources) numberOf(r *methodspan.Row) int {
	i := n.number(r)
	if named := n.values[i]; r.Kind == methodspan.KindProcess && r.Resource.Host+r.Resource.HostID != "" && named.Host+named.HostID == "" {
		n.hostless++
	}
	return i
}

func (n *resources) number(r *methodspan.Row) int {
	by := resourceKey{r.Resource, r.Kind == methodspan.KindProcess}
	if i, ok := n.byPointer[by]; ok {
		return i
	}
	if n.byPointer == nil || len(n.byPointer) > maxResources {
		n.byPointer = map[resourceKey]int{}
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

// instance returns the name of the instance in sums. Rows must come sorted by service.
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

// withStart returns a numbered resource with the start of its process, 0 for unknown.
func (n *resources) withStart(number int, start int64) *methodspan.Resource {
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

// instanceGroup returns the name of the group of an instance.
func instanceGroup(instance string) string {
	if instance == "" {
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(instance)) // never fails
	return fmt.Sprintf("group-%02d", h.Sum32()%maxInstanceGroups)
}
