package pairs

import (
	"testing"

	"github.com/corehour/corehour/regression/query"
)

func TestSameHost_AllHeadProcesses(t *testing.T) {
	base := func(host string) query.Process { return query.Process{Side: query.SideBase, HostID: host} }
	head := func(host string) query.Process { return query.Process{Side: query.SideHead, HostID: host} }
	for name, c := range map[string]struct {
		processes []query.Process
		want      bool
	}{
		"one host":           {[]query.Process{base("a"), head("a")}, true},
		"one of two hosts":   {[]query.Process{base("a"), base("b"), head("b")}, true},
		"another host":       {[]query.Process{base("a"), head("b")}, false},
		"one on another":     {[]query.Process{base("a"), head("a"), head("b")}, false},
		"hosts are unknown":  {[]query.Process{base(""), head("")}, false},
		"the base's unknown": {[]query.Process{base(""), head("a")}, false},
	} {
		if got := sameHost(c.processes); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
