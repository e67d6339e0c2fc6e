package verdict

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/judge"
	"github.com/corehour/corehour/regression/query"
)

// Evidence compares the two deployments of each pair by e-values, as
// docs/statistics.md has it. A method is raised by two looks in a row: at all
// complete slots but the last, and at all of them, or by one with more evidence where
// no more slots will come. So the verdict follows from what is stored, whoever looks
// and how often.
func Evidence(ctx context.Context, w *query.Warehouse, _ query.Filter, pairs []Pair, o Options) ([]*Comparison, error) {
	costs, err := probeCosts(ctx, w)
	if err != nil {
		return nil, err
	}
	out := make([]*Comparison, len(pairs))
	for i, p := range pairs {
		c := &Comparison{
			Service:     p.Service,
			BaseVersion: p.Base.Version, HeadVersion: p.Head.Version,
			BaseRevision: p.Base.Revision, HeadRevision: p.Head.Revision, ChosenBy: p.ChosenBy,
			BaseFrom: p.Base.First, BaseTo: p.Base.Last, HeadFrom: p.Head.First, HeadTo: p.Head.Last,
			Metric: metricOf(p, o), Warnings: []string{}, Methods: []Line{}, Alerts: []alert.Alert{},
		}
		out[i] = c
		s, err := assemble(ctx, w, p, c.Metric, o, costs)
		if err != nil {
			return nil, err
		}
		if err := s.judge(c, p, o); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Service, err)
		}
	}
	return out, nil
}

// subject is one comparison made ready to be judged.
type subject struct {
	deployment *judge.Deployment
	plan       plan
	names      []query.Cell // of each method: class, method and signature
	measured   []float64    // calls of each method in the metric, compared or not
	prices     []float64    // USD per core hour of each method in the head version, 0 = unpriced
	processes  [2]int
	silent     [2]int // of these, measured nothing in the metric
	uncounted  int    // methods with measured calls and no weight of any
}

func (s *subject) judge(c *Comparison, p Pair, o Options) error {
	c.Clusters = s.describe()
	rule := judge.Defaults()
	rule.WarmUp = o.WarmUp
	rule.Records = max(rule.Records, float64(o.MinRecords))
	rule.LeastChange = max(rule.LeastChange, o.ThresholdPercent/100)
	d := *s.deployment
	d.Over = false
	var memory judge.Memory
	for looks := rule.Looks; looks > 1; looks-- {
		if d.Slots = s.deployment.Slots - looks + 1; d.Slots < 1 {
			continue
		}
		var err error
		if _, memory, err = judge.Look(&d, rule, memory); err != nil {
			return err
		}
	}
	result, _, err := judge.Look(s.deployment, rule, memory)
	if err != nil {
		return err
	}
	c.Warnings = append(c.Warnings, s.missing(c, p)...)
	c.Warnings = append(c.Warnings, result.Warnings...)
	c.Warnings = append(c.Warnings, s.plan.warnings(s, o)...)
	for m, v := range result.Methods {
		c.Methods = append(c.Methods, s.line(m, v))
	}
	notGone(c.Methods)
	if s.uncounted == 0 { // else that is why
		c.Warnings = append(c.Warnings, leftOut(c.Methods)...)
	}
	c.Warnings = append(c.Warnings, refused(c.Methods)...)
	if result.Service.State.Judged() {
		service := lineOf(result.Service)
		c.WholeService = &service
	}
	for _, a := range result.Alerts {
		c.Alerts = append(c.Alerts, s.alert(c, a))
	}
	slices.SortStableFunc(c.Alerts, alert.Dearer)
	return nil
}

// leftOut says why nothing was compared of what was measured.
func leftOut(lines []Line) []string {
	var compared, left int64
	for i := range lines {
		compared, left = compared+lines[i].BaseRecords+lines[i].HeadRecords, left+lines[i].NotCompared
	}
	if compared > 0 || left == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d measured calls have no part in this: they began while their process was warming up or in a slot that was not over, or rows of that time are kept by minute or hour and slots are shorter: see --slot and --warm-up", left)}
}

// maxRefused bounds how many methods refused names.
const maxRefused = 3

// refused names the methods that a last look alone raised, with too little evidence
// for one look.
func refused(lines []Line) (out []string) {
	n := 0
	for i := range lines {
		if l := &lines[i]; l.OnlyLook && l.State == NotProven {
			if n++; n <= maxRefused {
				out = append(out, l.full+": "+strings.Join(l.Warnings, "; "))
			}
		}
	}
	if n > maxRefused {
		out = append(out, fmt.Sprintf("and %d methods more in the last look alone", n-maxRefused))
	}
	return out
}

// notGone takes back that methods came or went where nothing at all is known of one of
// the versions, because it has only begun or nothing of it was measured.
func notGone(lines []Line) {
	var base, head int64
	for i := range lines {
		base, head = base+lines[i].BaseRecords, head+lines[i].HeadRecords
	}
	for i := range lines {
		if l := &lines[i]; l.State == Gone && head == 0 || l.State == New && base == 0 {
			l.State = FewRecords
		}
	}
}

func (s *subject) describe() string {
	return fmt.Sprintf("%s; %d and %d processes, %d slots of %s", s.plan.how(),
		s.processes[judge.Base]-s.silent[judge.Base], s.processes[judge.Head]-s.silent[judge.Head], s.deployment.Slots, s.plan.grid.Slot)
}

