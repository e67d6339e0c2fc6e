package sink

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

func message() alert.Message { return alert.Messages(alert.Firing, regressed())[0] }

// Responses of every kind: whether they are retried, and their error text.
func TestSend_Responses(t *testing.T) {
	answer := func(status int, header, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if name, value, ok := strings.Cut(header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // an unread body resets the connection at close, which would lose the response
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = conn.Write([]byte(text))
			conn.Close()
		}
	}
	for _, tc := range []struct {
		name  string
		serve http.HandlerFunc
		taken bool
		retry bool
		after time.Duration
		want  string
	}{
		{name: "taken", serve: answer(200, "", "ok"), taken: true},
		{name: "taken without a word", serve: answer(204, "", ""), taken: true},
		{name: "fault of the server", serve: answer(500, "", "oops"), retry: true, want: `answered 500 Internal Server Error: "oops"`},
		{name: "unavailable", serve: answer(503, "Retry-After: 7", ""), retry: true, after: 7 * time.Second, want: "503"},
		{name: "too many", serve: answer(429, "Retry-After: 30", "rate_limited"), retry: true, after: 30 * time.Second, want: "rate_limited"},
		{name: "too many, for ever", serve: answer(429, "Retry-After: 99999999999999999999", ""), retry: true, want: "429"},
		{name: "too many, for a year", serve: answer(429, "Retry-After: 31536000", ""), retry: true, after: 24 * time.Hour, want: "429"},
		{name: "refused", serve: answer(400, "", "invalid_payload"), want: "invalid_payload"},
		{name: "gone", serve: answer(404, "", "no_service"), want: "no_service"},
		{name: "never", serve: answer(501, "", ""), want: "501"},
		{name: "elsewhere", serve: answer(302, "Location: http://127.0.0.1:1/", ""), want: "redirects"},
		{name: "repeats the secret", serve: answer(403, "", "/hooks/secret-token with Bearer very-secret is not known"), want: "[secret]"},
		{name: "acts on terminals", serve: answer(400, "", "\x1b[2Jx\n"), want: `"\x1b[2Jx"`},
		{name: "garbage", serve: raw("SSH-2.0-OpenSSH\r\n"), retry: true, want: "malformed"},
		{name: "half an answer", serve: raw("HTTP/1.1 500 Oops\r\nContent-Length: 9\r\n\r\nhal"), retry: true, want: `"hal"`},
		{name: "hung up", serve: raw(""), retry: true, want: "EOF"},
		{name: "endless", serve: answer(400, "", strings.Repeat("x", 1<<20)), want: "xxx"},
	} {
		s := httptest.NewServer(tc.serve)
		err := NewWebhook("w", endpoint(t, s.URL+"/hooks/secret-token", "Authorization: Bearer very-secret")).Send(t.Context(), message())
		s.Close()
		var f *Failure
		switch {
		case tc.taken:
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
		case !errors.As(err, &f) || f.Retry != tc.retry || f.After != tc.after || !strings.Contains(f.Reason, tc.want):
			t.Errorf("%s: %+v", tc.name, err)
		case strings.Contains(f.Reason, "secret-token") || strings.Contains(f.Reason, "very-secret") || len(f.Reason) > 300:
			t.Errorf("%s: says too much: %s", tc.name, f.Reason)
		}
	}
}

func TestRetryAfter_Date(t *testing.T) {
	if got := retryAfter(noon.Add(90*time.Second).Format(http.TimeFormat), noon); got != 90*time.Second {
		t.Error(got)
	}
	if got := retryAfter(noon.Add(-time.Hour).Format(http.TimeFormat), noon); got != 0 {
		t.Error(got)
	}
}

// A server that reads the request and never responds.
func TestSend_Timeout(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server detects a closed connection only after the body was read
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var f *Failure
	err := NewSlack("s", endpoint(t, s.URL+"/hooks/secret-token", "")).Send(ctx, message())
	if !errors.As(err, &f) || !f.Retry || f.Reason != "no answer in time" {
		t.Errorf("%+v", err)
	}
}

func TestSend_ConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://user:the-password@" + l.Addr().String() + "/?token=0123456789"
	l.Close()
	var f *Failure
	err = NewWebhook("w", endpoint(t, address, "")).Send(t.Context(), message())
	if !errors.As(err, &f) || !f.Retry || !strings.Contains(f.Reason, "refused") {
		t.Errorf("%+v", err)
	}
	if strings.Contains(f.Reason, "password") || strings.Contains(f.Reason, "0123456789") {
		t.Errorf("says too much: %s", f.Reason)
	}
}

