package corehour

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/corehour/corehour/sdk/internal/messagelog"
)

// stuck is a pipe that nobody reads until the test does.
type stuck struct {
	once    sync.Once
	reached chan struct{} // closed at the first write
	read    chan struct{}
}

func newStuck() *stuck { return &stuck{reached: make(chan struct{}), read: make(chan struct{})} }

func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.reached) })
	<-s.read
	return len(p), nil
}

// A stderr that nobody reads blocks nothing: neither NewMethod, Stats, Start nor shutdown.
func TestMessages_StderrBlocked(t *testing.T) {
	pipe := newStuck()
	old := messages
	messages = messagelog.New(pipe, time.Minute)
	defer func() { messages = old }()
	defer close(pipe.read)

	done := make(chan struct{})
	go func() {
		defer close(done)
		NewMethod("stuck.Method", Rate(7))
		shutdown, err := Start(context.Background(), WithWriter(io.Discard))
		if err != nil {
			t.Error(err)
			return
		}
		<-pipe.reached
		NewMethod("stuck.Other", Rate(7)).Begin().End()
		Stats()
		if err := shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the program is held up")
	}
}

// A writer or client that ignores the end of its context cannot block shutdown. Until it returns,
// Start is refused.
func TestShutdown_Bounded(t *testing.T) {
	for name, c := range map[string]struct {
		options func(*stuck) []Option
		bounded bool   // the context of shutdown has a deadline
		holder  string // part of the error message
	}{
		"a writer":                  {func(s *stuck) []Option { return []Option{WithWriter(s)} }, true, "as the writer takes no more"},
		"a writer, and no deadline": {func(s *stuck) []Option { return []Option{WithWriter(s)} }, false, "as the writer takes no more"},
		"a client that minds no context": {func(s *stuck) []Option {
			return []Option{WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				_, err := s.Write(nil)
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, err
			})})}
		}, true, "as the HTTP client of the program minds no context"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipe := newStuck()
				shutdown, err := Start(context.Background(), c.options(pipe)...)
				if err != nil {
					t.Fatal(err)
				}
				started.Begin().End()
				ctx, most := context.Background(), shutdownPatience
				if c.bounded {
					most = time.Second
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, most)
					defer cancel()
				}
				began := time.Now()
				ended := make(chan error, 1)
				go func() { ended <- shutdown(ctx) }()
				select {
				case err = <-ended:
				case <-time.After(time.Hour):
					close(pipe.read)
					<-ended
					t.Fatal("shutdown goes on for ever")
				}
				if took := time.Since(began); took < most || took > most+shutdownGrace {
					t.Errorf("shutdown took %s, want %s", took, most)
				}
				if err == nil || !strings.Contains(err.Error(), "of unknown outcome: 1 calls") || !strings.Contains(err.Error(), "has not ended, "+c.holder) {
					t.Errorf("shutdown says %v", err)
				}
				if _, err := Start(context.Background()); !errors.Is(err, errEnding) {
					t.Errorf("Start, before the writer has let go: %v", err)
				}
				close(pipe.read)
				synctest.Wait()
				again, err := Start(context.Background(), WithWriter(io.Discard))
				if err != nil {
					t.Fatal(err)
				}
				if err := again(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestShutdown_NilContext(t *testing.T) {
	shutdown, err := Start(context.Background(), WithWriter(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	if err := shutdown(nil); err != nil { // invalid, but programs do it
		t.Error(err)
	}
	if Stats().QueueCapacity != 0 {
		t.Error("the SDK is still there")
	}
}
