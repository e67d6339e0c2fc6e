package evaluation

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/drift"
	"github.com/corehour/corehour/regression/query"
)

// Evaluation holds the findings of the replayed evaluations.
type Evaluation struct {
	Services []*Service `json:"services"`
	delivery.Sorted
	CouldNotTell bool `json:"could_not_tell"`

	OfSeries bool `json:"-"` // the findings are from a file of series
}

// Service is one service, or a file of series.
type Service struct {
	query.Service
	Metric query.Metric `json:"metric"`
	// From and To are the first day with rows and the day after the last. LastEvaluation is the day after the days
	// that the last evaluation saw, null without one.
	From           string  `json:"from"`
	To             string  `json:"to"`
	Evaluations    int     `json:"looks"`
	LastEvaluation *string `json:"last_look"`
	// NoRowsSince equals To if that is so long ago that no drift is current.
	NoRowsSince string `json:"no_rows_since,omitempty"`
	// Judged is the number of methods with enough history.
	Methods  int       `json:"methods"`
	Judged   int       `json:"judged"`
	Verdicts []Verdict `json:"lines"`
	// AssumedShare is the share of measured calls without a known sampling probability.
	AssumedShare float64 `json:"assumed_share,omitempty"`
	// Missing describes the missing data if no method has enough history.
	Missing string `json:"missing,omitempty"`
}

// State is the result of the evaluations for a method.
type State string

const (
	Confirmed        State = "drift"    // confirmed by an evaluation of the last week
	Improved         State = "improved" // cheaper, confirmed in the same way; information, no alert
	Earlier          State = "earlier"  // confirmed by earlier evaluations
	NotProven        State = "not_proven"
	TooLittleHistory State = "too_little_history"
)

// Proven reports whether an evaluation has confirmed a change.
func (s State) Proven() bool { return s == Confirmed || s == Improved || s == Earlier }

// Verdict is the result for one method: a drift, or none.
type Verdict struct {
	Class     string `json:"class"`
	Method    string `json:"method"`
	Signature string `json:"signature"`
	// WholeService marks the change that all methods share.
	WholeService bool        `json:"whole_service"`
	State        State       `json:"state"`
	Shape        drift.Shape `json:"shape,omitempty"`
	// Since is the day on which the drift began, ConfirmedOn the day on which it was confirmed. Both are null if nothing
	// is significant.
	Since       *string `json:"since"`
	ConfirmedOn *string `json:"told"`
	// ChangePercent is the change over 56 days or of the step, followed by its interval; null without enough
	// history.
	ChangePercent *float64    `json:"change_percent"`
	Interval      *[2]float64 `json:"interval"`
	P             *float64    `json:"p"`
	// MeasuredChangePercent includes the common part, the change that all methods of the service share.
	// CommonReason explains why no common part was subtracted.
	MeasuredChangePercent *float64 `json:"measured_change_percent"`
	CommonPartPercent     *float64 `json:"common_part_percent"`
	CommonReason          string   `json:"common_reason,omitempty"`
	// Difference and DifferenceInterval replace ChangePercent if values of a series can be 0 or below.
	Difference         *float64    `json:"difference,omitempty"`
	DifferenceInterval *[2]float64 `json:"difference_interval,omitempty"`
	// DetectablePercent is the step that would have been found with a probability of 90%. DetectableDifference is
	// the same for a series compared by differences.
	DetectablePercent    *float64 `json:"detectable_percent"`
	DetectableDifference *float64 `json:"detectable_difference,omitempty"`
	// ShortHistory and FewRecords are reasons for a test with less power than usual.
	ShortHistory bool `json:"short_history,omitempty"`
	FewRecords   bool `json:"few_records,omitempty"`
	// Days is the number of days with a value in the 56 days of the last evaluation, Records the records on them.
	Days    int    `json:"days"`
	Records int64  `json:"records"`
	Owner   string `json:"owner"`

	began      time.Time
	base, head float64 // ns per call
	share      float64 // growth as a part of the service's time
	now        float64 // ns per call in the week before the last evaluation
}

// Confirmed reports whether an evaluation of the last week confirmed a drift.
func (f *Evaluation) Confirmed() bool {
	return slices.ContainsFunc(f.Services, func(s *Service) bool {
		return slices.ContainsFunc(s.Verdicts, func(l Verdict) bool { return l.State == Confirmed })
	})
}

// Found reports whether there is an alert, or a confirmed drift of a series.
func (f *Evaluation) Found() bool { return len(f.Alerts) > 0 || f.OfSeries && f.Confirmed() }

// Inconclusive reports whether there is not enough data to find anything.
func (f *Evaluation) Inconclusive() bool { return f.CouldNotTell }

func date(t time.Time) string { return t.Format(time.DateOnly) }

