package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/stats"
)

// Needed is the amount of data that decides an open verdict, if the change stays as measured. It is nil for a decided
// verdict.
type Needed struct {
	// Records are the measured calls of each version that decide. Minutes is the further time until then, at the present
	// rate of records. Both are 0 if no number of records decides.
	Records int64   `json:"records,omitempty"`
	Minutes float64 `json:"minutes,omitempty"`
	// Processes is the number of processes of each version that decide in the time compared so far; 0 if no number does.
	Processes int `json:"processes,omitempty"`
	// Text is a phrase with these numbers, or with another remedy.
	Text string `json:"text"`
}

func (n *Needed) text() string {
	if n == nil {
		return ""
	}
	return n.Text
}

const (
	// luck is the number of standard deviations by which an estimate is assumed to move against its change until the
	// later evaluation: the quantile of 80% for more processes, less for more records, because each evaluation until
	// then can decide. With them the data are enough in 84% and 87% of simulated deployments, and 3 and 2.5 times what
	// was needed in the median (TestNeeded_MinutesAreEnough, TestNeeded_ProcessesAreEnough).
	luck, luckOfRecords = 0.84, 0.3
	// mostProjected is the maximum number of methods for which the needed data are computed.
	mostProjected = 20
	// unreachable is the further time above which the rate of records must rise.
	unreachable = 7 * 24 * time.Hour
	// patience is the further time above which the text names alternatives.
	patience = time.Hour
)

// moreRecords and moreProcesses are the amounts of data that are tried: factors of the present number of records, and
// processes of each version.
var (
	moreRecords   = []float64{1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 4096, 16384}
	moreProcesses = []float64{2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256}
)

// moreData are the data of a later evaluation.
type moreData struct {
	records   float64 // factor of the records of a process
	processes float64 // minimum number of processes of each version
}

// fit returns f with more data.
func (m moreData) fit(f fit, x *index) fit {
	left, added := m.differences(x)
	n := m.records / left
	least := 0.0 // days and hours differ, however many records there are
	if x.d.Overlap != Concurrent {
		least = min(x.d.Overlap.differs()*x.d.Overlap.differs(), f.buckets)
	}
	f.within, f.buckets, f.df, f.spread = f.within/n, least+(f.buckets-least)/n, f.df*n, f.spread*left
	if h := &f.instances; h.DF > 0 {
		by := (h.DF + added) / h.DF
		h.Q, h.DF, h.C = h.Q*by, h.DF*by, h.C*by
	}
	return f
}

// differences returns the share of the variance between processes that is left, and the number of added processes.
func (m moreData) differences(x *index) (left, added float64) {
	now, later := 0.0, 0.0
	for _, n := range x.processes {
		n := float64(max(n, 1))
		now, later, added = now+1/n, later+1/max(n, m.processes), added+max(0, m.processes-n)
	}
	return later / now, added
}

// later is an evaluation with more data. The changes of the methods come closer to the change that all share, by as much as
// their errors become smaller: most differences between them are errors.
type later struct {
	*evaluation
	methods []compared
	at      []int // vote of each method, or -1
	shared  *stats.Shared
	spreads processSpreads
	luck    float64
}

func (l *evaluation) with(m moreData) *later {
	out := &later{evaluation: l, methods: slices.Clone(l.methods), spreads: l.processSpreads, luck: luckOfRecords}
	if m.processes > 0 {
		out.luck = luck
	}
	left, added := m.differences(l.x)
	out.spreads.hosts = Spread{out.spreads.hosts.Variance * left, out.spreads.hosts.DF + added}
	for i := range out.methods {
		c := &out.methods[i]
		if !c.verdict.State.Judged() {
			continue
		}
		for s := range c.fits {
			c.fits[s] = m.fit(c.fits[s], l.x)
		}
		c.inclusive = m.fit(c.inclusive, l.x)
		now := c.errors
		c.estimate(out.spreads, l.o, l.inflation)
		for s := range c.fits {
			if all := l.common * c.loadingOf(statistic(s)); c.fits[s].ok {
				c.fits[s].change = all + (c.fits[s].change-all)*math.Sqrt(c.errors[s].all/now[s].all)
			}
		}
	}
	votes, at := votes(out.methods, l.x.d)
	out.at, out.shared = at, stats.NewShared(votes, out.spreads.hosts.Variance, out.spreads.hosts.DF, soloists(out.methods, at)...)
	return out
}

