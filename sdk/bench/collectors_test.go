package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Every collector treats a request as its state says.
func TestCollectors(t *testing.T) {
	answers := map[state]int{healthy: http.StatusOK, badRates: http.StatusOK, clockSteps: http.StatusOK, busy: http.StatusTooManyRequests, failing: http.StatusInternalServerError}
	for _, is := range states {
		t.Run(string(is), func(t *testing.T) {
			c := newCollector(is)
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if is == slow || is == blackHoled {
				ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
			}
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultTransport.RoundTrip(request)
			if err == nil {
				defer resp.Body.Close()
			}
			switch is {
			case absent:
				if !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("not refused: %v", err)
				}
			case slow, blackHoled:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("answered in time: %v", err)
				}
			case garbage, hangingUp:
				if err == nil || ctx.Err() != nil {
					t.Errorf("understood, or silent: %v", err)
				}
			default:
				if err != nil || resp.StatusCode != answers[is] {
					t.Errorf("%v, %v", resp, err)
				}
			}
		})
	}
}
