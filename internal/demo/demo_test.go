package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/background"
)

// workshop is a run that starts processes without the rest of the demo.
func workshop(t *testing.T) *run {
	t.Helper()
	r := &run{Settings: Settings{Dir: t.TempDir(), Out: &strings.Builder{}, Patience: 300 * time.Millisecond}, begin: time.Now()}
	if err := os.MkdirAll(r.path("logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.stopAll() })
	return r
}

func TestEverythingMissingIsSaidAtOnce(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	err = Run(context.Background(), Settings{
		Dir: filepath.Join(dir, "demo"), Binaries: dir, Out: &strings.Builder{}, Patience: time.Second,
		HTTP: taken.Addr().String(), GRPC: "127.0.0.1:0", Rates: "127.0.0.1:0", Health: "127.0.0.1:0", Metrics: "no address",
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"corehour-collector is not in " + dir, "corehour-shop is not in", "make build",
		"--http " + taken.Addr().String() + " can't be used", "address already in use", "--metrics no address can't be used",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "--grpc") {
		t.Errorf("a free address is complained of:\n%v", err)
	}
}

func TestProcessThatEndsByItselfIsSaidWithItsLastLines(t *testing.T) {
	r := workshop(t)
	p, err := r.start("collector", nil, "/bin/sh", "-c", "echo first; echo the reason >&2; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	err = r.wait(context.Background(), time.Minute, p)
	if err == nil || !strings.Contains(err.Error(), "collector ended by itself") || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("got %v", err)
	}
}

func TestNoProcessIsLeftBehind(t *testing.T) {
	r := workshop(t)
	polite, err := r.start("polite", nil, "/bin/sh", "-c", "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done")
	if err != nil {
		t.Fatal(err)
	}
	deaf, err := r.start("deaf", nil, "/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*background.Process{polite, deaf} {
		for said := []byte(nil); string(said) != "ready\n"; said, _ = os.ReadFile(p.Log) {
			if err := p.Ended(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
	}
	err = r.stopAll()
	if err == nil || !strings.Contains(err.Error(), "deaf did not stop") || strings.Contains(err.Error(), "polite") {
		t.Errorf("got %v", err)
	}
	for _, p := range []*background.Process{polite, deaf} {
		if p.Running() {
			t.Errorf("%s still runs", p.Name)
		}
	}
}

func TestJudge(t *testing.T) {
	const right = `{"class":"shop/cart.Cart","method":"Total","base_version":"1.0","head_version":"1.1","service":"shop","change_percent":58,"interval":[52,64.2]}` + "\n"
	const truth = `{"method":"shop/cart.Cart.Total","change_percent":60.6}`
	for _, tc := range []struct{ name, alerts, truth, want string }{
		{"right", right, truth, ""},
		{"none", "", truth, "no alert names shop/cart.Cart.Total"},
		{"wrong direction", strings.Replace(right, `"base_version":"1.0"`, `"base_version":"1.1"`, 1), truth, "a false alert"},
		{"healthy method", right + strings.Replace(right, "Total", "Print", 1), truth, "a false alert: REGRESSED shop/cart.Cart.Print"},
		{"half a line", right + `{"class":`, truth, ""},
		{"not JSON", right + "x\n", truth, "alerts.jsonl"},
		{"truth that is not JSON", right, "x", "truth.json"},
		{"outside of 95%, inside of 99%", right, `{"change_percent":65.5}`, ""},
		{"above 99%", right, `{"change_percent":66.5}`, "the size is wrong: the alert says +58.0% (99% interval +50.2% to +66.2%), the shop's own measure is +66.5%"},
		{"with callees", strings.Replace(right, `"service"`, `"basis":"typical","service"`, 1), `{"change_percent":90}`, ""},
		{"below 99%", right, `{"change_percent":50}`, "the size is wrong"},
		{"no interval", strings.Replace(right, `[52,64.2]`, `[0,0]`, 1), truth, "the alert's interval +0.0% to +0.0% is none of a change of +58.0%"},
		{"all there is, downwards", strings.Replace(right, `[52,64.2]`, `[-100,64.2]`, 1), truth, "is none of a change"},
	} {
		r := workshop(t)
		for name, text := range map[string]string{"alerts.jsonl": tc.alerts, "truth.json": tc.truth} {
			if err := os.WriteFile(r.path(name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		err := r.judge()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

// An alert is printed as soon as it is written, whatever the demo waits for.
func TestAlertIsAnnouncedAtOnce(t *testing.T) {
	r := workshop(t)
	r.After = time.Minute
	knowable := time.Now().Add(-3 * time.Second)
	line := fmt.Sprintf(`{"class":"shop/cart.Cart","method":"Total","knowable_since":%q,"raised_at":%q}`+"\n", knowable.Format(time.RFC3339Nano), knowable.Add(2*time.Second).Format(time.RFC3339Nano))
	ctx, cancel := context.WithCancelCause(t.Context())
	r.Out = announced(func(said string) {
		if strings.Contains(said, "2s after the evidence sufficed") {
			cancel(errAnnounced) // instead of waiting for false ones
		}
	})
	time.AfterFunc(50*time.Millisecond, func() {
		if err := os.WriteFile(r.path("alerts.jsonl"), []byte(line), 0o644); err != nil {
			cancel(err)
		}
	})
	begin := time.Now()
	if err := r.awaitAlert(ctx); !errors.Is(err, errAnnounced) || time.Since(begin) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
}

var errAnnounced = errors.New("announced")

type announced func(string)

func (a announced) Write(p []byte) (int, error) {
	a(string(p))
	return len(p), nil
}
