package methodspans

import (
	"hash/fnv"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// nameProcesses makes the random id of a process part of its identity. Two processes may have one
// instance id and one start, which the system knows to 10 ms; and a sender that knows both could
// impersonate the process. So the id replaces what is below a millisecond in the start, in all
// later stages.
func nameProcesses(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() { // our SDK sends one
			if v, ok := ss.Scope().Attributes().Get(methodspan.AttrProcessID); ok && v.AsString() != "" {
				nameProcess(rs.Resource(), v.AsString())
				break
			}
		}
	}
}

// nameProcess gives the same start however often it is done.
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
