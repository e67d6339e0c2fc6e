package methodspans

import (
	"hash/fnv"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// nameProcesses makes the random id of a process part of its identity, for all later stages: a
// hash of the id replaces the part of the process start below a millisecond. Otherwise two
// processes could have the same instance id and start, which the system knows to 10 ms, and a
// sender that knows both could impersonate the process.
func nameProcesses(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() { // the corehour SDK sends one
			if v, ok := ss.Scope().Attributes().Get(methodspan.AttrProcessID); ok && v.AsString() != "" {
				nameProcess(rs.Resource(), v.AsString())
				break
			}
		}
	}
}

// nameProcess replaces the part of the process start below a millisecond. It is idempotent.
func nameProcess(resource pcommon.Resource, id string) {
	v, ok := resource.Attributes().Get(methodspan.ResourceProcessStart)
	if !ok {
		return
	}
	start, ok := methodspan.ProcessStart(v.Str())
	if !ok {
		return
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	below := time.Duration(h.Sum64() % uint64(time.Millisecond))
	v.SetStr(start.UTC().Truncate(time.Millisecond).Add(below).Format(time.RFC3339Nano))
}
