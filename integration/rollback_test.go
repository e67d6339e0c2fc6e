package integration

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// rolledBack is a service whose version 2 has the change of scenario slower. Version 2 replaces
// version 1, and later version 1 replaces version 2.
var rolledBack = planted{scenario: "rolledback", run: func(version string, _ int) []string {
	return []string{"--duration", map[string]string{"1": "10s", "2": "15s"}[version]}
}}

// Notifications that a webhook receives.
const (
	slowdownFiring   = "firing regression price: "
	rollBackResolved = "resolved regression price: version 1, which it is compared with, is back"
)

// hook is a webhook that records its notifications, and the state file of the sender.
type hook struct {
	address, state string // paths of files

	mu       sync.Mutex
	received []string
}

func newHook(t *testing.T) *hook {
	h := &hook{address: filepath.Join(t.TempDir(), "address"), state: filepath.Join(t.TempDir(), "state")}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	if err := os.WriteFile(h.address, []byte(server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *hook) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var m struct {
		Status string
		Alerts []struct{ Kind, Method, Resolution string }
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		m.Status = err.Error()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range m.Alerts {
		h.received = append(h.received, m.Status+" "+a.Kind+" "+a.Method+": "+a.Resolution)
	}
}

// evaluateRollback evaluates the rolled-back service like a timer does. The slowdown of version 2
// is notified once and resolved when version 1 returns, which is a deployment of its own.
func (s *stage) evaluateRollback(t *testing.T, f faults, p *pipeline, h *hook, base, head string, want ...string) {
	t.Helper()
	if !s.hasCPUTimes(t, f, rolledBack) {
		return
	}
	found, err := p.command.Regress(t.Context(), "--service", rolledBack.scenario, "--metric", "cpu", "--slot", "1s", "--warm-up", "0s",
		"--webhook", "file:"+h.address, "--state", h.state)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Comparisons) != 1 || found.Comparisons[0].BaseVersion != base || found.Comparisons[0].HeadVersion != head {
		f.addf(rolledBack.scenario, "version %s is to be compared with %s: %s", head, base, found.Output)
		return
	}
	for _, m := range found.Comparisons[0].Methods {
		t.Logf("%s of version %s: %s, %s", m.Method, head, m.State, m.Reason)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.received, want) {
		f.addf(rolledBack.scenario, "notified were %q, want %q", h.received, want)
	}
}
