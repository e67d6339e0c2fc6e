package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/test/fixture"
)

// inbox is a server that stores the bodies posted to it, or answers with the status of an error.
type inbox struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	bodies []string
}

func newInbox(t *testing.T) *inbox {
	in := &inbox{status: http.StatusOK}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		in.mu.Lock()
		defer in.mu.Unlock()
		w.WriteHeader(in.status)
		if in.status == http.StatusOK {
			in.bodies = append(in.bodies, r.URL.Path+" "+string(body))
		}
	}))
	t.Cleanup(in.Close)
	return in
}

// take returns the stored bodies and empties the inbox.
func (in *inbox) take() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := in.bodies
	in.bodies = nil
	return out
}

func firstAlert(t *testing.T, r result) alert.Alert {
	t.Helper()
	var found struct{ Alerts []alert.Alert }
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || len(found.Alerts) == 0 {
		t.Fatalf("%v %+v", err, r)
	}
	return found.Alerts[0]
}

var third = fixture.ThirdRelease

// The life of an alert: delivered once across restarts, silenced, resolved.
func TestDelivery(t *testing.T) {
	fixture.SkipRaced(t)
	clock(t, evening)
	root := twoReleases(t, 1)
	hook, chat, manager := newInbox(t), newInbox(t), newInbox(t)
	t.Setenv("COREHOUR_TEST_HOOK", hook.URL+"/very-secret-token")
	secret := filepath.Join(t.TempDir(), "chat")
	if err := os.WriteFile(secret, []byte(chat.URL+"/very-secret-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	owners := filepath.Join(t.TempDir(), "owners.json")
	if err := os.WriteFile(owners, []byte(`{"version":1,"owners":[{"class":"shop/tax","owner":"tax-team"},{"clas":"x"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	regress := func(args ...string) result {
		return corehour(append([]string{"regress", "--warehouse", root, "--webhook", "env:COREHOUR_TEST_HOOK", "--slack", "file:" + secret,
			"--alertmanager", manager.URL, "--owners", owners, "--format", "json"}, args...)...)
	}
	hook.status = http.StatusBadRequest
	r := regress()
	if r.code != exitFailed || !strings.Contains(r.stderr, "webhook: answered 400") || !strings.Contains(r.stderr, `did you mean "class"?`) {
		t.Errorf("%+v", r)
	}
	a := firstAlert(t, r) // the alert is still in the output
	if a.Owner != "tax-team" || a.Basis != "own" {
		t.Errorf("%+v", a)
	}
	if got := chat.take(); len(got) != 1 || !strings.Contains(got[0], "`tax-team`") {
		t.Errorf("chat: %q", got)
	}
	if got := manager.take(); len(got) != 1 || !strings.HasPrefix(got[0], "/api/v2/alerts [{") {
		t.Errorf("manager: %q", got)
	}
	hook.status = http.StatusOK
	if r = regress(); r.code != exitFound {
		t.Errorf("%+v", r)
	}
	if got := hook.take(); len(got) != 1 || len(chat.take()) != 0 || len(manager.take()) != 1 || !strings.Contains(got[0], a.ID) {
		t.Errorf("hook: %q", got)
	}
	data, err := os.ReadFile(root + ".state/state.json")
	if err != nil || strings.Contains(string(data), "very-secret") || strings.Contains(r.stdout+r.stderr, "very-secret") {
		t.Errorf("a secret was written: %v", err)
	}

	third(t, root, "1.11.0", fixture.DefaultOwnCPU()[fixture.Rate]) // as cheap as before the slowdown
	clock(t, evening.Add(time.Hour))
	if r = regress(); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	for name, in := range map[string]*inbox{"hook": hook, "chat": chat, "manager": manager} {
		got := in.take()
		if len(got) != 1 || !strings.Contains(got[0], "version 1.11.0 takes") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if regress(); len(hook.take())+len(chat.take())+len(manager.take()) != 0 {
		t.Error("told again")
	}
}

// An accepted slowdown raises no alert until the acceptance is withdrawn.
func TestAccept(t *testing.T) {
	fixture.SkipRaced(t)
	clock(t, evening)
	root := twoReleases(t, 1)
	a := firstAlert(t, corehour("regress", "--warehouse", root, "--format", "json"))
	for _, args := range [][]string{
		{"accept"}, {"accept", a.ID}, {"accept", "--reason", "x"}, {"accept", a.ID, "--reason", " "}, {"accept", a.ID[:5], "--reason", "x"},
		{"accept", a.ID, "b", "--reason", "x"}, {"accept", a.ID, "--reason", strings.Repeat("x", 2000)}, {"accept", "ffffffffffff", "--reason", "x", "--warehouse", root},
		{"accept", a.ID, "--withdraw", "--warehouse", root}, {"accept", a.ID, "--withdraw", "--reason", "x"},
	} {
		if r := corehour(args...); r.code != exitFailed || r.stderr == "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
	// Errors print the correct command line, with the arguments that can be guessed.
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"accept"}, `want the id of an alert, at least its first 6 characters, found nothing: corehour regress prints ids; corehour accept ID --reason "why it is accepted"`},
		{[]string{"accept", a.ID}, `--reason: want why the slowdown is accepted, found nothing: corehour accept ` + a.ID + ` --reason "why it is accepted"`},
		{[]string{"accept", "it", "rounds", a.ID}, `want one id, found the further argument "it rounds": corehour accept ` + a.ID + ` --reason "it rounds"`},
		{[]string{"accept", "shop/tax.Rate", "--withdraw"}, `found "shop/tax.Rate": corehour regress prints ids; corehour accept ID --withdraw`},
	} {
		if r := corehour(c.args...); r.code != exitFailed || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: no %q in %+v", c.args, c.want, r)
		}
	}
	r := corehour("accept", "--by", "ann", a.ID[:8], "--warehouse", root, "--reason", "it rounds right now")
	if r.code != exitNothing || !strings.Contains(r.stdout, "shop/tax.Rate of store/shop (production)") {
		t.Fatalf("%+v", r)
	}
	if r = corehour("regress", "--warehouse", root); r.code != exitNothing || !strings.Contains(r.stdout, "accepted by ann on 2026-03-10 because it rounds right now") {
		t.Errorf("%+v", r)
	}
	if r = corehour("accept", "--warehouse", root, "--withdraw", a.ID); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	if r = corehour("regress", "--warehouse", root); r.code != exitFound {
		t.Errorf("withdrawn: %+v", r)
	}
	silences := write(t, "silences.json", `{"version":1,"silences":[{"service":"shop","method":"shop/tax.R","until":"2026-03-10T12:00:00Z","reason":"tax day"}]}`)
	if r = corehour("regress", "--warehouse", root, "--silences", silences); r.code != exitNothing || !strings.Contains(r.stdout, "muted until 2026-03-10T12:00:00Z because tax day") {
		t.Errorf("silenced: %+v", r)
	}
}

func TestDelivery_Flags(t *testing.T) {
	clock(t, evening)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--slack", "https://hooks.example/very-secret"}, "--slack: want env:NAME or file:PATH"},
		{[]string{"--webhook", "env:COREHOUR_TEST_NOT_SET"}, `"COREHOUR_TEST_NOT_SET" is not set`},
		{[]string{"--webhook-headers", "env:X"}, "no effect without --webhook"},
		{[]string{"--alertmanager", "http://user:very-secret@h"}, "--alertmanager: want a URL without user"},
		{[]string{"--owners", "/nonexistent"}, "--owners"},
		{[]string{"--silences", "/nonexistent"}, "--silences"},
		{[]string{"--timeout", "-1s"}, "--timeout: want more than 0, found -1s"},
	} {
		r := corehour(append([]string{"regress"}, tc.args...)...)
		if r.code != exitFailed || !strings.Contains(r.stderr, tc.want) || strings.Contains(r.stderr, "very-secret") {
			t.Errorf("%q: %+v", tc.args, r)
		}
	}
}
