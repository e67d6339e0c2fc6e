package delivery

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/alert/sink"
	"github.com/corehour/corehour/regression/alert/state"
)

// fake is a sink that does what it is asked and notes what it took.
type fake struct {
	name  string
	mu    sync.Mutex
	fails []error
	hangs bool
	took  []string
	ids   []string // of messages
}

func (f *fake) Name() string  { return f.name }
func (*fake) Refreshes() bool { return false }

func (f *fake) Send(ctx context.Context, m alert.Message) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hangs {
		<-ctx.Done()
		return &sink.Failure{Reason: "no answer in time", Retry: true}
	}
	if len(f.fails) > 0 {
		err := f.fails[0]
		f.fails = f.fails[1:]
		return err
	}
	f.ids = append(f.ids, m.ID)
	for _, a := range m.Alerts {
		f.took = append(f.took, string(m.Status)+" "+a.ID)
	}
	return nil
}

func (f *fake) tookAll() string { return strings.Join(f.took, ", ") }

func dispatcher(dir string, targets ...Target) *Dispatcher {
	return &Dispatcher{Store: state.At(dir), Targets: targets, Timeout: 30 * time.Second, Grace: 10 * time.Second, Now: time.Now}
}

func evaluationOf(gone bool, ids ...string) Findings {
	l := Findings{ThresholdPercent: 10, Gone: func(*alert.Alert) (string, bool) { return "gone", gone }}
	for _, id := range ids {
		l.Alerts = append(l.Alerts, alert.Alert{ID: id, Kind: alert.Regression, Service: "service-" + id, Method: id, Head: 2, Base: 1})
	}
	return l
}

// Over restarts each sink hears of each alert once, and of its end.
func TestOnceOverRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a := &fake{name: "a"}
		for range 3 {
			if _, err := dispatcher(dir, Target{Sink: a}).Handle(t.Context(), evaluationOf(false, "x", "y")); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := dispatcher(dir, Target{Sink: a}).Handle(t.Context(), evaluationOf(true, "y")); err != nil {
				t.Fatal(err)
			}
		}
		if got := a.tookAll(); got != "firing x, firing y, resolved x" {
			t.Errorf("took %s", got)
		}
	})
}

// A sink that is down delays nobody else, and hears of everything when it is back.
func TestOneSinkDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		up, down := &fake{name: "up"}, &fake{name: "down", hangs: true}
		d := dispatcher(dir, Target{Sink: up}, Target{Sink: down})
		begin := time.Now()
		sorted, err := d.Handle(t.Context(), evaluationOf(false, "x"))
		var undelivered *Undelivered
		if !errors.As(err, &undelivered) || undelivered.Sink != "down" || undelivered.Alerts != 1 || len(sorted.Alerts) != 1 {
			t.Errorf("%v %+v", err, sorted)
		}
		if time.Since(begin) != d.Timeout || up.tookAll() != "firing x" {
			t.Errorf("took %s after %s", up.tookAll(), time.Since(begin))
		}
		down.hangs = false
		if _, err := dispatcher(dir, Target{Sink: up}, Target{Sink: down}).Handle(t.Context(), evaluationOf(false, "x")); err != nil {
			t.Error(err)
		}
		if up.tookAll() != "firing x" || down.tookAll() != "firing x" {
			t.Errorf("up took %s, down %s", up.tookAll(), down.tookAll())
		}
	})
}

// MarkSent to end, what is under way has the grace and no more.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatcher(t.TempDir(), Target{Sink: &fake{name: "down", hangs: true}})
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		time.AfterFunc(time.Second, cancel)
		if _, err := d.Handle(ctx, evaluationOf(false, "x")); err == nil || time.Since(begin) != time.Second+d.Grace {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		// One that answers in time is still told after the end.
		slow := &fake{name: "slow", fails: []error{&sink.Failure{Reason: "busy", Retry: true, After: 5 * time.Second}}}
		if _, err := dispatcher(t.TempDir(), Target{Sink: slow}).Handle(ctx, evaluationOf(false, "x")); err != nil || slow.tookAll() != "firing x" {
			t.Errorf("%v: took %s", err, slow.tookAll())
		}
	})
}

// A sink that wants to be left alone is.
func TestLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "f", fails: []error{&sink.Failure{Reason: "later", Retry: true, After: time.Hour}}}
		d := dispatcher(t.TempDir(), Target{Sink: f})
		for _, want := range []string{"", "", "firing x"} {
			_, _ = d.Handle(t.Context(), evaluationOf(false, "x"))
			if f.tookAll() != want {
				t.Errorf("after %s: took %q", time.Now(), f.tookAll())
			}
			time.Sleep(31 * time.Minute)
		}
	})
}

// asked is a sink that notes, when it is asked how it is to be notified, how many answers
// another has left to give by then.
type asked struct {
	fake
	other *fake
	saw   int
}

func (a *asked) Refreshes() bool {
	synctest.Wait() // a delivery that has begun comes as far as it can
	a.saw = len(a.other.fails)
	return false
}

// What waits for whom is settled before anybody is notified: what a delivery notes of its
// sink is not read while others are under way.
func TestSettledBeforeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := &fake{name: "busy", fails: []error{&sink.Failure{Reason: "later", Retry: true, After: time.Hour}}}
		last := &asked{fake: fake{name: "last"}, other: busy}
		_, err := dispatcher(t.TempDir(), Target{Sink: busy}, Target{Sink: last}).Handle(t.Context(), evaluationOf(false, "x"))
		if err == nil || len(busy.fails) != 0 || last.tookAll() != "firing x" {
			t.Errorf("%v: the busy one was told %d times, the last took %s", err, 1-len(busy.fails), last.tookAll())
		}
		if last.saw != 1 {
			t.Error("a sink was told before all were asked")
		}
	})
}