func TestSend_UntrustedCertificate(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = nil
	defer s.Close()
	e := endpoint(t, s.URL, "")
	var f *Failure
	err := NewWebhook("w", e).Send(t.Context(), message())
	if !errors.As(err, &f) || f.Retry || !strings.Contains(f.Reason, "certificate") {
		t.Errorf("somebody unknown was trusted, or asked again: %+v", err)
	}
	e.client = s.Client()
	if err := NewWebhook("w", e).Send(t.Context(), message()); err != nil {
		t.Error(err)
	}
}

// A server with broken TLS.
func TestSend_BrokenTLS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = bufio.NewReader(conn).ReadByte()
		_, _ = conn.Write([]byte("HTTP/1.0 400 Bad Request\r\n\r\n"))
		conn.Close()
	}()
	var f *Failure
	err = NewWebhook("w", endpoint(t, "https://"+l.Addr().String()+"/secret-token", "")).Send(t.Context(), message())
	if !errors.As(err, &f) || strings.Contains(f.Reason, "secret-token") {
		t.Errorf("%+v", err)
	}
	<-done
}

// scripted is a sink with scripted responses that records the time of each attempt.
type scripted struct {
	answers []error
	asked   []time.Duration
	start   time.Time
}

func (*scripted) Name() string    { return "scripted" }
func (*scripted) Refreshes() bool { return false }
func (s *scripted) Send(context.Context, alert.Message) error {
	s.asked = append(s.asked, time.Since(s.start))
	if len(s.answers) == 0 {
		return nil
	}
	err := s.answers[0]
	s.answers = s.answers[1:]
	return err
}

func TestDeliver_Retries(t *testing.T) {
	busy := &Failure{Reason: "busy", Retry: true}
	many := make([]error, 100)
	for i := range many {
		many[i] = busy
	}
	for _, tc := range []struct {
		name     string
		answers  []error
		deadline time.Duration
		attempts [2]int // minimum, maximum
		taken    bool
	}{
		{"at once", nil, time.Minute, [2]int{1, 1}, true},
		{"at the third attempt", []error{busy, busy}, time.Minute, [2]int{3, 3}, true},
		{"never again", []error{&Failure{Reason: "no"}}, time.Minute, [2]int{1, 1}, false},
		{"until the deadline", many, time.Minute, [2]int{6, 12}, false},
		{"not beyond the deadline", []error{&Failure{Reason: "later", Retry: true, After: 2 * time.Minute}}, time.Minute, [2]int{1, 1}, false},
		{"when it said", []error{&Failure{Reason: "later", Retry: true, After: 40 * time.Second}}, time.Minute, [2]int{2, 2}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{answers: tc.answers, start: time.Now()}
			ctx, cancel := context.WithTimeout(t.Context(), tc.deadline)
			defer cancel()
			err := Deliver(ctx, s, message())
			if (err == nil) != tc.taken || len(s.asked) < tc.attempts[0] || len(s.asked) > tc.attempts[1] {
				t.Errorf("%s: %v after attempts at %v", tc.name, err, s.asked)
			}
			for i := 2; i < len(s.asked); i++ { // waits grow, apart from jitter
				if wait := s.asked[i] - s.asked[i-1]; wait < firstWait/2 || wait > mostWait {
					t.Errorf("%s: waited %s", tc.name, wait)
				}
			}
			if tc.name == "when it said" && s.asked[1] < 40*time.Second {
				t.Errorf("asked again at %s", s.asked[1])
			}
		})
	}
}

// Ending the context ends the wait.
func TestDeliver_ContextCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answers: []error{&Failure{Reason: "later", Retry: true, After: time.Hour}}, start: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := Deliver(ctx, s, message()); err == nil || time.Since(s.start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(s.start))
		}
	})
}

// With a real server: two failures, then the message is accepted once.
func TestDeliver_OverHTTP(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch asked.Add(1) {
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			fmt.Fprint(w, "ok")
		}
	}))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := Deliver(ctx, NewSlack("s", endpoint(t, s.URL, "")), message()); err != nil || asked.Load() != 3 {
		t.Errorf("%v after %d attempts", err, asked.Load())
	}
}
