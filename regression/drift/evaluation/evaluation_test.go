package evaluation

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/golden"
)

var april = time.Date(2026, 4, 7, 15, 0, 0, 0, time.UTC)

func optionsAt(root string, now time.Time) Options {
	return Options{
		Window: query.Window{From: now.AddDate(-1, 0, 0)}, Now: now, Zone: time.UTC,
		Open: func(ctx context.Context, days query.Window) (*query.Warehouse, error) {
			return query.Open(ctx, root, days)
		},
	}
}

// evaluate evaluates a warehouse at a time, with the rows since from, or of a year.
func evaluate(t *testing.T, root string, now time.Time, from ...time.Time) *Evaluation {
	t.Helper()
	o := optionsAt(root, now)
	if len(from) > 0 {
		o.Window.From = from[0]
	}
	found, err := Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func written(t *testing.T, found *Evaluation, f output.Format) string {
	t.Helper()
	var b strings.Builder
	if err := found.Document(output.View{Format: f, Top: 20}).Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// inbox is a sink that accepts every message.
type inbox struct{ got []string }

func (*inbox) Name() string    { return "inbox" }
func (*inbox) Refreshes() bool { return false }

func (in *inbox) Send(_ context.Context, m alert.Message) error {
	for i := range m.Alerts {
		in.got = append(in.got, fmt.Sprintf("%s %s: %s", m.Status, m.Alerts[i].Method, m.Alerts[i].Resolution))
	}
	return nil
}

// user receives the alerts of evaluations, with a state that outlives them.
type user struct {
	inbox
	store *state.Store
}

func newUser(t *testing.T) *user { return &user{store: state.At(t.TempDir())} }

// deliver delivers the findings of one evaluation in a process of its own, and returns the messages sent.
func (u *user) deliver(t *testing.T, found *Evaluation, now time.Time) string {
	t.Helper()
	u.got = nil
	d := &delivery.Dispatcher{Store: u.store, Targets: []delivery.Target{{Sink: u}}, Timeout: time.Minute, Grace: time.Minute, Now: func() time.Time { return now }}
	if _, err := found.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return strings.Join(u.got, "\n")
}

func (u *user) accept(t *testing.T, a *alert.Alert, now time.Time) {
	t.Helper()
	if err := u.store.Update(func(s *state.State) error {
		_, err := s.Accept(a, "ann", "more data", now)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestEvaluate_RiseAndStep(t *testing.T) {
	fixture.SkipLong(t)
	m := fixture.Months()
	found := evaluate(t, m.Write(t), april)
	golden.Check(t, "months.txt", written(t, found, output.Text))
	golden.Check(t, "months.md", written(t, found, output.MarkdownPage))
	if len(found.Services) != 1 || len(found.Alerts) != 2 || !found.Found() {
		t.Fatalf("%+v", found)
	}
	for _, l := range found.Services[0].Verdicts {
		switch l.Method {
		case "Total":
			if l.State != Confirmed || l.Shape != "rise" || *l.ChangePercent < 7 || *l.ChangePercent > 14 || *l.Since < "2026-01-25" {
				t.Errorf("the rise: %+v since %s", l, *l.Since)
			}
		case "Rate": // the step is on March 10th
			if l.State != Confirmed || l.Shape != "step" || *l.Since < "2026-03-07" || *l.Since > "2026-03-13" || *l.ChangePercent < 4 || *l.ChangePercent > 6 {
				t.Errorf("the step: %+v since %s", l, *l.Since)
			}
		default:
			if l.State != NotProven || l.Since != nil || l.Days != 56 {
				t.Errorf("%+v", l)
			}
		}
	}
	for _, a := range found.Alerts {
		if a.Kind != "drift" || a.Service != "shop" || a.ID == "" || a.Interval[0] > a.ChangePercent || a.Base >= a.Head || a.Records != 56*800 {
			t.Errorf("%+v", a)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(written(t, found, output.CSV))).ReadAll()
	if err != nil || len(rows) != 12 {
		t.Errorf("%v, %q", err, rows)
	}
}

// Later evaluations can find another start date of a drift. The drift is still sent once, and not resolved.
func TestDeliver_OnceOverDays(t *testing.T) {
	fixture.SkipLong(t)
	m := fixture.Months()
	root, u := m.Write(t), newUser(t)
	sent := map[string]int{}
	for day := 74; day <= m.Days; day += 2 {
		now := m.First.AddDate(0, 0, day)
		if got := u.deliver(t, evaluate(t, root, now), now); got != "" {
			sent[got]++
		}
	}
	if len(sent) != 2 || sent["firing Total: "] != 1 || sent["firing Rate: "] != 1 {
		t.Errorf("sent were %v", sent)
	}
}

// A drift is sent once, with its dollars and the versions around its start. An accepted drift raises no alert. A drift
// that evaluations no longer confirm is resolved.
func TestDeliver_AcceptedAndResolved(t *testing.T) {
	fixture.SkipLong(t)
	m := fixture.Months()
	m.Days, m.Price = 130, 0.05
	m.Version = func(day int) string {
		if day >= 63 {
			return "1.1.0"
		}
		return "1.0.0"
	}
	root, u := m.Write(t), newUser(t)
	found := evaluate(t, root, april)
	if got := u.deliver(t, found, april); len(u.got) != 2 || strings.Count(got, "firing") != 2 {
		t.Fatalf("sent were %q", got)
	}
	for _, a := range found.Alerts {
		if a.Method == "Total" {
			u.accept(t, &a, april)
			continue
		}
		if a.BaseVersion != "1.0.0" || a.HeadVersion != "1.1.0" || a.BaseRevision != "rev-1.0.0" || a.HeadRevision != "rev-1.1.0" ||
			!strings.Contains(a.Reason, "around then version 1.1.0 came after 1.0.0") {
			t.Errorf("%+v", a)
		}
		// Rate has 40,000 calls a day of 0.2 ms and 40,000 of 0.4 ms; 5% of this time is new.
		if want := 40_000 * 0.6e6 / 3.6e12 * 0.05 * 0.05; a.USDPerDay == nil || math.Abs(*a.USDPerDay/want-1) > 0.2 {
			t.Errorf("%v dollars a day, want %v", a.USDPerDay, want)
		}
	}
	next := april.AddDate(0, 0, 8)
	found = evaluate(t, root, next)
	if got := u.deliver(t, found, next); len(found.Accepted) != 1 || len(found.Alerts) != 1 || len(u.got) != 1 || !strings.Contains(got, "accepted by ann") {
		t.Errorf("sent were %q: %+v", got, found.Sorted)
	}
	end := m.First.AddDate(0, 0, 129)
	found = evaluate(t, root, end)
	if got := u.deliver(t, found, end); found.Found() || len(u.got) != 1 || !strings.Contains(got, "does not confirm it any more: a call takes") {
		t.Errorf("sent were %q", got)
	}
}

// If the days that confirmed a drift are no longer stored, its start date changes. It keeps its ID if the two dates
// are close enough.
func TestDeliver_StableID(t *testing.T) {
	fixture.SkipLong(t)
	m := fixture.Months()
	m.Days = 98
	root, u := m.Write(t), newUser(t)
	now := m.First.AddDate(0, 0, 98)
	look := func(u *user, from int) (total alert.Alert, sent string) {
		t.Helper()
		found := evaluate(t, root, now, m.First.AddDate(0, 0, from))
		sent = u.deliver(t, found, now)
		for _, a := range found.Alerts {
			if a.Method == "Total" {
				return a, sent
			}
		}
		t.Fatalf("no drift of Total: %+v", found.Alerts)
		return total, sent
	}
	first, sent := look(u, 0)
	if !strings.Contains(sent, "firing Total") {
		t.Fatalf("sent were %q", sent)
	}
	for _, test := range []struct {
		from int
		same bool
	}{{35, true}, {35, true}, {56, false}} {
		alone, _ := look(newUser(t), test.from)
		apart := alone.FirstSeen.Sub(first.FirstSeen)
		if apart <= 0 || apart <= SameDrift != test.same || alone.ID == first.ID {
			t.Fatalf("from day %d on it is dated %s and before %s: nothing is tested", test.from, date(alone.FirstSeen), date(first.FirstSeen))
		}
		if again, sent := look(u, test.from); (again.ID == first.ID) != test.same || (sent == "") != test.same {
			t.Errorf("from day %d on its id is %s, sent was %s; sent were %q", test.from, again.ID, first.ID, sent)
		}
	}
}

// An accepted drift makes its level the new baseline of the method. Nothing more is sent until the method is more
// expensive than this baseline, or the acceptance is withdrawn.
func TestDeliver_AcceptedLevelIsBaseline(t *testing.T) {
	fixture.SkipLong(t)
	m := fixture.Months()
	m.Days, m.Methods = 147, m.Methods[1:8]
	m.Cost = func(method string, day int) float64 {
		switch {
		case method == fixture.Rate && day >= 110:
			return 1.05 * 1.2
		case method == fixture.Rate && day >= 64:
			return 1.05
		}
		return 1
	}
	root, u := m.Write(t), newUser(t)
	var raised []alert.Alert // one after the other
	for _, step := range []struct {
		day      int
		raised   bool
		sent     string
		withdraw bool
	}{
		{day: 98, raised: true, sent: "firing Rate: "},
		{day: 98, sent: "resolved Rate: accepted by ann"},
		{day: 99},
		{day: 105},
		{day: 133, raised: true, sent: "firing Rate: "},
		{day: 133, sent: "resolved Rate: accepted by ann"},
		{day: 140, withdraw: true},
		{day: 141, raised: true, sent: "firing Rate: "},
	} {
		now := m.First.AddDate(0, 0, step.day)
		found := evaluate(t, root, now)
		sent := u.deliver(t, found, now)
		if (len(found.Alerts) == 1) != step.raised || (len(found.Accepted) == 1) == step.raised || !strings.HasPrefix(sent, step.sent) || step.sent == "" && sent != "" {
			t.Fatalf("day %d: want %+v, sent were %q: %+v", step.day, step, sent, found.Sorted)
		}
		if step.raised {
			raised = append(raised, found.Alerts[0])
			u.accept(t, &found.Alerts[0], now)
		}
		if step.withdraw {
			if err := u.store.Update(func(s *state.State) error { s.Withdraw(raised[1].ID); return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if raised[1].ID == raised[0].ID || math.Abs(raised[1].Base/raised[0].Head-1) > 0.03 || raised[2].ID != raised[1].ID {
		t.Errorf("raised were %+v", raised)
	}
}

func TestEvaluate_NotEnoughData(t *testing.T) {
	fixture.SkipLong(t)
	short, thin, flat := fixture.Months(), fixture.Months(), fixture.Months()
	short.Days = 20
	thin.Records = 4 // per row, which is too few
	flat.Cost, flat.WallOnly = nil, true
	for name, c := range map[string]struct {
		root         string
		inconclusive bool
		want         string
	}{
		"short": {short.Write(t), true, "too little history: 20 days from 2026-01-05 on; a drift needs 29 days with 5 measured calls from one caller (21 of 56, at each of nine daily evaluations), and shop/cart.Cart.Total has most, 20 of the last 56 with 16000 records; the evaluation of 2026-02-03 is the first with enough"},
		"thin":  {thin.Write(t), true, "no method has one of the last 56"},
		"flat":  {flat.Write(t), false, "no method became significantly more expensive over weeks"},
	} {
		found := evaluate(t, c.root, april)
		if text := strings.Join(strings.Fields(written(t, found, output.Text)), " "); found.Found() || found.Inconclusive() != c.inconclusive || !strings.Contains(text, c.want) {
			t.Errorf("%s: want %q: %s", name, c.want, text)
		}
	}
	root := flat.Write(t)
	for want, adapt := range map[string]func(*Options){
		"none was measured":    func(o *Options) { o.Metric = query.CPU },
		`did you mean "shop"?`: func(o *Options) { o.Filter.Service = "shopp" },
		"no closed day (UTC) from 2026-04-07 01:00:00 UTC to 2026-04-07 02:00:00 UTC": func(o *Options) {
			o.Window = query.Window{From: april.Add(-14 * time.Hour), To: april.Add(-13 * time.Hour)}
		},
	} {
		o := optionsAt(root, april)
		adapt(&o)
		if _, err := Evaluate(t.Context(), o); !errors.Is(err, query.ErrNoData) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A drift of a service that no longer sends rows is resolved after two weeks.
func TestDeliver_EndedService(t *testing.T) {
	fixture.SkipLong(t)
	m := fixture.Months()
	m.Days = 98
	root, u := m.Write(t), newUser(t)
	last := date(m.First.AddDate(0, 0, 98))
	for _, c := range []struct {
		day        int
		found      bool
		says, sent string
	}{
		{98, true, "DRIFT", "firing"},
		{111, true, "DRIFT", ""},
		{112, false, "no rows since " + last + ": no drift is current", "no rows of the service since " + last},
		{300, false, "no rows since " + last, ""},
	} {
		now := m.First.AddDate(0, 0, c.day)
		found := evaluate(t, root, now)
		sent := u.deliver(t, found, now)
		if text := written(t, found, output.Text); found.Found() != c.found || !strings.Contains(text, c.says) || !strings.Contains(sent, c.sent) || c.sent == "" && sent != "" {
			t.Errorf("day %d: want %+v, sent were %q: %s", c.day, c, sent, text)
		}
	}
}

// seriesOf returns the lines of a daily series whose value is multiplied by a factor from day 60 on.
func seriesOf(name string, start time.Time, factor float64, noise func(day int) float64) string {
	var b strings.Builder
	for day := range 90 {
		value := 100 + noise(day)
		if day >= 60 {
			value *= factor
		}
		fmt.Fprintf(&b, "%s,%s,%.3f\n", name, date(start.AddDate(0, 0, day)), value)
	}
	return b.String()
}

func evaluateCSV(t *testing.T, text string) *Evaluation {
	t.Helper()
	found, err := EvaluateCSV(strings.NewReader("name,date,value\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEvaluateCSV(t *testing.T) {
	text := ""
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for i := range 3 {
		factor := 1.0
		if i == 1 {
			factor = 1.08
		}
		text += seriesOf(fmt.Sprintf("=build %d", i), start, factor, func(day int) float64 { return math.Sin(float64(17 * day * (i + 1))) })
	}
	found := evaluateCSV(t, text)
	if golden.Check(t, "series.txt", written(t, found, output.Text)); !found.Found() || len(found.Alerts) != 0 {
		t.Errorf("%+v", found)
	}
	found = evaluateCSV(t, "a,2026-01-05,1\na,2026-01-06,2\n")
	if text := written(t, found, output.Text); !found.Inconclusive() || !strings.Contains(text, "29 days with a value") {
		t.Errorf("%s", text)
	}
}

// The weekday of the first value does not change the result.
func TestEvaluateCSV_AllWeekdays(t *testing.T) {
	var first Verdict
	for shift := range 7 {
		start := time.Date(2026, 1, 5+shift, 0, 0, 0, 0, time.UTC)
		l := evaluateCSV(t, seriesOf("", start, 1.05, func(day int) float64 {
			return math.Sin(float64(17*day)) + 3*math.Sin(float64(day*day)) + float64(day%7)
		})).Services[0].Verdicts[0]
		if shift == 0 {
			first = l
		}
		if *l.ChangePercent != *first.ChangePercent || *l.P != *first.P || *l.Since != date(start.AddDate(0, 0, 60)) {
			t.Errorf("%d days later: %+.3f%%, p %v, since %s; want %+.3f%%, p %v", shift, *l.ChangePercent, *l.P, *l.Since, *first.ChangePercent, *first.P)
		}
	}
}
