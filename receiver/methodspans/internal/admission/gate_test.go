package admission

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A request that finds no room now waits until another gives back, and is not refused.
func TestGate_WaitsForRoom(t *testing.T) {
	var refused []Reason
	g := New(100, 1, func(_ context.Context, r Reason) { refused = append(refused, r) })
	first, second, third := &reservation{budget: g.budget}, &reservation{budget: g.budget}, &reservation{budget: g.budget}
	require.True(t, first.tryReserve(50))
	require.True(t, second.tryReserve(50))
	done := make(chan error, 1)
	go func() { done <- g.wait(context.Background(), third, 40) }()
	require.Eventually(t, func() bool {
		g.budget.mu.Lock()
		defer g.budget.mu.Unlock()
		return g.budget.waiting == 1
	}, time.Minute, time.Millisecond)
	first.release()
	require.NoError(t, <-done)
	require.Empty(t, refused)
	require.EqualValues(t, 90, g.Reserved())
	second.release()
	third.release()
	require.Zero(t, g.Reserved())
}
