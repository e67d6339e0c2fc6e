package maintain

import (
	"fmt"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Process rows of hosts beyond the limit of a rollup keep their CPU time, but lose the name of their host. The
// result counts these rows.
func TestRollup_ManyHosts(t *testing.T) {
	const beyond = 7
	now := noon
	root := t.TempDir()
	options := table.Options{Late: 30 * day, Now: func() time.Time { return now }}
	w, err := table.NewWriter(root, options)
	if err != nil {
		t.Fatal(err)
	}
	it := methodspan.Item{ID: "item-1"}
	for i := range maxHosts + beyond {
		start := noon.Add(-10 * day).UnixNano()
		it.Rows = append(it.Rows, methodspan.Row{
			Resource: &methodspan.Resource{Service: "shop", HostID: fmt.Sprint("host-", i)},
			Kind:     methodspan.KindProcess, Level: methodspan.LevelRaw, StartNS: start, EndNS: start + int64(time.Minute),
			BatchID: it.ID, RowSeq: int32(i), CPUMeasured: 1, CPUNS: 1e9, P: 1, CPUP: 1, Process: &methodspan.ProcessStats{Cores: 2},
		})
	}
	if _, err := w.Write(t.Context(), []methodspan.Item{it}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Hour)
	job := Job{Root: root, Policy: Policy{MaxFiles: 200, HourAfter: 2 * day}, Parquet: options}
	report, err := job.Run(t.Context())
	if err != nil || report.Hostless != beyond || len(report.Steps) != 1 || report.Steps[0].OutRows != maxHosts+1 {
		t.Fatalf("%v, %+v", err, report)
	}
	s, err := table.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	cpu, nameless := int64(0), int64(0)
	for _, f := range s.Files {
		rows, err := parquet.ReadRows(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			cpu += r.CPUNS
			if r.Resource.HostID == "" {
				nameless += r.CPUNS
			}
		}
	}
	if cpu != (maxHosts+beyond)*1e9 || nameless != beyond*1e9 {
		t.Errorf("%d ns, %d of them without a host", cpu, nameless)
	}
}
