package harness

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// recorder is a collector's endpoint that records bodies.
type recorder struct {
	mu     sync.Mutex
	bodies []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	r.bodies = append(r.bodies, request.Header.Get("Content-Type")+":"+string(body))
	r.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}

func (r *recorder) got() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.bodies, " ")
}

func TestProxy_FollowsPlan(t *testing.T) {
	upstream := new(recorder)
	server := httptest.NewServer(upstream)
	defer server.Close()
	plan := []Fault{Forward(), DropAnswer(), Refuse(503, 7*time.Second), BlackHole(time.Millisecond), Repeat()}
	proxy, err := NewProxy(server.Listener.Addr().String(), func(n int) Fault { return plan[n-1] })
	if err != nil {
		t.Fatal(err)
	}
	post := func(body string) (int, string, error) {
		answer, err := http.Post(proxy.Endpoint()+"/v1/traces", "a/b", strings.NewReader(body))
		if err != nil {
			return 0, "", err
		}
		defer answer.Body.Close()
		return answer.StatusCode, answer.Header.Get("Retry-After"), nil
	}
	for i, c := range []struct {
		status int
		after  string
		fails  bool
	}{{200, "", false}, {0, "", true}, {503, "7", false}, {0, "", true}, {200, "", false}} {
		status, after, err := post(string(rune('a' + i)))
		if status != c.status || after != c.after || (err != nil) != c.fails {
			t.Errorf("request %d: status %d, Retry-After %q, error %v", i+1, status, after, err)
		}
	}
	if got, want := upstream.got(), "a/b:a a/b:b a/b:e a/b:a"; got != want {
		t.Errorf("the collector got %q, want %q", got, want)
	}
	want := Tally{Forwarded: 2, Acknowledged: 3, Dropped: 1, Refused: 1, Swallowed: 1, Repeated: 1}
	if got := proxy.Tally(); got != want {
		t.Errorf("tally %+v, want %+v", got, want)
	}
	if err := proxy.Close(); err != nil {
		t.Error(err)
	}
}