// describe returns the lines of a history: its drifts and the methods without one.
func (h *serviceHistory) describe(c *drift.Result, owners *rules.Owners) *Service {
	s := &Service{Service: h.Service, Metric: h.metric, From: date(h.first), To: date(h.day(h.Days)), Evaluations: c.Evaluations, Methods: len(h.Methods), AssumedShare: h.assumed, Verdicts: []Verdict{}}
	if c.Evaluations > 0 {
		s.LastEvaluation = new(date(h.day(h.Days)))
	}
	recent := h.recent()
	states := map[string]*drift.MethodStatus{}
	for i := range c.Methods {
		states[c.Methods[i].Method] = &c.Methods[i]
	}
	found := map[string]bool{}
	for i := range c.Drifts {
		d := &c.Drifts[i]
		l := h.newVerdict(d.Method, states[d.Method], owners)
		l.State, l.began = Earlier, h.day(d.Began)
		if d.Current && !h.silent {
			l.State = Confirmed
			if d.Change < 0 {
				l.State = Improved
			}
		}
		found[d.Method] = true
		l.measure(&d.Finding)
		l.Since, l.ConfirmedOn = new(date(l.began)), new(date(h.day(d.Confirmed)))
		if m := slices.Index(h.Methods, d.Method); m >= 0 { // else the whole service
			l.now = recent[m]
		}
		if !d.Linear {
			l.head = l.now
			l.base = l.head / (1 + d.Change)
			l.share = h.shareOf(d.Method, d.Change)
		}
		s.Verdicts = append(s.Verdicts, l)
	}
	for i := range c.Methods {
		m := &c.Methods[i]
		if m.Judged {
			s.Judged++
		}
		if found[m.Method] {
			continue
		}
		l := h.newVerdict(m.Method, m, owners)
		l.State, l.now = TooLittleHistory, recent[i]
		if m.Judged {
			l.State = NotProven
			l.measure(m.Surest)
		}
		s.Verdicts = append(s.Verdicts, l)
	}
	order := []State{Confirmed, Improved, Earlier, NotProven, TooLittleHistory}
	slices.SortStableFunc(s.Verdicts, func(a, b Verdict) int {
		return slices.Index(order, a.State) - slices.Index(order, b.State)
	})
	if s.Judged == 0 {
		s.Missing = h.missing(c)
	}
	if h.silent {
		s.NoRowsSince = s.To
	}
	return s
}

// newVerdict returns a verdict with the name and the state of a method; the whole service has no state.
func (h *serviceHistory) newVerdict(name string, state *drift.MethodStatus, owners *rules.Owners) Verdict {
	if state == nil {
		return Verdict{WholeService: true, Owner: owners.Of(h.Namespace, h.Name, h.Environment, "")}
	}
	at := slices.Index(h.Methods, name)
	m := &h.names[at]
	l := Verdict{
		Class: m.Class, Method: m.Method, Signature: m.Signature, Days: state.Days, Records: int64(state.Records),
		Owner: owners.Of(h.Namespace, h.Name, h.Environment, m.Class), ShortHistory: state.Short,
	}
	switch {
	case !state.Judged || math.IsInf(state.Detectable, 0):
	case h.Linear != nil && h.Linear[at]:
		l.DetectableDifference = new(state.Detectable)
	default:
		l.DetectablePercent = new(100 * state.Detectable)
	}
	return l
}

func (l *Verdict) measure(f *drift.Finding) {
	l.Shape, l.P, l.FewRecords, l.CommonReason = f.Shape, new(f.P), f.Few, f.CommonReason
	if f.Linear {
		l.Difference, l.DifferenceInterval = new(f.Change), new(f.Interval)
		return
	}
	l.ChangePercent = new(100 * f.Change)
	l.Interval = &[2]float64{100 * f.Interval[0], 100 * f.Interval[1]}
	if !l.WholeService {
		l.MeasuredChangePercent, l.CommonPartPercent = new(100*f.Measured), new(100*f.CommonPart)
	}
}

// missing describes the data that is missing for an evaluation of the history.
func (h *serviceHistory) missing(c *drift.Result) string {
	want := "a value"
	best := "no method has one of the last 56"
	if c.Best.Days > 0 {
		best = fmt.Sprintf("%s has most, %d of the last 56", c.Best.Method, c.Best.Days)
	}
	if h.metric != "" {
		want = fmt.Sprintf("%d measured calls from one caller", drift.WantRecords)
		best += fmt.Sprintf(" with %.0f records", c.Best.Records)
	}
	return fmt.Sprintf("too little history: %d days from %s on; a drift needs %d days with %s (%d of 56, at each of nine daily evaluations), and %s; the evaluation of %s is the first with enough",
		h.Days, date(h.first), drift.WantDays, want, drift.LeastDays, best, date(h.day(c.NextEvaluation)))
}

// recent returns the time per call of each method in the last week; 0 without calls.
func (h *serviceHistory) recent() []float64 {
	cost, calls := make([]float64, len(h.Methods)), make([]float64, len(h.Methods))
	for i := range h.Rows {
		if r := &h.Rows[i]; int(r.Day) >= h.Days-7 {
			cost[r.Method] += r.Capped
			calls[r.Method] += r.Weight
		}
	}
	for m := range cost {
		if calls[m] > 0 {
			cost[m] /= calls[m]
		}
	}
	return cost
}