// logE returns the logarithm of the e-value of method m, or of the whole service for -1, if its change stays as measured.
func (l *later) logE(m int) float64 {
	if m < 0 {
		c := judgeService(l.x, l.methods, l.shared, l.spreads, l.o)
		change := c.fits[mean].change - l.luck*math.Sqrt(max(0, l.service.spread.all-c.spread.all))
		return stats.LogEStudent(change, c.spread.all, c.spread.df, margin(l.o), scales)
	}
	c := l.methods[m]
	w := l.shared.Without(l.at[m])
	hosts := l.spreads.hosts.Variance
	if identified(l.x.d, w, l.spreads.hosts) == "" {
		hosts = w.SD * w.SD
	}
	move := l.luck * math.Sqrt(max(0, l.evaluation.methods[m].spread.all-c.errors[c.best()].all-c.loading*c.loading*hosts))
	for s := range c.fits {
		c.fits[s].change = l.evaluation.methods[m].fits[s].change - move
	}
	c.inferWith(w, l.x.d, l.spreads, l.o)
	return c.logE
}

// setNeeded sets the needed data of the open verdicts, and of the largest changes that are not proven.
func (l *evaluation) setNeeded() {
	x := l.x
	for _, c := range slices.Concat(pointers(l.methods), pointers(l.calls), []*compared{l.service}) {
		if c.verdict.State != NotDistinguishable { // has the remedy of its doubt
			c.verdict.Needed = c.neededRecords(x, l.o)
		}
	}
	open := slices.DeleteFunc(append(pointers(l.methods), l.service), func(c *compared) bool {
		v := &c.verdict
		return v.State != Undecided && (v.State != NotProven || v.Measured.Interval[0] <= 0 || c.changed() < l.o.LeastChange || c.logE >= math.Log(v.NeededE))
	})
	slices.SortStableFunc(open, func(a, b *compared) int {
		return cmp.Or(cmp.Compare(b.verdict.State, a.verdict.State), cmp.Compare(b.verdict.Change, a.verdict.Change)) // undecided first
	})
	evaluations := map[moreData]*later{}
	for _, c := range open[:min(len(open), mostProjected)] {
		m := slices.IndexFunc(l.methods, func(of compared) bool { return !c.whole && of.name == c.name })
		decides := func(data moreData) bool {
			if evaluations[data] == nil {
				evaluations[data] = l.with(data)
			}
			return evaluations[data].logE(m) >= math.Log(c.verdict.NeededE)
		}
		c.verdict.Needed = c.needed(x, decides)
	}
}

// neededRecords returns the data that decide a method which cannot be judged, or which the next evaluation decides.
func (c *compared) neededRecords(x *index, o Options) *Needed {
	minutes := func(buckets float64) float64 { return tenths(buckets * x.d.Bucket.Minutes()) }
	switch ran := float64(x.headBuckets()); c.verdict.State {
	case Pending:
		return &Needed{Minutes: minutes(1), Text: "the next time bucket of " + x.d.Bucket.String() + " decides"}
	case FewBuckets:
		more := max(1, leastApart-ran)
		return &Needed{Minutes: minutes(more), Text: fmt.Sprintf("needs %.0f more time buckets: %s", more, Wait(minutes(more)))}
	case FewRecords:
		n := &Needed{Records: int64(o.Records)}
		n.Text = c.recordsText(n.Records)
		if seen := min(c.seen[Base], c.seen[Head]); seen > 0 {
			n.Minutes = minutes(ran * (o.Records + math.Sqrt(o.Records) - seen) / seen)
			n.Text += ": " + Wait(n.Minutes) + " at this rate"
		}
		return n
	}
	return nil
}

