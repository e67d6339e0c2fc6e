package verdict

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/judge"
	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
)

// Compare compares what has enough measured calls, and some of the others. A method is raised by two evaluations in a row: of all
// complete buckets but the last, and of all of them, or by one with more evidence where
// no more buckets will come. So the verdict follows from what is stored, whoever evaluates
// it and how often.
//
// What hosts and processes differ by is learned from the processes of each comparison;
// where these are few, from the earlier deployments of the service, else from those of
// all services.
func (EvidenceRule) Compare(ctx context.Context, w *query.Warehouse, filter query.Filter, pairs []Pair, o Options) ([]*Comparison, []Skip, error) {
	pairs, skips := leaveOutFew(pairs, o.MinRecords)
	costs, err := probecost.Read(ctx, w, w.Window, filter)
	if err != nil {
		return nil, nil, err
	}
	out := make([]*Comparison, len(pairs))
	var all []judge.Differences
	again := map[int][]*subject{} // comparisons of few processes
	for i, p := range pairs {
		subjects, err := assembleAll(ctx, w, p, o, costs)
		if err != nil {
			return nil, nil, err
		}
		day := dayOfHead(ctx, w, p, o)
		priced(subjects, day)
		var seen judge.Differences
		if out[i], seen, err = judgeAllOf(subjects, p, o); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.Service, err)
		}
		if subjects[0].unsettled(out[i].warmUp) {
			byAge, err := assembleByAge(ctx, w, p, o, costs)
			if err != nil {
				return nil, nil, err
			}
			if byAge != nil {
				subjects = byAge
				priced(subjects, day)
				if out[i], seen, err = judgeAllOf(subjects, p, o); err != nil {
					return nil, nil, fmt.Errorf("%s: %w", p.Service, err)
				}
			}
		}
		all = append(all, seen)
		out[i].Spreads.From = theseProcesses
		if subjects[0].few() {
			again[i] = subjects
		}
	}
	h := history{w: w, options: o, costs: costs}
	defer h.close()
	for i, subjects := range again {
		p := pairs[i]
		seen, err := h.of(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		spreads, from := judge.LearnSpreads(seen), learnedFrom(len(seen), 0)
		if spreads.Hosts.DF < enoughHosts {
			spreads, from = judge.LearnSpreads(append(seen, all...)), learnedFrom(len(seen), len(all)-1)
		}
		for _, s := range subjects {
			s.deployment.Spreads = spreads
		}
		if out[i], _, err = judgeAllOf(subjects, p, o); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.Service, err)
		}
		out[i].Spreads.From = from
	}
	return out, skips, nil
}

const (
	// fewProcesses is the number of processes of a version that say by themselves what
	// processes differ by.
	fewProcesses = 6
	// enoughHosts is the number of degrees of freedom from which the spread of hosts is
	// known.
	enoughHosts = 8
)

// few reports whether neither version has enough processes.
func (s *subject) few() bool {
	return max(s.processes[judge.Base], s.processes[judge.Head]) < fewProcesses
}

// subject is one comparison by one metric made ready to be judged.
type subject struct {
	deployment *judge.Deployment
	plan       comparisonPlan
	metric     query.Metric
	names      []query.Cell              // of each method: class, method and signature
	measured   []float64                 // calls of each method in the metric, compared or not
	records    [][2]float64              // of these, by version
	timed      [][2]float64              // calls of each method that were timed in any way
	day        func() (*cost.Day, error) // of the head version
	processes  [2]int
	silent     [2]int // of these, measured nothing in the metric
	ageUnknown [2]int // in addition to these, left out of a comparison by age
	runs       bool   // processes live for a run and are compared run by run
	uncounted  int    // methods with measured calls and no weight of any
}

func priced(subjects []*subject, day func() (*cost.Day, error)) {
	for _, s := range subjects {
		s.day = day
	}
}

