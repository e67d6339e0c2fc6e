package ledger

import (
	"fmt"
	"slices"
	"testing"

	"github.com/corehour/corehour/regression/query"
)

// Services with the most missing or surplus calls come first. A line sums up the others.
func TestMost(t *testing.T) {
	var a Accounts
	for i := range 5 {
		a.Services = append(a.Services, Service{Service: query.Service{Name: fmt.Sprint("s", i)}, Processes: 2, DeadProcesses: i % 2, HandedOutCalls: int64(10 - i), CountedCalls: int64(9 - i)})
	}
	a.Services[3].LostInTransit = -2
	shown, more := a.Most(2)
	if want := []string{"3 more services with 6 processes, 1 dead, 23 calls emitted, 20 stored, 0 missing, 0 foreign rows: --all prints them"}; len(shown) != 2 ||
		shown[0].Name != "s0" || shown[1].Name != "s3" || !slices.Equal(more, want) {
		t.Errorf("%+v, %q, want %q", shown, more, want)
	}
	if shown, more := a.Most(0); len(shown) != 5 || more != nil {
		t.Errorf("all: %+v, %q", shown, more)
	}
}

func TestNotInOrder(t *testing.T) {
	a := Accounts{Processes: []Process{{}, {LostInTransit: 5}, {State: Dead}, {LostInTransit: -7}}}
	shown, more := a.NotInOrder(1)
	if len(shown) != 1 || shown[0].LostInTransit != -7 || !slices.Equal(more, []string{"2 more processes, 1 dead, with 5 calls missing: --all prints them"}) {
		t.Errorf("%+v, %q", shown, more)
	}
}
