package integration

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/corehour/corehour/integration/groundtruth"
)

// storedCalls returns the counted calls in the warehouse, by instance and
// class.method.
func storedCalls(t *testing.T, p *pipeline) map[string]map[string]int64 {
	t.Helper()
	stored := map[string]map[string]int64{}
	for _, row := range query[struct {
		Instance string  `json:"instance"`
		Name     string  `json:"name"`
		Calls    float64 `json:"calls"`
	}](t, p, `SELECT instance, CASE WHEN class IS NULL OR class = '' THEN method ELSE class || '.' || method END AS name, SUM(calls) AS calls
		FROM method_calls WHERE kind = 'counts' GROUP BY ALL`) {
		if stored[row.Instance] == nil {
			stored[row.Instance] = map[string]int64{}
		}
		stored[row.Instance][row.Name] = int64(row.Calls)
	}
	return stored
}

func sum(counts map[string]int64) int64 {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	return total
}

// countedCalls returns the workload's own count of calls by method.
func countedCalls(r groundtruth.ProcessRecord) map[string]int64 {
	calls := map[string]int64{}
	for name, m := range r.Methods {
		calls[name] = m.Calls
	}
	return calls
}

// requireExact asserts that the warehouse holds every call that the workloads counted, method by
// method and none twice, and that `corehour check` balances.
func requireExact(t *testing.T, p *pipeline, reports ...groundtruth.ProcessRecord) {
	t.Helper()
	stored := storedCalls(t, p)
	for _, r := range reports {
		if r.Shutdown != "" {
			t.Errorf("%s: the SDK could not deliver everything: %s", r.Instance, r.Shutdown)
		}
		if d := differences(countedCalls(r), stored[r.Instance]); len(d) > 0 {
			t.Errorf("%s: the workload counted %d calls, %d are stored; by method: %v", r.Instance, sum(countedCalls(r)), sum(stored[r.Instance]), d)
		}
		if sum(countedCalls(r)) == 0 {
			t.Errorf("%s made no calls: this proves nothing", r.Instance)
		}
	}
	if len(stored) != len(reports) {
		t.Errorf("stored are instances %v, %d have run", slices.Sorted(maps.Keys(stored)), len(reports))
	}
	requireSoundRows(t, p)
	if n := query[map[string]int64](t, p, "SELECT COUNT(*) FILTER (language IS DISTINCT FROM 'go') AS others FROM method_calls")[0]["others"]; n != 0 {
		t.Errorf("%d rows of our SDK have another language than go", n)
	}
	requireBalanced(t, p, reports...)
}

// differences lists the methods whose two counts differ.
func differences(made, stored map[string]int64) []string {
	var d []string
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if made[name] != stored[name] {
			d = append(d, fmt.Sprintf("%s made %d stored %d", name, made[name], stored[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		if _, ok := made[name]; !ok {
			d = append(d, fmt.Sprintf("%s made never, stored %d", name, stored[name]))
		}
	}
	return d
}
