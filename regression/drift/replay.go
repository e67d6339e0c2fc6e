package drift

import (
	"cmp"
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// confirmations is the number of consecutive evaluations that must find a drift before it is reported. There is one
// evaluation at the end of each day, so the result does not depend on the weekday on which a history begins or ends.
const confirmations = 9

// currentDays is the number of days for which a confirmed drift counts as current.
const currentDays = 7

// WantDays is how many days with a value a method needs at least to be reported.
const WantDays = LeastDays + confirmations - 1

// WantRecords is what a caller of a method needs on a day for the day to count.
const WantRecords = leastRecords

// FewRecords on most days of a method ask for more evidence.
const FewRecords = 200

// Course is what the evaluations at a history said.
type Course struct {
	// Looks is how many days they were made for, Seen the number of days that the last
	// one saw.
	Looks, Seen int
	// Drifts are in the order in which they were reported.
	Drifts []Drift
	// Methods are as the last evaluation saw them, in the order of the history.
	Methods []MethodStatus
	// Best is the method with the most days of the last 56, and NextLook the day
	// before which the evaluation is made that could tell of it at the earliest.
	Best     MethodStatus
	NextLook int
}

// Drift is a method that was found to have changed by nine evaluations or more in a row.
type Drift struct {
	// Finding is of the evaluation that was surest.
	Finding
	// Told and Last are the days that the first and the last evaluation saw that confirmed
	// it.
	Told, Last int
	// Now: an evaluation of the last seven days of the history confirmed it. So a day on which chance
	// hides it does not take it back.
	Now bool

	first Finding // of the evaluation that told it
}

// MethodStatus is what is known of a method.
type MethodStatus struct {
	Method string
	// Days with a value and Records on them, of the window.
	Days    int
	Records float64
	// Judged: nine evaluations in a row had days enough, so that a drift would be reported. Short:
	// they are fewer than most tests need to have their power.
	Judged, Short bool
	// Detectable is the step, as a share, that would be found with a probability of 90%
	// if it were in the middle of these days; of a linear method a difference.
	Detectable float64
	// Surest is what the test says that is surer; it proves nothing.
	Surest *Finding
}

// Replay makes the evaluations that a history allows, so that what is found follows from the
// rows alone.
func Replay(h *History) (*Course, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	l := newEvaluations(h)
	c := &Course{Looks: max(0, h.Days-LeastDays+1), Seen: h.Days, Methods: l.shown(h.Days, 0).states()}
	before := l.shown(h.Days-confirmations+1, 0).states()
	last := l.needed()
	c.Drifts = l.told()
	for i := range c.Drifts {
		c.Drifts[i].Now = h.Days-c.Drifts[i].Last < currentDays
	}
	for m := range c.Methods {
		s := &c.Methods[m]
		s.Judged = c.Looks >= confirmations && s.Days >= LeastDays && before[m].Days >= LeastDays
		if s.Judged {
			s.Surest = last[m].surest(s.Method)
			s.Short = s.Days < fullDays
			s.Detectable = last[m].detectable(len(last) - 1)
		}
		if m == 0 || cmp.Or(cmp.Compare(s.Days, c.Best.Days), cmp.Compare(s.Records, c.Best.Records)) > 0 {
			c.Best = *s
		}
	}
	c.NextLook = h.Days + max(1, WantDays-c.Best.Days)
	return c, nil
}

// newDriftDays is the number of days between the dates of a reported drift and a later step from which the step is a new
// drift. With fewer days it is the same drift, whose date moved because its first days left the window.
const newDriftDays = window / 2

// joinFinding joins what an evaluation confirmed with what an earlier evaluation did that saw some of the
// same days.
func joinFinding(told []Drift, f Finding, day int) []Drift {
	at := len(told) - 1
	for at >= 0 && told[at].Method != f.Method {
		at--
	}
	if at < 0 || day-told[at].Last >= window || (f.Change > 0) != (told[at].Change > 0) {
		return append(told, Drift{Finding: f, Told: day, Last: day, first: f})
	}
	d := &told[at]
	if f.Shape == Jump && f.Began > d.Told {
		f.date()
		d.dateBefore()
	}
	if f.after(d) {
		return append(told, Drift{Finding: f, Told: day, Last: day, first: f})
	}
	d.Last = day
	if f.P < d.P {
		if f.Shape == Jump && f.Began > d.Told {
			d.Told, d.first = day, f // another step, which is larger
		}
		d.Finding = f
	}
	return told
}

// dateBefore dates what was reported before. It did not begin after that: a later evaluation, which is
// surer, may no longer see the days on which it began.
func (d *Drift) dateBefore() {
	if d.date(); d.Began > d.Told {
		d.first.date()
		d.Began = d.first.Began
	}
}

// after reports whether it is a step that came after a drift was reported.
func (f *Finding) after(d *Drift) bool {
	return f.Shape == Jump && f.Began > d.Told && f.Began-d.Began > newDriftDays
}

// states counts what there is of each method in the window.
func (h *History) states() []MethodStatus {
	out := make([]MethodStatus, len(h.Methods))
	seen := make([]int32, len(h.Methods)) // the day counted last, from 1
	for m := range out {
		out[m].Method = h.Methods[m]
	}
	for i := range h.Rows { // sorted by day
		r := &h.Rows[i]
		if !h.usable(r) {
			continue
		}
		s := &out[r.Method]
		s.Records += r.Records
		if seen[r.Method] != r.Day+1 {
			seen[r.Method] = r.Day + 1
			s.Days++
		}
	}
	return out
}

// surest returns the finding with the smallest p value among trend and step, upwards and downwards.
func (m *method) surest(name string) *Finding {
	direction := up
	if t, o := &m.tested[up], &m.tested[down]; min(o.trendP, o.stepP) < min(t.trendP, t.stepP) {
		direction = down
	}
	f := m.asTrend(name, direction)
	if t := &m.tested[direction]; t.stepP < t.trendP {
		f = m.asStep(name, direction)
	}
	return &f
}

// detectable is the step in the middle of the window that the test of trends or of steps
// would find with a probability of 90% if it were the only one.
func (m *method) detectable(methods int) float64 {
	t := &m.tested[up]
	n := float64(len(t.inSteps.values))
	if n == 0 {
		return math.Inf(1)
	}
	alpha := stepAlpha * levelShare(methods) / float64(methods+1) / 2
	z := stats.BridgeQuantile(alpha, leastSide/n)
	size := (z + 1.28) * t.step.LongSD * 2 / math.Sqrt(n)
	if m.scale > 0 {
		return size
	}
	return math.Expm1(size)
}