// Sinks that want to be left alone all at once do not disturb each other.
func TestAllBusy(t *testing.T) {
	var targets []Target
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		targets = append(targets, Target{Sink: &fake{name: name, fails: []error{&sink.Failure{Reason: "later", Retry: true, After: time.Hour}}}})
	}
	d := dispatcher(t.TempDir(), targets...)
	for range 2 {
		_, _ = d.Handle(t.Context(), evaluationOf(false, "x"))
		if len(d.later) != len(targets) {
			t.Errorf("%d of %d are left alone", len(d.later), len(targets))
		}
	}
	for _, target := range targets {
		if f := target.Sink.(*fake); f.tookAll() != "" {
			t.Errorf("%s took %s", f.name, f.tookAll())
		}
	}
}

// A message that is refused for good costs itself only.
func TestRefusedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "f", fails: []error{&sink.Failure{Reason: "answered 400"}}}
		_, err := dispatcher(t.TempDir(), Target{Sink: f}).Handle(t.Context(), evaluationOf(false, "x", "y"))
		var undelivered *Undelivered
		if !errors.As(err, &undelivered) || undelivered.Alerts != 1 || f.tookAll() != "firing y" {
			t.Errorf("%v: took %s", err, f.tookAll())
		}
	})
}

// Alerts go to the sinks of their owner, and to everybody's if he has none.
func TestRouting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owners, _, err := rules.ParseOwners([]byte(`{"version": 1, "owners": [{"service": "service-x", "owner": "xs"}, {"service": "service-y", "owner": "ys"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		silences, _, err := rules.ParseSilences([]byte(`{"version": 1, "silences": [{"service": "service-s", "until": "2100-01-01", "reason": "quiet"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		all, own := &fake{name: "all"}, &fake{name: "own"}
		d := dispatcher(t.TempDir(), Target{Sink: all}, Target{Sink: own, Owner: "xs"})
		d.Owners, d.Silences = owners, silences
		sorted, err := d.Handle(t.Context(), evaluationOf(false, "s", "x", "y", "z"))
		if err != nil || own.tookAll() != "firing x" || all.tookAll() != "firing y, firing z" {
			t.Errorf("%v: own took %s, all %s", err, own.tookAll(), all.tookAll())
		}
		if len(sorted.Silenced) != 1 || sorted.Silenced[0].Reason != "quiet" || len(sorted.Alerts) != 3 || sorted.Alerts[0].Owner != "xs" {
			t.Errorf("%+v", sorted)
		}
	})
}

// An evaluation that says one alert twice is reported once.
func TestSaidTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "f"}
		sorted, err := dispatcher(t.TempDir(), Target{Sink: f}).Handle(t.Context(), evaluationOf(false, "x", "x", "y"))
		if err != nil || len(sorted.Alerts) != 2 || f.tookAll() != "firing x, firing y" {
			t.Errorf("%v: %d raised, took %s", err, len(sorted.Alerts), f.tookAll())
		}
	})
}

// An open alert keeps the time at which it was raised; one that comes back is raised again.
func TestRaisedAt(t *testing.T) {
	f := &fake{name: "f"}
	d := dispatcher(t.TempDir(), Target{Sink: f})
	begin := time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	for i, want := range []int{0, 0, -1, 3, 3} { // minutes
		at := begin.Add(time.Duration(i) * time.Minute)
		d.Now = func() time.Time { return at }
		l := evaluationOf(true, "a")
		if want < 0 {
			l = evaluationOf(true)
		}
		sorted, err := d.Handle(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if want < 0 {
			continue
		}
		raised := begin.Add(time.Duration(want) * time.Minute)
		s, err := d.Store.Read()
		if err != nil || !sorted.Alerts[0].RaisedAt.Equal(raised) || !s.Open[0].Alert.RaisedAt.Equal(raised) {
			t.Errorf("minute %d: raised at %s, in the state %+v, want %s (%v)", i, sorted.Alerts[0].RaisedAt, s.Open, raised, err)
		}
	}
}

// Without sinks the state is read, for what was accepted, and never written.
func TestWithoutSinks(t *testing.T) {
	dir := t.TempDir() + "/none"
	sorted, err := dispatcher(dir).Handle(t.Context(), evaluationOf(false, "x"))
	if err != nil || len(sorted.Alerts) != 1 {
		t.Errorf("%+v %v", sorted, err)
	}
	if s, err := state.At(dir).Read(); err != nil || len(s.Open) != 0 {
		t.Errorf("%+v %v", s, err)
	}
}

// A receiver that drops messages of an id that it has seen hears of an alert that got
// worse, and of one that came back; a message that is sent again has the id it had.
func TestIDsOfMessages(t *testing.T) {
	f := &fake{name: "hook", fails: []error{&sink.Failure{Reason: "lost", Retry: false}}}
	d := dispatcher(t.TempDir(), Target{Sink: f})
	at := time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	d.Now = func() time.Time { return at }
	for _, severity := range []alert.Severity{alert.Warning, alert.Warning, alert.Critical, "", alert.Critical} {
		l := evaluationOf(true, "a")
		if l.Alerts[0].Severity = severity; severity == "" {
			l = evaluationOf(true)
		}
		if _, err := d.Handle(t.Context(), l); err != nil && len(f.ids) > 0 {
			t.Fatal(err)
		}
		at = at.Add(time.Minute)
	}
	if f.tookAll() != "firing a, firing a, resolved a, firing a" {
		t.Fatal(f.tookAll())
	}
	seen := map[string]bool{}
	for _, id := range f.ids {
		if seen[id] {
			t.Errorf("the ids are %q", f.ids)
		}
		seen[id] = true
	}
}
