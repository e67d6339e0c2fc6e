package evidence_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// Where few calls make most of the mean, the difference of two means does not show a change of a method with callees.
// Its typical calls do.
func TestTypical_FindsChangeThatMeansHide(t *testing.T) {
	s := newShop()
	s.heavy = 8
	s.at("Price").self[evidence.Head] *= 4
	r := watch(t, s.deployment(1), evidence.Defaults())
	assert.Equal(t, []string{"regression Price"}, alerted(r))
	v := verdictOf(t, r, "Price")
	assert.Equal(t, evidence.Typical, v.Basis)
	assert.InDelta(t, 100*4500/5500., *v.ChangePercent, 15, "1500 of 5500 ns became 6000")
	assert.Positive(t, v.Interval[0])
	assert.Less(t, v.BaseNSPerCall, v.HeadNSPerCall)
	assert.Positive(t, v.ExcessPerDay)
	assert.Equal(t, evidence.Explained, verdictOf(t, r, "Total").State)
}

// The evidence is that of the caller, whose calls have less noise; the growth is in the callee.
func TestTypical_AlertNamesCalleeWithGrowth(t *testing.T) {
	s := newShop()
	s.bases, s.heads, s.heavy = 2, 2, 8
	s.at("Parse").self[evidence.Head] *= 1.8
	r := watch(t, s.deployment(2), evidence.Defaults())
	for _, a := range r.Alerts {
		assert.Equal(t, "Parse", a.FullName)
	}
}

func TestTypical_NothingRaisedWithoutChange(t *testing.T) {
	deployments := uint64(200)
	if testing.Short() {
		deployments = 10
	}
	for seed := range deployments {
		s := newShop()
		s.bases, s.heads, s.heavy = 3, 3, 8
		assert.Empty(t, alerted(watch(t, s.deployment(seed), evidence.Defaults())), "seed %d", seed)
	}
}
