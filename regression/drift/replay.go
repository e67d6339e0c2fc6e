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

// Result is the result of the replayed evaluations of a history.
type Result struct {
	Evaluations int // the last one is at the end of the history
	// Drifts are in the order in which they were confirmed.
	Drifts []Drift
	// Methods holds the status of each method at the last evaluation, in the order of the history.
	Methods []MethodStatus
	// Best is the method with the most days in the last 56. NextEvaluation is the number of days that the earliest
	// evaluation able to report it will have seen.
	Best           MethodStatus
	NextEvaluation int
}

// Drift is a change of a method found by at least nine consecutive evaluations.
type Drift struct {
	// Finding is from the evaluation with the smallest p-value.
	Finding
	// Confirmed and LastConfirmed are the numbers of days seen by the first and the last evaluation that confirmed the drift.
	Confirmed, LastConfirmed int
	// Current is set if an evaluation of the last seven days confirmed the drift. A single day on which chance hides
	// the drift does not clear it.
	Current bool

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
func Replay(h *History) (*Result, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	e := newEvaluations(h)
	r := &Result{Evaluations: max(0, h.Days-LeastDays+1), Methods: e.historyUntil(h.Days, 0).states()}
	before := e.historyUntil(h.Days-confirmations+1, 0).states()
	last := e.evaluateNeeded()
	r.Drifts = e.confirmed()
	for i := range r.Drifts {
		r.Drifts[i].Current = h.Days-r.Drifts[i].LastConfirmed < currentDays
	}
	for m := range r.Methods {
		s := &r.Methods[m]
		s.Judged = r.Evaluations >= confirmations && s.Days >= LeastDays && before[m].Days >= LeastDays
		if s.Judged {
			s.Surest = last[m].surest(s.Method)
			s.Short = s.Days < fullDays
			s.Detectable = last[m].detectable(len(last) - 1)
		}
		if m == 0 || cmp.Or(cmp.Compare(s.Days, r.Best.Days), cmp.Compare(s.Records, r.Best.Records)) > 0 {
			r.Best = *s
		}
	}
	r.NextEvaluation = h.Days + max(1, WantDays-r.Best.Days)
	return r, nil
}

// newDriftDays is the number of days between the dates of a reported drift and a later step from which the step is a new
// drift. With fewer days it is the same drift, whose date moved because its first days left the window.
const newDriftDays = window / 2

// addFinding adds a confirmed finding to the drifts. It extends the last drift of the method if that has the same
// direction, was confirmed by an evaluation that saw some of the same days, and is not followed by a new step.
func addFinding(drifts []Drift, f Finding, day int) []Drift {
	at := len(drifts) - 1
	for at >= 0 && drifts[at].Method != f.Method {
		at--
	}
	if at < 0 || day-drifts[at].LastConfirmed >= window || (f.Change > 0) != (drifts[at].Change > 0) {
		return append(drifts, Drift{Finding: f, Confirmed: day, LastConfirmed: day, first: f})
	}
	d := &drifts[at]
	if f.Shape == Jump && f.Began > d.Confirmed {
		f.date()
		d.dateBefore()
	}
	if f.after(d) {
		return append(drifts, Drift{Finding: f, Confirmed: day, LastConfirmed: day, first: f})
	}
	d.LastConfirmed = day
	if f.P < d.P {
		if f.Shape == Jump && f.Began > d.Confirmed {
			d.Confirmed, d.first = day, f // a later, more significant step
		}
		d.Finding = f
	}
	return drifts
}

// dateBefore dates a reported drift. It cannot have begun after its report: a later, more significant evaluation may
// no longer see the days on which it began, and then the first finding gives the date.
func (d *Drift) dateBefore() {
	if d.date(); d.Began > d.Confirmed {
		d.first.date()
		d.Began = d.first.Began
	}
}

// after reports whether f is a step that came after drift d was reported.
func (f *Finding) after(d *Drift) bool {
	return f.Shape == Jump && f.Began > d.Confirmed && f.Began-d.Began > newDriftDays
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
