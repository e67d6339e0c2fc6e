package verdict

import (
	"context"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/corehour/corehour/regression/judge"
	"github.com/corehour/corehour/regression/query"
)

// maxMembers is how many processes of one version are told apart. More are put
// into so many groups by chance: clusters are larger then, and still independent.
const maxMembers = 64

// assemble reads one comparison.
func assemble(ctx context.Context, w *query.Warehouse, p Pair, metric query.Metric, o Options, costs probeCost) (*subject, error) {
	plan := planFor(p, o)
	base := query.Compared{Service: p.Service, Side: query.SideBase, Version: p.Base.Version, Window: plan.base, Slot: plan.grid.Slot}
	head := query.Compared{Service: p.Service, Side: query.SideHead, Version: p.Head.Version, Window: plan.head, Slot: plan.grid.Slot}
	processes, err := w.Processes(ctx, base, head)
	if err != nil {
		return nil, err
	}
	s := &subject{plan: plan, deployment: &judge.Deployment{Overlap: plan.overlap, Begin: plan.grid.Begin, Slot: plan.grid.Slot}}
	members := s.members(processes, metric, o)
	cells, err := w.Cells(ctx, metric, base, head, members, plan.grid)
	if err != nil {
		return nil, err
	}
	costs.subtract(cells, s.side, p)
	s.fill(cells)
	end := plan.end()
	if last := s.lastMeasured(); last.Before(end) {
		end = last
	}
	s.deployment.Slots = max(0, int(end.Sub(plan.grid.Begin)/plan.grid.Slot))
	s.deployment.Over = plan.over(end, o.AsOf)
	return s, nil
}

// lastMeasured is the end of the last slot in which something was measured that can be
// compared: in both versions where they run at the same time. A process may go on and
// be called no more, and a slot without calls confirms nothing.
func (s *subject) lastMeasured() time.Time {
	last := [2]int32{-1, -1}
	for i := range s.deployment.Cells {
		if c := &s.deployment.Cells[i]; c.Timed > 0 {
			side := s.side(int(c.Instance))
			last[side] = max(last[side], c.Slot)
		}
	}
	slot := max(last[judge.Base], last[judge.Head])
	if s.plan.overlap == judge.Concurrent {
		slot = min(last[judge.Base], last[judge.Head])
	}
	return s.plan.grid.Begin.Add(time.Duration(slot+1) * s.plan.grid.Slot)
}

func (s *subject) side(member int) judge.Side { return s.deployment.Instances[member].Side }

// members makes the instances of the deployment.
func (s *subject) members(processes []query.Process, metric query.Metric, o Options) []query.Member {
	for _, p := range processes {
		s.processes[sideOf(p.Side)]++
		if p.Records(metric) == 0 {
			s.silent[sideOf(p.Side)]++
		}
	}
	d := s.deployment
	groups := map[uint64]int{} // of a side that has too many
	out := make([]query.Member, 0, len(processes))
	for i, p := range processes {
		side := sideOf(p.Side)
		from := s.plan.base.From
		if side == judge.Head {
			from = s.plan.head.From
		}
		start := started(p, from, s.plan.grid.Slot)
		if s.processes[side] <= maxMembers {
			out = append(out, query.Member{Process: p, Member: len(d.Instances)})
			d.Instances = append(d.Instances, judge.Instance{ID: p.Instance + "/" + strconv.Itoa(i), Side: side, Started: start})
			continue
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.Instance))
		_, _ = h.Write(strconv.AppendInt(nil, p.Start.UnixNano(), 10))
		group := h.Sum64()%maxMembers*2 + uint64(side)
		member, ok := groups[group]
		if !ok {
			member = len(d.Instances)
			groups[group] = member
			d.Instances = append(d.Instances, judge.Instance{ID: "group " + strconv.FormatUint(group, 10), Side: side})
		}
		m := query.Member{Process: p, Member: member}
		if !start.IsZero() { // processes of a group warm up at different times
			m.Warm = start.Add(o.WarmUp + s.plan.grid.Slot - time.Nanosecond).Truncate(s.plan.grid.Slot)
		}
		out = append(out, m)
	}
	return out
}

func sideOf(s query.Side) judge.Side {
	if s == query.SideHead {
		return judge.Head
	}
	return judge.Base
}

// fill takes the cells over, by numbers instead of names.
func (s *subject) fill(cells []query.Cell) {
	d := s.deployment
	callers := map[string]int32{}
	counted := map[string]bool{}
	for i := range cells {
		counted[cells[i].Full] = counted[cells[i].Full] || cells[i].Weight > 0 || cells[i].TimedWall+cells[i].TimedCPU == 0
	}
	for _, known := range counted {
		if !known {
			s.uncounted++
		}
	}
	var priced, price float64
	for i := range cells {
		c := &cells[i]
		if i == 0 || cells[i-1].Full != c.Full {
			d.Methods = append(d.Methods, c.Full)
			s.measured = append(s.measured, 0)
			s.names = append(s.names, *c)
			s.prices = append(s.prices, 0)
			priced, price = 0, 0
		}
		m := len(d.Methods) - 1
		s.measured[m] += c.Records
		if s.names[m].Signature != c.Signature {
			s.names[m].Signature = "" // several
		}
		caller, ok := callers[c.Caller]
		if !ok {
			caller = int32(len(d.Callers))
			callers[c.Caller] = caller
			d.Callers = append(d.Callers, c.Caller)
		}
		if s.side(c.Member) == judge.Head {
			priced, price = priced+c.PricedNS, price+c.PriceNS
			if priced > 0 {
				s.prices[m] = price / priced
			}
		}
		if !(c.Weight > 0 || c.Calls > 0) || c.Slot < 0 {
			continue
		}
		d.Cells = append(d.Cells, judge.Cell{
			Method: int32(m), Caller: caller, Instance: int32(c.Member), Slot: int32(c.Slot),
			Records: c.Records, Weight: c.Weight, Sum: c.Sum, Capped: c.Capped, Log: c.Log,
			Calls: c.Calls, Timed: c.TimedWall + c.TimedCPU,
		})
	}
}
