package demo

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// workshop is a run that can start processes without the rest of the story.
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
	for _, p := range []*process{polite, deaf} {
		for lastLines(p.log, 1) != "  ready" {
			if err := p.ended(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
	}
	err = r.stopAll()
	if err == nil || !strings.Contains(err.Error(), "deaf did not stop") || strings.Contains(err.Error(), "polite") {
		t.Errorf("got %v", err)
	}
	for _, p := range []*process{polite, deaf} {
		if err := syscall.Kill(p.cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s still runs: %v", p.name, err)
		}
	}
}

func TestUsersSettingsStayOut(t *testing.T) {
	got := cleanEnvironment([]string{"PATH=/bin", "OTEL_SERVICE_NAME=mine", "COREHOUR_SAMPLE=off", "HOME=/h"})
	if strings.Join(got, " ") != "PATH=/bin HOME=/h" {
		t.Errorf("got %v", got)
	}
}

func TestJudge(t *testing.T) {
	const right = `{"class":"shop/receipt.Printer","method":"Join","base_version":"1.0","head_version":"1.1","service":"shop"}` + "\n"
	for _, tc := range []struct{ name, alerts, want string }{
		{"right", right, ""},
		{"none", "", "no alert names shop/receipt.Printer.Join"},
		{"wrong direction", strings.Replace(right, `"base_version":"1.0"`, `"base_version":"1.1"`, 1), "a false alert"},
		{"healthy method", right + strings.Replace(right, "Join", "Print", 1), "a false alert: shop/receipt.Printer.Print"},
		{"half a line", right + `{"class":`, ""},
		{"not JSON", right + "x\n", "alerts.jsonl"},
	} {
		r := workshop(t)
		if err := os.WriteFile(r.path("alerts.jsonl"), []byte(tc.alerts), 0o644); err != nil {
			t.Fatal(err)
		}
		err := r.judge()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}
