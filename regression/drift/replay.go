package drift

import (
	"cmp"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/stats"
)

// lookDay is the weekday on which a week's look is made: at the beginning of
// Monday, of the days before it. So the looks are the same whoever replays them, on
// whatever day, and there is one a week, as the rates of false alarms have it.
const lookDay = 1

// WantDays is how many days with a value a method needs at least to be told of: for
// two looks, a week apart.
const WantDays = leastDays + 7

// WantRecords is what a caller of a method needs on a day for the day to count.
const WantRecords = leastRecords

// FewRecords on most days of a method ask for more evidence.
const FewRecords = 200

// Course is what the weekly looks at a history said.
type Course struct {
	// Looks is how many there were, Seen the number of days that the last one saw;
	// 0 if the history is too short for one.
	Looks, Seen int
	// Drifts are in the order in which they were told.
	Drifts []Drift
	// Methods are as the last look saw them, in the order of the history.
	Methods []State
	// Best is the method with the most days of the last 56, and NextLook the day
	// before which the look is made that could tell of it at the earliest.
	Best     State
	NextLook int
}

// Drift is a method that was found dearer by two looks or more in a row.
type Drift struct {
	// Finding is of the look that was surest.
	Finding
	// Told and Last are the days that the first and the last look saw that confirmed
	// it.
	Told, Last int
	// Now: the last look of the history confirmed it.
	Now bool
}

// State is what is known of a method.
type State struct {
	Method string
	// Days with a value and Records on them, of the window.
	Days    int
	Records float64
	// Judged: two looks in a row had days enough, so that a drift would be told. Short:
	// they are fewer than most tests need to have their power.
	Judged, Short bool
	// Detectable is the step, as a share, that would be found with a probability of 90%
	// if it were in the middle of these days; of a linear method a difference.
	Detectable float64
	// Surest is what the test says that is surer; it proves nothing.
	Surest *Finding
}

// Replay makes all weekly looks that a history allows, one after the other, so that
// what is found follows from the rows alone.
func Replay(h *History) (*Course, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	byDay := slices.SortedFunc(slices.Values(h.Rows), func(a, b Day) int { return cmp.Compare(a.Day, b.Day) })
	upTo := func(day int) int {
		at, _ := slices.BinarySearchFunc(byDay, int32(day), func(r Day, day int32) int { return cmp.Compare(r.Day, day) })
		return at
	}
	c := &Course{}
	var memory Memory
	var before []State
	var last []method
	for day := 1; day <= h.Days; day++ {
		if (h.Weekday+day)%7 != lookDay {
			continue
		}
		shown := *h
		shown.Days, shown.Rows = day, byDay[upTo(day-window):upTo(day)]
		before, c.Methods, c.Seen = c.Methods, shown.states(), day
		shown.Rows = byDay[upTo(day-window-lookBack):upTo(day)]
		if day < leastDays {
			continue
		}
		c.Looks++
		var found []Finding
		found, last, memory = look(&shown, memory)
		c.add(found, day)
	}
	for i := range c.Drifts {
		c.Drifts[i].Now = c.Drifts[i].Last == c.Seen
	}
	for m := range c.Methods {
		s := &c.Methods[m]
		s.Judged = c.Looks >= 2 && s.Days >= leastDays && before[m].Days >= leastDays
		if s.Judged {
			s.Surest = last[m].surest(s.Method)
			s.Short = s.Days < fullDays
			s.Detectable = last[m].detectable(len(last) - 1)
		}
	}
	c.Best, c.NextLook = h.best(byDay[upTo(h.Days-window):upTo(h.Days)])
	return c, nil
}

func (h *History) best(rows []Day) (best State, look int) {
	last := *h
	last.Rows = rows
	for i, s := range last.states() {
		if i == 0 || cmp.Or(cmp.Compare(s.Days, best.Days), cmp.Compare(s.Records, best.Records)) > 0 {
			best = s
		}
	}
	look = h.Days + max(1, WantDays-best.Days)
	for (h.Weekday+look)%7 != lookDay {
		look++
	}
	return best, look
}

// another is by how many days a step must be later than a drift that was told before it
// began, to be another one: the same one is dated anew when days are no longer looked at.
const another = window / 2

// add joins what a look confirmed with what an earlier look did that saw some of the
// same days.
func (c *Course) add(found []Finding, day int) {
	for _, f := range found {
		if !f.Confirmed {
			continue
		}
		at := len(c.Drifts) - 1
		for at >= 0 && c.Drifts[at].Method != f.Method {
			at--
		}
		if at < 0 || day-c.Drifts[at].Last >= window || f.after(&c.Drifts[at]) || (f.Change > 0) != (c.Drifts[at].Change > 0) {
			c.Drifts = append(c.Drifts, Drift{Finding: f, Told: day, Last: day})
			continue
		}
		d := &c.Drifts[at]
		d.Last = day
		if f.P < d.P {
			if f.Began > d.Told {
				d.Told = day // another step, which is larger
			}
			d.Finding = f
		}
	}
}

// after tells whether it is a step that came after a drift was told.
func (f *Finding) after(d *Drift) bool {
	return f.Shape == Jump && f.Began > d.Told && f.Began-d.Began > another
}

// states counts what there is of each method in the window.
func (h *History) states() []State {
	out := make([]State, len(h.Methods))
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

// surest is what the test says that is surer, in the direction in which it is.
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
