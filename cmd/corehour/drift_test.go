package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/drift/evaluation"
	"github.com/corehour/corehour/test/fixture"
)

func date(t time.Time) string { return t.Format(time.DateOnly) }

var months = fixture.Months

var april = time.Date(2026, 4, 7, 15, 0, 0, 0, time.UTC)

func TestDrift(t *testing.T) {
	skipLong(t)
	clock(t, april)
	root := months().Write(t)
	r := corehour("drift", "--warehouse", root)
	if r.code != exitFound || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	golden(t, "drift.txt", r.stdout)
	golden(t, "drift.md", corehour("drift", "--warehouse", root, "--format", "markdown").stdout)

	r = corehour("drift", "--warehouse", root, "--format", "json")
	var found evaluation.Evaluation
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || r.code != exitFound || len(found.Services) != 1 || len(found.Alerts) != 2 {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, l := range found.Services[0].Verdicts {
		switch l.Method {
		case "Total":
			began, err := time.Parse(time.DateOnly, *l.Since)
			if err != nil || l.State != evaluation.Confirmed || l.Shape != "rise" || *l.ChangePercent < 7 || *l.ChangePercent > 14 || began.Before(months().First.AddDate(0, 0, 20)) {
				t.Errorf("the rise: %+v since %s", l, *l.Since)
			}
		case "Rate":
			if l.State != evaluation.Confirmed || l.Shape != "step" || *l.Since < "2026-03-07" || *l.Since > "2026-03-13" || *l.ChangePercent < 4 || *l.ChangePercent > 6 {
				t.Errorf("the step: %+v since %s", l, *l.Since)
			}
		default:
			if l.State != evaluation.NotProven || l.Since != nil || l.Days != 56 {
				t.Errorf("%+v", l)
			}
		}
	}
	for _, a := range found.Alerts {
		if a.Kind != "drift" || a.Service != "shop" || a.ID == "" || a.Interval[0] > a.ChangePercent || a.Base >= a.Head || a.Records != 56*800 {
			t.Errorf("%+v", a)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(corehour("drift", "--warehouse", root, "--format", "csv").stdout)).ReadAll()
	if err != nil || len(rows) != 12 {
		t.Errorf("%v, %q", err, rows)
	}
}

// The output for the same rows is the same on every day, and each alert is reported once.
func TestDrift_ReportedOnce(t *testing.T) {
	unracedWhenShort(t)
	root := months().Write(t)
	file := filepath.Join(t.TempDir(), "alerts.jsonl")
	owners := filepath.Join(t.TempDir(), "owners.json")
	if err := os.WriteFile(owners, []byte(`{"version": 1, "owners": [{"owner": "team-tax", "class": "shop/tax"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	outputs := map[string]bool{}
	for day := range 3 {
		clock(t, april.AddDate(0, 0, day))
		r := corehour("drift", "--warehouse", root, "--alerts", file, "--owners", owners, "--to", date(april.AddDate(0, 0, day)))
		if r.code != exitFound || r.stderr != "" {
			t.Fatalf("%+v", r)
		}
		outputs[r.stdout] = true
		if !strings.Contains(r.stdout, "team-tax") {
			t.Errorf("no owner: %s", r.stdout)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil || strings.Count(string(data), "\n") != 2 || len(outputs) != 1 {
		t.Errorf("%v: %d answers; alerts: %s", err, len(outputs), data)
	}
}

// Later evaluations can find another start date of a drift. The drift is still reported once, and not
// resolved.
func TestDrift_ReportedOnceOverDays(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	m := months()
	root := m.Write(t)
	file := filepath.Join(t.TempDir(), "alerts.jsonl")
	hook := newInbox(t)
	t.Setenv("COREHOUR_TEST_HOOK", hook.URL)
	for day := 74; day <= m.Days; day += 2 {
		clock(t, m.First.AddDate(0, 0, day))
		if r := corehour("drift", "--warehouse", root, "--alerts", file, "--webhook", "env:COREHOUR_TEST_HOOK"); r.stderr != "" || r.code != exitFound {
			t.Fatalf("day %d: %+v", day, r)
		}
	}
	told := map[string]int{}
	for _, body := range hook.take() {
		var message alert.Message
		if err := json.Unmarshal([]byte(strings.TrimPrefix(body, "/ ")), &message); err != nil || message.Status != alert.Firing {
			t.Fatalf("%v: %s", err, body)
		}
		for _, a := range message.Alerts {
			told[a.Method]++
		}
	}
	data, err := os.ReadFile(file)
	if err != nil || strings.Count(string(data), "\n") != 2 || told["Total"] != 1 || told["Rate"] != 1 || len(told) != 2 {
		t.Errorf("%v: told were %v; alerts: %s", err, told, data)
	}
}

// A drift is sent to the sinks once, with its dollars and the versions around its start. An accepted drift
// raises no alert. A drift that evaluations no longer confirm is resolved.
func TestDrift_Sent(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	clock(t, april)
	m := months()
	m.Days, m.Price = 130, 0.05
	m.Version = func(day int) string {
		if day >= 63 {
			return "1.1.0"
		}
		return "1.0.0"
	}
	root := m.Write(t)
	hook, manager := newInbox(t), newInbox(t)
	t.Setenv("COREHOUR_TEST_HOOK", hook.URL)
	drift := func(day time.Time, args ...string) result {
		clock(t, day)
		return corehour(append([]string{"drift", "--warehouse", root, "--format", "json",
			"--webhook", "env:COREHOUR_TEST_HOOK", "--alertmanager", manager.URL, "--to", date(day)}, args...)...)
	}
	var alerts []alert.Alert
	for _, day := range []int{0, 1, 7} { // repeated evaluations find the same drifts
		r := drift(april.AddDate(0, 0, day))
		if r.code != exitFound || r.stderr != "" {
			t.Fatalf("%+v", r)
		}
		for _, body := range hook.take() {
			var message alert.Message
			if err := json.Unmarshal([]byte(strings.TrimPrefix(body, "/ ")), &message); err != nil || message.Status != alert.Firing {
				t.Fatalf("%v: %s", err, body)
			}
			alerts = append(alerts, message.Alerts...)
		}
	}
	if len(alerts) != 2 {
		t.Fatalf("told were %+v", alerts)
	}
	step := alerts[0]
	if step.Method != "Rate" {
		step = alerts[1]
	}
	if step.BaseVersion != "1.0.0" || step.HeadVersion != "1.1.0" || step.BaseRevision != "rev-1.0.0" || step.HeadRevision != "rev-1.1.0" ||
		!strings.Contains(step.Reason, "around then version 1.1.0 came after 1.0.0") {
		t.Errorf("%+v", step)
	}
	// Rate has 40,000 calls a day of 0.2 ms and 40,000 of 0.4 ms; 5% of this time is new.
	if want := 40_000 * 0.6e6 / 3.6e12 * 0.05 * 0.05; step.USDPerDay == nil || math.Abs(*step.USDPerDay/want-1) > 0.2 {
		t.Errorf("%v dollars a day, want %v", step.USDPerDay, want)
	}
	if got := manager.take(); len(got) != 3 || !strings.Contains(got[0], `"alertname":"CorehourDrift"`) {
		t.Errorf("the Alertmanager got %q", got)
	}

	for _, a := range alerts {
		if a.Method == "Total" {
			if r := corehour("accept", a.ID[:8], "--warehouse", root, "--reason", "more data", "--by", "ann"); r.code != exitNothing {
				t.Fatalf("%+v", r)
			}
		}
	}
	r := drift(april.AddDate(0, 0, 8))
	var found evaluation.Evaluation
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || len(found.Accepted) != 1 || len(found.Alerts) != 1 {
		t.Errorf("%v: %+v", err, r)
	}
	if got := hook.take(); len(got) != 1 || !strings.Contains(got[0], "accepted by ann") {
		t.Errorf("told were %q", got)
	}
	if r := drift(m.First.AddDate(0, 0, 129)); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	if got := hook.take(); len(got) != 1 || !strings.Contains(got[0], "does not confirm it any more: a call takes") {
		t.Errorf("told were %q", got)
	}
}

// If the days that confirmed a drift are no longer stored, its start date changes. It keeps its ID if the
// two dates are close enough.
func TestDrift_StableID(t *testing.T) {
	skipLong(t)
	m := months()
	m.Days = 98
	root := m.Write(t)
	hook := newInbox(t)
	t.Setenv("COREHOUR_TEST_HOOK", hook.URL)
	day := m.First.AddDate(0, 0, 98)
	clock(t, day)
	look := func(from int, args ...string) alert.Alert {
		r := corehour(append([]string{"drift", "--warehouse", root, "--format", "json", "--from", date(m.First.AddDate(0, 0, from)), "--to", date(day)}, args...)...)
		var found evaluation.Evaluation
		if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || r.code != exitFound {
			t.Fatalf("%v: %+v", err, r)
		}
		for _, a := range found.Alerts {
			if a.Method == "Total" {
				return a
			}
		}
		t.Fatalf("no drift of Total: %+v", found.Alerts)
		return alert.Alert{}
	}
	sent := look(0, "--webhook", "env:COREHOUR_TEST_HOOK")
	if got := hook.take(); len(got) != 1 || !strings.Contains(got[0], sent.ID) {
		t.Fatalf("told were %q", got)
	}
	for _, test := range []struct {
		from int
		same bool
	}{{35, true}, {35, true}, {56, false}} {
		alone := look(test.from, "--state", t.TempDir())
		apart := alone.FirstSeen.Sub(sent.FirstSeen)
		if apart <= 0 || apart <= evaluation.SameDrift != test.same || alone.ID == sent.ID {
			t.Fatalf("from day %d on it is dated %s and before %s: nothing is tested", test.from, date(alone.FirstSeen), date(sent.FirstSeen))
		}
		found := look(test.from, "--webhook", "env:COREHOUR_TEST_HOOK")
		if got := hook.take(); (found.ID == sent.ID) != test.same || (len(got) == 0) != test.same {
			t.Errorf("from day %d on its id is %s, sent was %s; told were %q", test.from, found.ID, sent.ID, got)
		}
	}
}

// An accepted drift makes its level the new baseline of the method. All sinks receive that it is resolved,
// and nothing more until the method is more expensive than this baseline.
func TestDrift_Accepted(t *testing.T) {
	skipLong(t)
	m := months()
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
	root := m.Write(t)
	inboxes := map[string]*inbox{"hook": newInbox(t), "chat": newInbox(t), "manager": newInbox(t)}
	t.Setenv("COREHOUR_TEST_HOOK", inboxes["hook"].URL)
	t.Setenv("COREHOUR_TEST_CHAT", inboxes["chat"].URL)
	look := func(day, code int) (alerts []alert.Alert, accepted int) {
		t.Helper()
		clock(t, m.First.AddDate(0, 0, day))
		r := corehour("drift", "--warehouse", root, "--format", "json", "--to", date(m.First.AddDate(0, 0, day)),
			"--webhook", "env:COREHOUR_TEST_HOOK", "--slack", "env:COREHOUR_TEST_CHAT", "--alertmanager", inboxes["manager"].URL)
		var found evaluation.Evaluation
		if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || r.code != code || r.stderr != "" {
			t.Fatalf("day %d: %v: %+v", day, err, r)
		}
		return found.Alerts, len(found.Accepted)
	}
	// heard checks that each sink received one message that contains its part of want, or nothing.
	heard := func(when string, want map[string]string) {
		t.Helper()
		for name, in := range inboxes {
			got := in.take()
			if part := want[name]; part == "" && len(got) > 0 || part != "" && (len(got) != 1 || !strings.Contains(got[0], part)) {
				t.Errorf("%s: %s got %q, want %q", when, name, got, part)
			}
		}
	}
	raised := map[string]string{"hook": `"status":"firing"`, "chat": "shop/tax.Rate", "manager": `"alertname":"CorehourDrift"`}
	accept := func(a alert.Alert, reason string) map[string]string {
		t.Helper()
		if r := corehour("accept", a.ID[:8], "--warehouse", root, "--reason", reason, "--by", "ann"); r.code != exitNothing {
			t.Fatalf("%+v", r)
		}
		because := "because " + reason
		return map[string]string{"hook": because, "chat": because, "manager": because}
	}

	alerts, _ := look(98, exitFound)
	if len(alerts) != 1 || alerts[0].Method != "Rate" {
		t.Fatalf("%+v", alerts)
	}
	heard("at first", raised)
	first, taken := alerts[0], accept(alerts[0], "more data")
	for _, day := range []int{98, 99, 105} {
		if alerts, accepted := look(day, exitNothing); len(alerts) != 0 || accepted != 1 {
			t.Errorf("day %d: alerts %+v, %d accepted", day, alerts, accepted)
		}
		heard(fmt.Sprintf("accepted, on day %d", day), taken)
		taken = nil
	}

	alerts, accepted := look(133, exitFound)
	if len(alerts) != 1 || accepted != 0 || alerts[0].ID == first.ID || math.Abs(alerts[0].Base/first.Head-1) > 0.03 {
		t.Fatalf("above the accepted level: %+v, before %+v", alerts, first)
	}
	heard("above the accepted level", raised)
	second, taken := alerts[0], accept(alerts[0], "still more data")
	for _, day := range []int{133, 140} {
		if alerts, accepted := look(day, exitNothing); len(alerts) != 0 || accepted != 1 {
			t.Errorf("day %d: alerts %+v, %d accepted", day, alerts, accepted)
		}
		heard(fmt.Sprintf("accepted again, on day %d", day), taken)
		taken = nil
	}
	if r := corehour("accept", "--warehouse", root, "--withdraw", second.ID); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	if alerts, _ := look(141, exitFound); len(alerts) != 1 || alerts[0].ID != second.ID {
		t.Errorf("withdrawn: %+v", alerts)
	}
	heard("withdrawn", raised)
}

// drift --every prints each drift once.
func TestDrift_Watch(t *testing.T) {
	clock(t, april)
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	root := months().Write(t)
	go func() {
		code <- run(ctx, []string{"drift", "--warehouse", root, "--every", "1s"}, in, io.Discard)
		in.Close()
	}()
	lines := bufio.NewReader(out)
	for _, want := range []string{"shop/cart.Cart.Total", "shop/tax.Rate"} {
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Errorf("%v: %q", err, line)
		}
	}
	cancel()
	if rest, _ := io.ReadAll(lines); len(rest) > 0 || <-code != exitNothing {
		t.Errorf("said again: %s", rest)
	}
}

func TestDrift_NotEnoughData(t *testing.T) {
	skipLong(t)
	clock(t, april)
	short, thin, flat := months(), months(), months()
	short.Days = 20
	thin.Records = 4 // per row, which is too few
	flat.Cost = nil
	flat.WallOnly = true
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"short", []string{"--warehouse", short.Write(t)}, exitCannotTell, "too little history: 20 days from 2026-01-05 on; a drift needs 29 days with 5 measured calls from one caller (21 of 56, at each of nine daily evaluations), and shop/cart.Cart.Total has most, 20 of the last 56 with 16000 records; the evaluation of 2026-02-03 is the first with enough"},
		{"thin", []string{"--warehouse", thin.Write(t)}, exitCannotTell, "no method has one of the last 56"},
		{"flat", []string{"--warehouse", flat.Write(t)}, exitNothing, "no method became significantly more expensive over weeks"},
		{"no CPU", []string{"--warehouse", flat.Write(t), "--metric", "cpu"}, exitCannotTell, "none was measured"},
		{"nobody", []string{"--warehouse", flat.Write(t), "--service", "shopp"}, exitCannotTell, `did you mean "shop"?`},
		{"no date", []string{"--warehouse", flat.Write(t), "--from", "2026-04-07 01:00", "--to", "2026-04-07 02:00"}, exitCannotTell, "no closed day (UTC) from 2026-04-07 01:00:00 UTC to 2026-04-07 02:00:00 UTC"},
		{"flags", []string{"--metric", "gpu", "--csv", "x", "--service", "shop"}, exitFailed, "--service has no effect with --csv"},
	} {
		r := corehour(append([]string{"drift"}, test.args...)...)
		if r.code != test.code || !strings.Contains(unwrapped(r.stdout+r.stderr), test.want) {
			t.Errorf("%s: want %q: %+v", test.name, test.want, r)
		}
	}
}

// drift --csv evaluates any daily series.
func TestDrift_CSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "series.csv")
	var b strings.Builder
	b.WriteString("name,date,value\n")
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for day := range 90 {
		for i := range 3 {
			value := 100 + math.Sin(float64(17*day*(i+1)))
			if i == 1 && day >= 60 {
				value *= 1.08
			}
			fmt.Fprintf(&b, "=build %d,%s,%.3f\n", i, date(start.AddDate(0, 0, day)), value)
		}
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(b.String())
	r := corehour("drift", "--csv", path)
	if r.code != exitFound || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	golden(t, "drift_csv.txt", r.stdout)
	write(b.String()[:2000])
	if r = corehour("drift", "--csv", path); r.code != exitFailed || !strings.Contains(r.stderr, path+": line ") {
		t.Errorf("%+v", r)
	}
	write("date,value\n2026-01-05,1\n2026-01-06,2\n")
	if r = corehour("drift", "--csv", path); r.code != exitCannotTell || !strings.Contains(r.stdout, "29 days with a value") {
		t.Errorf("%+v", r)
	}
	if r = corehour("drift", "--csv", path+".none"); r.code != exitFailed || !strings.Contains(r.stderr, "--csv: ") {
		t.Errorf("%+v", r)
	}
}

// The weekday of the first value does not change the result.
func TestDrift_CSVOnAllWeekdays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "series.csv")
	var first evaluation.Evaluation
	for shift := range 7 {
		start := time.Date(2026, 1, 5+shift, 0, 0, 0, 0, time.UTC)
		var b strings.Builder
		b.WriteString("date,value\n")
		for day := range 90 {
			value := 100 + math.Sin(float64(17*day)) + 3*math.Sin(float64(day*day)) + float64(day%7)
			if day >= 60 {
				value *= 1.05
			}
			fmt.Fprintf(&b, "%s,%.3f\n", date(start.AddDate(0, 0, day)), value)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		r := corehour("drift", "--csv", path, "--json")
		var found evaluation.Evaluation
		if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || r.code != exitFound {
			t.Fatalf("%v: %+v", err, r)
		}
		if shift == 0 {
			first = found
		}
		l, want := found.Services[0].Verdicts[0], first.Services[0].Verdicts[0]
		if *l.ChangePercent != *want.ChangePercent || *l.P != *want.P || *l.Since != date(start.AddDate(0, 0, 60)) {
			t.Errorf("%d days later: %+.3f%%, p %v, since %s; want %+.3f%%, p %v", shift, *l.ChangePercent, *l.P, *l.Since, *want.ChangePercent, *want.P)
		}
	}
}

// A drift of a service that no longer sends rows is resolved after two weeks.
func TestDrift_EndedService(t *testing.T) {
	skipLong(t)
	m := months()
	m.Days = 98
	root := m.Write(t)
	hook := newInbox(t)
	t.Setenv("COREHOUR_TEST_HOOK", hook.URL)
	last := date(m.First.AddDate(0, 0, 98))
	for _, c := range []struct {
		days int
		code int
		says string
		told string
	}{
		{98, exitFound, "DRIFT", `"status":"firing"`},
		{111, exitFound, "DRIFT", ""},
		{112, exitNothing, "no rows since " + last + ": no drift is current", "no rows of the service since " + last},
		{300, exitNothing, "no rows since " + last, ""},
	} {
		clock(t, m.First.AddDate(0, 0, c.days))
		r := corehour("drift", "--warehouse", root, "--webhook", "env:COREHOUR_TEST_HOOK")
		if r.code != c.code || !strings.Contains(r.stdout, c.says) {
			t.Errorf("day %d: want %q: %+v", c.days, c.says, r)
		}
		if got := strings.Join(hook.take(), "\n"); !strings.Contains(got, c.told) || c.told == "" && got != "" {
			t.Errorf("day %d: told were %q, want %q", c.days, got, c.told)
		}
	}
}