// missing says which processes ran and have no part in the comparison.
func (s *subject) missing(c *Comparison, p Pair) []string {
	var out []string
	for side, deployment := range [2]Deployment{judge.Base: p.Base, judge.Head: p.Head} {
		version := deployment.Version
		if s.processes[side] == 0 && deployment.Measured > 0 {
			out = append(out, fmt.Sprintf("nothing that version %s measured is compared: the versions ran together for less than %d slots of %s after their warm-up, and it did not run alone when it is compared with the other: give a shorter --slot", version, minOverlap, s.plan.grid.Slot))
		} else if s.processes[side] == 0 {
			out = append(out, fmt.Sprintf("no call of version %s was measured in this time, calls were counted at most: corehour explain METHOD shows at what rates methods are measured", version))
		}
		if n := s.silent[side]; n > 0 {
			are := "are"
			if n == 1 {
				are = "is"
			}
			out = append(out, fmt.Sprintf("%d of %d processes of version %s measured no %s time and %s not compared: corehour check shows what SDKs say of it",
				n, s.processes[side], version, c.Metric, are))
		}
	}
	if s.uncounted > 0 {
		methods := "methods were"
		if s.uncounted == 1 {
			methods = "method was"
		}
		out = append(out, fmt.Sprintf("%d %s measured and not counted, so nobody knows how many calls a measured one stands for: corehour check shows what was lost", s.uncounted, methods))
	}
	return out
}

func lineOf(v judge.Verdict) Line {
	l := Line{
		State: State(v.State), Basis: "standardised", Reason: v.Reason, Warnings: v.Warnings,
		BaseNSPerCall: v.BaseMean, HeadNSPerCall: v.HeadMean,
		BaseRecords: int64(v.BaseRecords), HeadRecords: int64(v.HeadRecords),
	}
	if !v.State.Judged() {
		return l
	}
	change, mix := 100*v.Change, 100*v.Mix
	l.ChangePercent, l.MixPercent = &change, &mix
	l.Interval = &[2]float64{100 * v.Interval[0], 100 * v.Interval[1]}
	if e := v.EValue; !math.IsInf(e, 0) && !math.IsNaN(e) {
		l.EValue = &e
		l.NeededEValue = &v.NeededE
	}
	l.OnlyLook, l.WaitsFor = v.OnlyLook, v.WaitsFor
	if seen := 100 * v.Seen90; !math.IsInf(seen, 0) && !math.IsNaN(seen) {
		l.Seen90Percent = &seen
	}
	l.PowerAt10 = &v.PowerAt10
	return l
}

func (s *subject) line(m int, v judge.Verdict) Line {
	l := lineOf(v)
	l.NotCompared = max(0, int64(s.measured[m])-l.BaseRecords-l.HeadRecords)
	if l.BaseRecords+l.HeadRecords == 0 && !l.State.Judged() {
		l.State = FewRecords // called, and never measured in this metric
	}
	l.Class, l.Method, l.Signature, l.full = s.names[m].Class, s.names[m].Method, s.names[m].Signature, v.Method
	return l
}

// alert puts a verdict into the words that other programs read.
func (s *subject) alert(c *Comparison, j judge.Alert) alert.Alert {
	a := alert.Alert{
		Schema: alert.Schema, Kind: string(j.Kind),
		ServiceNamespace: c.Namespace, Service: c.Name, Environment: c.Environment,
		BaseVersion: c.BaseVersion, HeadVersion: c.HeadVersion, BaseRevision: c.BaseRevision, HeadRevision: c.HeadRevision,
		Metric: string(c.Metric), Basis: "standardised", Base: j.BaseMean, Head: j.HeadMean,
		ChangePercent: 100 * j.Change, Interval: [2]float64{100 * j.Interval[0], 100 * j.Interval[1]},
		Records: int64(j.HeadRecords), FirstSeen: c.HeadFrom, Links: []string{},
	}
	e := min(j.EValue, math.MaxFloat64)
	a.EValue = &e
	if j.Kind == judge.MoreCalls {
		a.Caller, a.Basis = j.Caller, "calls per call of its caller"
	}
	if m := slices.Index(s.deployment.Methods, j.Method); m >= 0 && j.Kind != judge.WholeService {
		a.Class, a.Method, a.Signature = s.names[m].Class, s.names[m].Method, s.names[m].Signature
		if price := s.prices[m]; price > 0 && c.Metric == query.CPU && j.Kind == judge.Regression {
			usd := j.ExcessPerDay / nsPerCoreHour * price
			a.USDPerDay = &usd
		}
	}
	a.Severity = alert.SeverityOf(s.impact(c, j, a.USDPerDay))
	a.Reason = s.sentence(c, j)
	a.ID = alert.ID(&a)
	return a
}

const nsPerCoreHour = 3.6e12

// sentence says what was found, between what, and on what it rests.
func (s *subject) sentence(c *Comparison, j judge.Alert) string {
	what := string(c.Metric) + " time per call, callers and hours being equal"
	switch j.Kind {
	case judge.MoreCalls:
		what = j.Name() + ": calls of the one per call of the other"
	case judge.WholeService:
		what = "what all methods have in common in their " + string(c.Metric) + " time"
	}
	parts := []string{fmt.Sprintf("%s: %s, from version %s to %s", what, j.Reason, c.BaseVersion, c.HeadVersion)}
	if j.Kind == judge.Regression && math.Abs(j.Mix) >= 0.01 {
		parts = append(parts, fmt.Sprintf("%+.1f%% more because of who calls it, which is not part of this", 100*j.Mix))
	}
	if len(j.Explains) > 0 {
		parts = append(parts, "because of "+strings.Join(j.Explains, ", "))
	}
	parts = append(parts, s.describe())
	return strings.Join(append(parts, j.Warnings...), "; ")
}

// started is from when a process counts as running, for its warm-up.
func started(p query.Process, from time.Time, slot time.Duration) time.Time {
	switch {
	case !p.Start.IsZero():
		return p.Start
	case p.First.Sub(from) > slot:
		return p.First // it came while we were looking
	}
	return time.Time{}
}
