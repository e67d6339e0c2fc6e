package pairs

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
)

// maxMembers is the maximum number of instances per version. More processes are put into that many groups, which makes
// the clusters larger but keeps them independent.
const maxMembers = 64

// assemble reads the data of one comparison in one metric.
func assemble(ctx context.Context, w *query.Warehouse, p Pair, metric query.Metric, o Options, costs probecost.Table) (*preparedPair, error) {
	plan := planFor(p, o)
	base := query.Compared{Service: p.Service, Side: query.SideBase, Version: p.Base.Version, Window: plan.base, TimeBucket: plan.grid.TimeBucket}
	head := query.Compared{Service: p.Service, Side: query.SideHead, Version: p.Head.Version, Window: plan.head, TimeBucket: plan.grid.TimeBucket}
	processes, err := w.Processes(ctx, base, head)
	if err != nil {
		return nil, err
	}
	s := &preparedPair{plan: plan, metric: metric}
	if o.byAge {
		processes = s.ofKnownAge(processes)
		plan, base.Window = s.plan, s.plan.base
	}
	s.deployment = &evidence.Deployment{
		Overlap: plan.overlap, ByAge: plan.grid.ByAge, Wall: metric == query.Wall, Begin: plan.grid.Begin, Bucket: plan.grid.TimeBucket,
	}
	members := s.members(processes, metric)
	cells, err := w.Cells(ctx, metric, base, head, members, plan.grid)
	if err != nil {
		return nil, err
	}
	subtractProbes(costs, cells, s.side, p)
	s.deployment.Resolution = resolution(costs, p)
	s.fill(cells)
	end := sooner(s.lastMeasured(), plan.end())
	s.deployment.Buckets = max(0, int(end.Sub(plan.grid.Begin)/plan.grid.TimeBucket))
	s.deployment.Over = plan.over(end, o.AsOf)
	return s, nil
}

// lastMeasured returns the end of the last bucket with comparable measured calls: in both versions, if they run at the
// same time or are compared by age. A process can go on running without being called, and a bucket without calls
// confirms nothing.
func (s *preparedPair) lastMeasured() time.Time {
	last := [2]int32{-1, -1}
	for i := range s.deployment.Cells {
		if c := &s.deployment.Cells[i]; c.Timed > 0 {
			side := s.side(int(c.Instance))
			last[side] = max(last[side], c.Bucket)
		}
	}
	bucket := max(last[evidence.Base], last[evidence.Head])
	if s.plan.overlap == evidence.Concurrent || s.plan.grid.ByAge {
		bucket = min(last[evidence.Base], last[evidence.Head])
	}
	return s.plan.grid.Begin.Add(time.Duration(bucket+1) * s.plan.grid.TimeBucket)
}

func (s *preparedPair) side(member int) evidence.Side { return s.deployment.Instances[member].Side }

// members groups the processes into the instances of the deployment.
func (s *preparedPair) members(processes []query.Process, metric query.Metric) []query.Member {
	for _, p := range processes {
		s.processes[sideOf(p.Side)]++
		if p.Records(metric) == 0 {
			s.silent[sideOf(p.Side)]++
		}
	}
	s.deployment.SameHost = sameHost(processes)
	s.runs = !s.plan.grid.ByAge && shortLived(processes, s.plan.grid.TimeBucket)
	out := make([]query.Member, 0, len(processes))
	for _, side := range []query.Side{query.SideBase, query.SideHead} {
		var own []query.Process
		for _, p := range processes {
			if p.Side == side {
				own = append(own, p)
			}
		}
		out = append(out, s.group(own, sideOf(side))...)
	}
	return out
}

// sameHost reports whether every process of the head ran on a host of the base.
func sameHost(processes []query.Process) bool {
	hosts := map[string]bool{}
	for _, p := range processes {
		if p.Side == query.SideBase {
			hosts[p.HostID] = p.HostID != ""
		}
	}
	return !slices.ContainsFunc(processes, func(p query.Process) bool { return p.Side == query.SideHead && !hosts[p.HostID] })
}

