package adaptivesampler

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// A waiter is woken when its table changes for any reason, and is not woken when it stays the same.
func TestServed_WakesOnTableChange(t *testing.T) {
	table := func(revision string) *rates.Table { return &rates.Table{Revision: revision} }
	shop, web := decide.Group{Service: "shop", Version: "1"}, decide.Group{Service: "web", Version: "1"}
	target := rates.Target{Service: "shop", Version: "1", Instance: "a"}
	s := newServedTables()
	for _, step := range []struct {
		name     string
		tables   map[decide.Group]*rates.Table
		fallback string
		want     string
		woken    bool
		changes  int
	}{
		{"the file is read", nil, "f", "f", true, 1},
		{"nothing", nil, "f", "f", false, 0},
		{"another service is met", map[decide.Group]*rates.Table{web: table("1")}, "f", "f", true, 1},
		{"its own table, at last", map[decide.Group]*rates.Table{web: table("1"), shop: table("2")}, "f", "2", true, 1},
		{"the same again", map[decide.Group]*rates.Table{web: table("1"), shop: table("2")}, "f", "2", false, 0},
		{"another's is changed", map[decide.Group]*rates.Table{web: table("3"), shop: table("2")}, "f", "2", false, 1},
		{"its own is changed", map[decide.Group]*rates.Table{web: table("3"), shop: table("4")}, "f", "4", true, 1},
		{"the file is changed", map[decide.Group]*rates.Table{web: table("3"), shop: table("4")}, "g", "4", false, 1},
		{"it is forgotten", map[decide.Group]*rates.Table{web: table("3")}, "g", "g", true, 0},
	} {
		_, changed := s.Rates(target)
		assert.Equal(t, step.changes, s.replace(step.tables, table(step.fallback)), step.name)
		now, _ := s.Rates(target)
		assert.Equal(t, step.want, now.Revision, step.name)
		woken := false
		select {
		case <-changed:
			woken = true
		default:
		}
		assert.Equal(t, step.woken, woken, step.name)
	}
}