// judgeAllOf judges a comparison by its metrics, each method by one of them.
func judgeAllOf(subjects []*subject, p Pair, o Options) (*Comparison, judge.Differences, error) {
	first := subjects[0]
	c := &Comparison{
		Service:     p.Service,
		BaseVersion: p.Base.Version, HeadVersion: p.Head.Version,
		BaseRevision: p.Base.Revision, HeadRevision: p.Head.Revision, ChosenBy: p.ChosenBy, GenericPrice: p.Head.ListPrice,
		BaseFrom: p.Base.First, BaseTo: p.Base.Last, HeadFrom: p.Head.First, HeadTo: p.Head.Last,
		Metric: first.metric, AssumedShare: p.Head.assumedShare(), Warnings: []string{}, Methods: []Line{}, Alerts: []alert.Alert{},
	}
	c.Clusters = first.describe()
	results, err := evaluate(subjects, o)
	if err != nil {
		return nil, judge.Differences{}, err
	}
	c.warmUp = results[0].WarmUp
	c.Spreads = spreadsOf(results[0].Spreads)
	c.Warnings = append(c.Warnings, first.missing(c, p)...)
	c.Warnings = append(c.Warnings, results[0].Warnings...)
	c.Warnings = append(c.Warnings, first.plan.warnings()...)
	c.Warnings = append(c.Warnings, first.due(results[0])...)
	uncounted := 0
	for i, s := range subjects {
		for m, v := range results[i].Methods {
			if v.State != judge.Elsewhere {
				c.Methods = append(c.Methods, s.line(m, v))
			}
		}
		uncounted += s.uncounted
	}
	notGone(c.Methods)
	if uncounted == 0 { // else that is why
		c.Warnings = append(c.Warnings, leftOut(c.Methods)...)
	}
	c.Warnings = append(c.Warnings, refused(c.Methods)...)
	if results[0].Service.State.Judged() {
		service := lineOf(results[0].Service, first.metric)
		c.WholeService = &service
	}
	since := firstKnown{subjects: subjects, options: o}
	for i, s := range subjects {
		for _, a := range results[i].Alerts {
			made, err := s.alert(c, a)
			if err != nil {
				return nil, judge.Differences{}, err
			}
			if made.KnowableSince, err = since.of(a); err != nil {
				return nil, judge.Differences{}, err
			}
			c.Alerts = append(c.Alerts, made)
		}
	}
	slices.SortStableFunc(c.Methods, func(a, b Line) int { return strings.Compare(a.full, b.full) })
	slices.SortStableFunc(c.Alerts, alert.MoreExpensive)
	c.markPrices()
	c.markAssumed()
	return c, results[0].Differences, nil
}

// due says when what is pending is confirmed.
func (s *subject) due(r *judge.Result) []string {
	pending := func(v judge.Verdict) bool { return v.State == judge.Pending }
	if !slices.ContainsFunc(r.Methods, pending) && !slices.ContainsFunc(r.Calls, pending) && !pending(r.Service) {
		return nil
	}
	d := s.deployment
	next := d.Begin.Add(d.Bucket * time.Duration(d.Buckets+1))
	return []string{"what is to be confirmed is decided when the time bucket up to " + next.UTC().Format("15:04:05") + " is complete"}
}

// evaluate makes the evaluations in a row that a verdict takes, from what is stored.
func evaluate(subjects []*subject, o Options) ([]*judge.Result, error) {
	rule := o.rule()
	var memory judge.Memory
	buckets := subjects[0].deployment.Buckets
	for earlier := max(1, buckets-rule.Evaluations+1); earlier < buckets; earlier++ {
		var err error
		if _, memory, err = judge.EvaluateAll(upTo(subjects, earlier), rule, memory); err != nil {
			return nil, err
		}
	}
	last := upTo(subjects, buckets)
	for i, s := range subjects {
		last[i].Over = s.deployment.Over
	}
	results, _, err := judge.EvaluateAll(last, rule, memory)
	return results, err
}

// upTo are the deployments as they were known after so many buckets.
func upTo(subjects []*subject, buckets int) []*judge.Deployment {
	out := make([]*judge.Deployment, len(subjects))
	for i, s := range subjects {
		d := *s.deployment
		d.Over, d.Buckets = false, buckets
		out[i] = &d
	}
	return out
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
	return []string{fmt.Sprintf("%d measured calls have no part in this: they began while their process was warming up or in a time bucket that was still open, or rows of that time are kept by minute or hour and time buckets are shorter: see --slot and --warm-up", left)}
}

// maxRefused bounds how many methods refused names.
const maxRefused = 3

// refused names the methods that a last evaluation alone raised, with too little evidence
// for one evaluation.
func refused(lines []Line) (out []string) {
	n := 0
	for i := range lines {
		if l := &lines[i]; l.OnlyLook && (l.State == judge.NotProven || l.State == judge.Undecided) {
			if n++; n <= maxRefused {
				out = append(out, l.full+": "+strings.Join(l.Warnings, "; "))
			}
		}
	}
	if n > maxRefused {
		out = append(out, fmt.Sprintf("and %d methods more in the last evaluation alone", n-maxRefused))
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
		if l := &lines[i]; l.State == judge.Gone && head == 0 || l.State == judge.New && base == 0 {
			l.State = judge.FewRecords
			l.NotCompared += l.BaseRecords + l.HeadRecords
			l.BaseRecords, l.HeadRecords = 0, 0
			for j := range l.Trace.Predicates { // that of records alone
				l.Trace.Predicates[j].Found = "0 and 0"
			}
		}
	}
}

func (s *subject) describe() string {
	processes := "processes"
	if s.runs {
		processes = "runs of processes that live for few time buckets"
	}
	return fmt.Sprintf("%s; %d and %d %s, %d time buckets of %s", s.plan.how(),
		s.processes[judge.Base]-s.silent[judge.Base], s.processes[judge.Head]-s.silent[judge.Head], processes, s.deployment.Buckets, s.plan.grid.TimeBucket)
}