// group makes one instance of each process, or of several processes with close start times, which warm up at about the
// same time.
func (s *preparedPair) group(processes []query.Process, side evidence.Side) []query.Member {
	from := s.plan.base.From
	if side == evidence.Head {
		from = s.plan.head.From
	}
	starts := make([]time.Time, len(processes))
	order := make([]int, len(processes))
	for i, p := range processes {
		starts[i], order[i] = started(p, from, s.plan.grid.TimeBucket), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return starts[a].Compare(starts[b]) })
	d := s.deployment
	groups := min(len(processes), maxMembers)
	if s.runs { // a run does not show the differences between buckets
		groups = min(max(2, len(processes)/runsTogether), groups)
		clear(starts)
	}
	if s.plan.grid.ByAge { // no warm-up is left out of processes that never settle
		clear(starts)
	}
	out := make([]query.Member, 0, len(processes))
	last := -1
	for k, i := range order {
		if group := k * groups / len(processes); group != last {
			last = group
			d.Instances = append(d.Instances, evidence.Instance{ID: processes[i].Instance + "/" + strconv.Itoa(group), Side: side})
		}
		member := len(d.Instances) - 1
		d.Instances[member].Started = starts[i] // start of the youngest process
		d.Instances[member].Processes++
		out = append(out, query.Member{Process: processes[i], Member: member})
	}
	return out
}

const (
	// fewBucketsOfLife is the number of buckets below which processes count as single runs: of a job, a test or a
	// function. They never settle, and are compared run by run, each from its start.
	fewBucketsOfLife = 5
	// runsTogether is the number of runs in one instance.
	runsTogether = 4
)

// shortLived reports whether processes live for only a few buckets.
func shortLived(processes []query.Process, bucket time.Duration) bool {
	if len(processes) < 2*runsTogether {
		return false
	}
	lives := make([]time.Duration, 0, len(processes))
	for _, p := range processes {
		if p.Start.IsZero() {
			return false
		}
		lives = append(lives, p.Last.Sub(p.Start))
	}
	slices.Sort(lives)
	return lives[len(lives)/2] < fewBucketsOfLife*bucket
}

func sideOf(s query.Side) evidence.Side {
	if s == query.SideHead {
		return evidence.Head
	}
	return evidence.Base
}

// fill converts the cells of the warehouse to those of the deployment, with indices instead of names.
func (s *preparedPair) fill(cells []query.Cell) {
	d := s.deployment
	callers := map[string]int32{}
	counted := map[string]bool{}
	for i := range cells {
		measured := cells[i].TimedCPU
		if s.metric == query.Wall {
			measured += cells[i].TimedWall
		}
		counted[cells[i].Full] = counted[cells[i].Full] || cells[i].Weight > 0 || measured == 0
	}
	for _, known := range counted {
		if !known {
			s.uncounted++
		}
	}
	d.Cells = make([]evidence.Cell, 0, len(cells))
	for i := range cells {
		c := &cells[i]
		if i == 0 || cells[i-1].Full != c.Full {
			d.Methods = append(d.Methods, c.Full)
			s.measured = append(s.measured, 0)
			s.records = append(s.records, [2]float64{})
			s.timed = append(s.timed, [2]float64{})
			s.names = append(s.names, *c)
		}
		m := len(d.Methods) - 1
		s.measured[m] += c.Records
		s.records[m][s.side(c.Member)] += c.Records
		s.timed[m][s.side(c.Member)] += c.TimedWall + c.TimedCPU
		if s.names[m].Signature != c.Signature {
			s.names[m].Signature = "" // several signatures
		}
		caller, ok := callers[c.Caller]
		if !ok {
			caller = int32(len(d.Callers))
			callers[c.Caller] = caller
			d.Callers = append(d.Callers, c.Caller)
		}
		if !(c.Weight > 0 || c.Calls > 0) || c.TimeBucket < 0 {
			continue
		}
		d.Cells = append(d.Cells, evidence.Cell{
			Method: int32(m), Caller: caller, Instance: int32(c.Member), Bucket: int32(c.TimeBucket),
			Records: c.Records, Weight: c.Weight, Sum: c.Sum, Capped: c.Capped, Log: c.Log,
			Near: c.Near, NearWeight: c.NearWeight, Over: c.Over, OverWeight: c.OverWeight, Far: c.Far, FarWeight: c.FarWeight,
			Calls: c.Calls, Timed: c.TimedWall + c.TimedCPU,
		})
	}
}
