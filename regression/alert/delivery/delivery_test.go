package delivery

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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

// fake is a sink with scripted failures that records the messages it accepts.
type fake struct {
	name  string
	mu    sync.Mutex
	fails []error
	hangs bool
	took  []string
	ids   []string // ids of messages
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

func alertsOf(ids ...string) (alerts []alert.Alert) {
	for _, id := range ids {
		alerts = append(alerts, alert.Alert{ID: id, Kind: alert.Regression, Service: "service-" + id, Method: id, Head: 2, Base: 1})
	}
	return alerts
}

// staysOpen and isResolved decide on all alerts that were not raised again.
func staysOpen(*alert.Alert) (string, bool)  { return "", false }
func isResolved(*alert.Alert) (string, bool) { return "gone", true }

// Each sink gets each alert and its end once, also across restarts.
func TestDispatcher_OnceAcrossRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a := &fake{name: "a"}
		for range 3 {
			if _, err := dispatcher(dir, Target{Sink: a}).Handle(t.Context(), alertsOf("x", "y"), 10, staysOpen); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := dispatcher(dir, Target{Sink: a}).Handle(t.Context(), alertsOf("y"), 10, isResolved); err != nil {
				t.Fatal(err)
			}
		}
		if got := a.tookAll(); got != "firing x, firing y, resolved x" {
			t.Errorf("took %s", got)
		}
	})
}

// A sink that is down delays no other sink, and gets all alerts when it is back.
func TestDispatcher_OneSinkDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		up, down := &fake{name: "up"}, &fake{name: "down", hangs: true}
		d := dispatcher(dir, Target{Sink: up}, Target{Sink: down})
		begin := time.Now()
		sorted, err := d.Handle(t.Context(), alertsOf("x"), 10, staysOpen)
		var undelivered *Undelivered
		if !errors.As(err, &undelivered) || undelivered.Sink != "down" || undelivered.Alerts != 1 || len(sorted.Alerts) != 1 {
			t.Errorf("%v %+v", err, sorted)
		}
		if time.Since(begin) != d.Timeout || up.tookAll() != "firing x" {
			t.Errorf("took %s after %s", up.tookAll(), time.Since(begin))
		}
		down.hangs = false
		if _, err := dispatcher(dir, Target{Sink: up}, Target{Sink: down}).Handle(t.Context(), alertsOf("x"), 10, staysOpen); err != nil {
			t.Error(err)
		}
		if up.tookAll() != "firing x" || down.tookAll() != "firing x" {
			t.Errorf("up took %s, down %s", up.tookAll(), down.tookAll())
		}
	})
}

// When the process is asked to end, deliveries in flight have the grace period.
func TestDispatcher_GracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatcher(t.TempDir(), Target{Sink: &fake{name: "down", hangs: true}})
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		time.AfterFunc(time.Second, cancel)
		if _, err := d.Handle(ctx, alertsOf("x"), 10, staysOpen); err == nil || time.Since(begin) != time.Second+d.Grace {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		// A sink that recovers within the grace period gets the alert although the context has ended.
		slow := &fake{name: "slow", fails: []error{&sink.Failure{Reason: "busy", Retry: true, After: 5 * time.Second}}}
		if _, err := dispatcher(t.TempDir(), Target{Sink: slow}).Handle(ctx, alertsOf("x"), 10, staysOpen); err != nil || slow.tookAll() != "firing x" {
			t.Errorf("%v: took %s", err, slow.tookAll())
		}
	})
}

// Nothing is sent to a sink before its Retry-After time.
func TestDispatcher_HonorsRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "f", fails: []error{&sink.Failure{Reason: "later", Retry: true, After: time.Hour}}}
		d := dispatcher(t.TempDir(), Target{Sink: f})
		for _, want := range []string{"", "", "firing x"} {
			_, _ = d.Handle(t.Context(), alertsOf("x"), 10, staysOpen)
			if f.tookAll() != want {
				t.Errorf("after %s: took %q", time.Now(), f.tookAll())
			}
			time.Sleep(31 * time.Minute)
		}
	})
}

// asked is a sink that records, when Refreshes is called, how many responses another sink has left.
type asked struct {
	fake
	other *fake
	saw   int
}

func (a *asked) Refreshes() bool {
	synctest.Wait() // a delivery that has begun proceeds until it blocks
	a.saw = len(a.other.fails)
	return false
}

// Pending alerts of all sinks are determined before the first delivery, so the results of deliveries in flight are
// not read.
func TestDispatcher_PendingBeforeFirstSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := &fake{name: "busy", fails: []error{&sink.Failure{Reason: "later", Retry: true, After: time.Hour}}}
		last := &asked{fake: fake{name: "last"}, other: busy}
		_, err := dispatcher(t.TempDir(), Target{Sink: busy}, Target{Sink: last}).Handle(t.Context(), alertsOf("x"), 10, staysOpen)
		if err == nil || len(busy.fails) != 0 || last.tookAll() != "firing x" {
			t.Errorf("%v: the busy one was told %d times, the last took %s", err, 1-len(busy.fails), last.tookAll())
		}
		if last.saw != 1 {
			t.Error("a sink was told before all were asked")
		}
	})
}