func (c *compared) recordsText(n int64) string {
	return fmt.Sprintf("needs %d records of each version, has %.0f and %.0f", n, c.seen[Base], c.seen[Head])
}

// needed returns the needed data of a method by the first of the larger amounts that decides.
func (c *compared) needed(x *index, decides func(moreData) bool) *Needed {
	n := &Needed{}
	first := func(of []float64, decides func(float64) bool) float64 {
		if i := sort.Search(len(of), func(i int) bool { return decides(of[i]) }); i < len(of) {
			return of[i]
		}
		return 0
	}
	has := float64(min(x.processes[Base], x.processes[Head]))
	n.Processes = int(first(moreProcesses, func(p float64) bool { return p > has && decides(moreData{1, p}) }))
	factor := first(moreRecords, func(f float64) bool { return decides(moreData{f, 0}) })
	processes := fmt.Sprintf("%d processes of each version, has %d and %d", n.Processes, x.processes[Base], x.processes[Head])
	if factor == 0 {
		n.Text = "needs " + processes + ": more records do not decide, because hosts and processes differ as much"
		if n.Processes == 0 {
			n.Text = fmt.Sprintf("neither more records nor %.0f processes of each version decide it, if the change stays as measured", moreProcesses[len(moreProcesses)-1])
		}
		return n
	}
	ran := float64(x.headBuckets()) * x.d.Bucket.Minutes()
	n.Minutes = tenths((factor-1)*ran + x.d.Bucket.Minutes()) // one more evaluation confirms
	long := time.Duration(n.Minutes*float64(time.Minute)) > patience
	n.Text = Wait(n.Minutes) + " more"
	if !c.whole {
		n.Records = int64(math.Ceil(factor * min(c.seen[Base], c.seen[Head])))
		n.Text = c.recordsText(n.Records) + ": " + Wait(n.Minutes) + " at this rate"
		if long {
			n.Text += c.fasterText(n.Minutes)
		}
	}
	if n.Processes > 0 && (long || c.whole) {
		n.Text += ", or " + processes
	}
	return n
}

// neededForSign names the data with which the interval of a change excludes 0.
func (c *compared) neededForSign(x *index) string {
	e, half := c.errors[mean], math.Log1p(c.verdict.Change)/2
	apart := c.spread.all - c.errors[c.best()].all + e.all - e.measured
	switch factor := e.measured / (half*half - apart); {
	case half*half <= apart:
		return "needs more processes of both versions"
	case factor > 1:
		return c.recordsText(int64(math.Ceil(factor*min(c.seen[Base], c.seen[Head])))) + ": " +
			Wait((factor-1)*float64(x.headBuckets())*x.d.Bucket.Minutes()) + " at this rate"
	}
	return "needs more of the heavy calls: a longer time, or a higher rate of this method"
}

// fasterText names the sampling rate that shortens the needed time to patience, or the rate that measures all calls.
func (c *compared) fasterText(minutes float64) string {
	unmeasured := c.weight[Head] / c.seen[Head] // calls per record
	by := min(math.Ceil(minutes/patience.Minutes()), math.Floor(unmeasured))
	if by < 2 {
		return ", and every call is measured"
	}
	return fmt.Sprintf(", or %s with %.0f times its rate: raise budget.records_per_second, or its rate in the method file", Wait(minutes/by), by)
}

// tenths rounds up to tenths.
func tenths(x float64) float64 { return math.Ceil(10*x-1e-9) / 10 }

// Wait formats a number of minutes with one unit, rounded up.
func Wait(minutes float64) string {
	d := time.Duration(minutes * float64(time.Minute))
	switch {
	case d > unreachable:
		return "more than " + output.Several(int64(unreachable.Hours()/24), "day")
	case d >= 48*time.Hour:
		return output.Several(int64(math.Ceil(d.Hours()/24)), "day")
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f h", math.Ceil(d.Hours()))
	case d >= time.Minute:
		return fmt.Sprintf("%.0f min", math.Ceil(d.Minutes()))
	}
	return fmt.Sprintf("%.0f s", math.Ceil(d.Seconds()))
}
