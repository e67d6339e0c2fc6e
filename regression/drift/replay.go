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

// WantDays is the minimum number of days with a value that a method needs to be reported.
const WantDays = LeastDays + confirmations - 1

// WantRecords is the minimum number of records of a caller on a day for the day to count.
const WantRecords = leastRecords

// FewRecords is the number of records per day below which a method needs stronger evidence.
const FewRecords = 200

// Course is the result of the replayed evaluations of a history.
type Course struct {
	// Looks is the number of evaluations, Seen the number of days that the last one saw.
	Looks, Seen int
	// Drifts are in the order in which they were confirmed.
	Drifts []Drift
	// Methods holds the status of each method at the last evaluation, in the order of the history.
	Methods []MethodStatus
	// Best is the method with the most days in the last 56. NextLook is the number of days that the earliest
	// evaluation able to report it will have seen.
	Best     MethodStatus
	NextLook int
}

// Drift is a change of a method found by at least nine consecutive evaluations.
type Drift struct {
	// Finding is from the evaluation with the smallest p-value.
	Finding
	// Told and Last are the numbers of days seen by the first and the last evaluation that confirmed the drift.
	Told, Last int
	// Now is set if an evaluation of the last seven days confirmed the drift. A single day on which chance hides
	// the drift does not clear it.
	Now bool

	first Finding // from the evaluation that first confirmed it
}

// MethodStatus is the status of a method at the last evaluation.
type MethodStatus struct {
	Method string
	// Days is the number of days with a value in the window, Records the number of records on them.
	Days    int
	Records float64
	// Judged is set if nine consecutive evaluations had enough days to report a drift. Short is set if the days
	// are fewer than the tests need for their usual power.
	Judged, Short bool
	// Detectable is the relative step that would be found with a probability of 90% in the middle of these days;
	// for a linear method it is a difference.
	Detectable float64
	// Surest is the result of the more significant test; it is not necessarily significant.
	Surest *Finding
}

// Replay runs the evaluations that a history allows. The result depends only on the rows.
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

// joinFinding adds a confirmed finding to the drifts. It extends the last drift of the method if that has the same
// direction, was confirmed by an evaluation that saw some of the same days, and is not followed by a new step.
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
			d.Told, d.first = day, f // a later, more significant step
		}
		d.Finding = f
	}
	return told
}

// dateBefore dates a reported drift. It cannot have begun after its report: a later, more significant evaluation may
// no longer see the days on which it began, and then the first finding gives the date.
func (d *Drift) dateBefore() {
	if d.date(); d.Began > d.Told {
		d.first.date()
		d.Began = d.first.Began
	}
}

// after reports whether f is a step that came after drift d was reported.
func (f *Finding) after(d *Drift) bool {
	return f.Shape == Jump && f.Began > d.Told && f.Began-d.Began > newDriftDays
}

// states counts the days and the records of each method.
func (h *History) states() []MethodStatus {
	out := make([]MethodStatus, len(h.Methods))
	seen := make([]int32, len(h.Methods)) // last day counted, plus 1
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

// detectable returns the step in the middle of the window that the tests would find with a probability of 90% if
// no other method changed.
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
