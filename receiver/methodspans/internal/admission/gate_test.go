package admission

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A request that finds no room now waits until another gives back, and is not refused.
func TestRequestWaitsForRoom(t *testing.T) {
	var refused []Reason
	g := New(100, 1, func(_ context.Context, r Reason) { refused = append(refused, r) })
	first, second, third := &loan{budget: g.budget}, &loan{budget: g.budget}, &loan{budget: g.budget}
	require.True(t, first.try(50))
	require.True(t, second.try(50))
	done := make(chan error, 1)
	go func() { done <- g.wait(context.Background(), third, 40) }()
	require.Eventually(t, func() bool {
		g.budget.mu.Lock()
		defer g.budget.mu.Unlock()
		return g.budget.waiting == 1
	}, time.Minute, time.Millisecond)
	first.giveBack()
	require.NoError(t, <-done)
	require.Empty(t, refused)
	require.EqualValues(t, 90, g.Taken())
	second.giveBack()
	third.giveBack()
	require.Zero(t, g.Taken())
}