// missing says which processes ran and have no part in the comparison.
func (s *subject) missing(c *Comparison, p Pair) []string {
	var out []string
	for side, deployment := range [2]Deployment{judge.Base: p.Base, judge.Head: p.Head} {
		version := deployment.Version
		if s.processes[side] == 0 && deployment.Measured > 0 {
			out = append(out, fmt.Sprintf("nothing that version %s measured is compared: the versions ran together for less than %d time buckets of %s after their warm-up, and it did not run alone when it is compared with the other: give a shorter --slot", version, minOverlap, s.plan.grid.TimeBucket))
		} else if s.processes[side] == 0 {
			out = append(out, fmt.Sprintf("no call of version %s was measured in this time, calls were counted at most: corehour explain METHOD shows at what rates methods are measured", version))
		}
		if n := s.ageUnknown[side]; n > 0 {
			out = append(out, fmt.Sprintf("%d of %d processes of version %s not compared: they were not seen from their start", n, n+s.processes[side], version))
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
		out = append(out, fmt.Sprintf("%d %s measured and not counted, so it is not known how many calls a measured one stands for: corehour check shows what was lost", s.uncounted, methods))
	}
	return out
}

func lineOf(v judge.Verdict, metric query.Metric) Line {
	l := Line{
		State: v.State, Basis: string(v.Basis), Metric: metric, Reason: v.Reason, Warnings: v.Warnings, Trace: v.Trace,
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
	l.OnlyLook = v.LastEvaluation
	l.Measured, l.Inclusive = partOf(v.Measured), partOf(v.Inclusive)
	l.CommonReason = v.CommonReason
	if v.Common != nil {
		l.Common = partOf(*v.Common)
	}
	if v.Remaining != nil {
		l.Remaining = partOf(*v.Remaining)
	}
	if seen := 100 * v.Seen90; !math.IsInf(seen, 0) && !math.IsNaN(seen) {
		l.Seen90Percent = &seen
	}
	l.PowerAt10 = &v.PowerAt10
	return l
}

// partOf turns shares into percent.
func partOf(p judge.Part) *Part {
	return &Part{Percent: 100 * p.Change, Interval: [2]float64{100 * p.Interval[0], 100 * p.Interval[1]}}
}

func (s *subject) line(m int, v judge.Verdict) Line {
	l := lineOf(v, s.metric)
	l.NotCompared = max(0, int64(s.measured[m])-l.BaseRecords-l.HeadRecords)
	if l.BaseRecords+l.HeadRecords == 0 && !l.State.Judged() {
		l.State = judge.FewRecords // called, and never measured in this metric
	}
	l.Class, l.Method, l.Signature, l.full = s.names[m].Class, s.names[m].Method, s.names[m].Signature, v.Method
	return l
}

// alert puts a verdict into the words that other programs read.
func (s *subject) alert(c *Comparison, j judge.Alert) (alert.Alert, error) {
	a := alert.Alert{
		Schema: alert.Schema, Kind: string(j.Kind),
		ServiceNamespace: c.Namespace, Service: c.Name, Environment: c.Environment,
		BaseVersion: c.BaseVersion, HeadVersion: c.HeadVersion, BaseRevision: c.BaseRevision, HeadRevision: c.HeadRevision,
		Metric: string(s.metric), Basis: string(j.Basis), Base: j.BaseMean, Head: j.HeadMean,
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
	}
	var day *cost.Day
	if s.metric == query.CPU && s.day != nil {
		var err error
		if day, err = s.day(); err != nil {
			return a, err
		}
	}
	if j.Kind == judge.Regression {
		a.USDPerDay = day.OfChange(a.Class, a.Method, j.Basis == judge.Inclusive, j.BaseMean, j.HeadMean)
	}
	if a.USDPerDay != nil {
		a.USDPerDayBasis = day.Basis
	}
	a.Severity = alert.SeverityOf(s.impact(j, a.USDPerDay, day))
	a.Reason = s.sentence(c, j)
	a.ID = alert.ID(&a)
	return a, nil
}

// sentence says what was found, between what, and on what it rests.
func (s *subject) sentence(c *Comparison, j judge.Alert) string {
	what := fmt.Sprintf("%s %s time per call, adjusted for caller mix and hour", j.Basis, s.metric)
	switch j.Kind {
	case judge.MoreCalls:
		what = j.Name() + ": calls of the one per call of the other"
	case judge.WholeService:
		what = string(s.metric) + " time of all methods"
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
func started(p query.Process, from time.Time, bucket time.Duration) time.Time {
	switch {
	case !p.Start.IsZero():
		return p.Start
	case p.First.Sub(from) > bucket:
		return p.First // it came while we were looking
	}
	return time.Time{}
}