// Retry-After responses of several sinks at the same time do not interfere.
func TestDispatcher_ConcurrentRetryAfter(t *testing.T) {
	var targets []Target
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		targets = append(targets, Target{Sink: &fake{name: name, fails: []error{&sink.Failure{Reason: "later", Retry: true, After: time.Hour}}}})
	}
	d := dispatcher(t.TempDir(), targets...)
	for range 2 {
		_, _ = d.Handle(t.Context(), alertsOf("x"), 10, staysOpen)
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

// A permanently refused message does not stop other messages.
func TestDispatcher_RefusedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "f", fails: []error{&sink.Failure{Reason: "answered 400"}}}
		_, err := dispatcher(t.TempDir(), Target{Sink: f}).Handle(t.Context(), alertsOf("x", "y"), 10, staysOpen)
		var undelivered *Undelivered
		if !errors.As(err, &undelivered) || undelivered.Alerts != 1 || f.tookAll() != "firing y" {
			t.Errorf("%v: took %s", err, f.tookAll())
		}
	})
}

// Alerts are routed to the sinks of their owner, or to the sinks without owner if their owner has none.
func TestDispatcher_Routing(t *testing.T) {
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
		sorted, err := d.Handle(t.Context(), alertsOf("s", "x", "y", "z"), 10, staysOpen)
		if err != nil || own.tookAll() != "firing x" || all.tookAll() != "firing y, firing z" {
			t.Errorf("%v: own took %s, all %s", err, own.tookAll(), all.tookAll())
		}
		if len(sorted.Silenced) != 1 || sorted.Silenced[0].Reason != "quiet" || len(sorted.Alerts) != 3 || sorted.Alerts[0].Owner != "xs" {
			t.Errorf("%+v", sorted)
		}
	})
}

// Two alerts with the same id in one evaluation are reported once.
func TestDispatcher_DuplicateID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "f"}
		sorted, err := dispatcher(t.TempDir(), Target{Sink: f}).Handle(t.Context(), alertsOf("x", "x", "y"), 10, staysOpen)
		if err != nil || len(sorted.Alerts) != 2 || f.tookAll() != "firing x, firing y" {
			t.Errorf("%v: %d raised, took %s", err, len(sorted.Alerts), f.tookAll())
		}
	})
}

// An open alert keeps the time at which it was raised; an alert that returns is raised again.
func TestDispatcher_RaisedAt(t *testing.T) {
	f := &fake{name: "f"}
	d := dispatcher(t.TempDir(), Target{Sink: f})
	begin := time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	for i, want := range []int{0, 0, -1, 3, 3} { // minutes
		at := begin.Add(time.Duration(i) * time.Minute)
		d.Now = func() time.Time { return at }
		alerts := alertsOf("a")
		if want < 0 {
			alerts = nil
		}
		sorted, err := d.Handle(t.Context(), alerts, 10, isResolved)
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

// A damaged state file stops the delivery before anything is sent.
func TestDispatcher_DamagedState(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &fake{name: "f"}
	for _, targets := range [][]Target{nil, {{Sink: f}}} {
		if sorted, err := dispatcher(dir, targets...).Handle(t.Context(), alertsOf("x"), 10, staysOpen); sorted != nil || err == nil || !strings.Contains(err.Error(), "state.json is damaged") || f.tookAll() != "" {
			t.Errorf("%+v %v: took %s", sorted, err, f.tookAll())
		}
	}
}

// Without sinks the state is only read, for acceptances, and never written.
func TestDispatcher_WithoutSinks(t *testing.T) {
	dir := t.TempDir() + "/none"
	sorted, err := dispatcher(dir).Handle(t.Context(), alertsOf("x"), 10, staysOpen)
	if err != nil || len(sorted.Alerts) != 1 {
		t.Errorf("%+v %v", sorted, err)
	}
	if s, err := state.At(dir).Read(); err != nil || len(s.Open) != 0 {
		t.Errorf("%+v %v", s, err)
	}
}

// A receiver that drops messages with a known id still gets alerts that got worse or returned. A repeated message
// keeps its id.
func TestDispatcher_MessageIDs(t *testing.T) {
	f := &fake{name: "hook", fails: []error{&sink.Failure{Reason: "lost", Retry: false}}}
	d := dispatcher(t.TempDir(), Target{Sink: f})
	at := time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	d.Now = func() time.Time { return at }
	for _, severity := range []alert.Severity{alert.Warning, alert.Warning, alert.Critical, "", alert.Critical} {
		alerts := alertsOf("a")
		if alerts[0].Severity = severity; severity == "" {
			alerts = nil
		}
		if _, err := d.Handle(t.Context(), alerts, 10, isResolved); err != nil && len(f.ids) > 0 {
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
