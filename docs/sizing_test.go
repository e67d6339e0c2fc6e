package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corehour/corehour/internal/columns"
)

// Figures measured on two shared cores of an Intel Xeon, and the target that measures them. A new
// measurement changes them here.
const (
	measurementsPerCore = 90_000.0 // per second, whole collector; make bench WHAT=soak
	residentMiB         = 408.0    // peak of the same run, with one busy core; make bench WHAT=soak
	bytesAllIDs         = 43.5     // per row, in files; make bench WHAT=warehouse ROWS=4000000
	bytesExemplarIDs    = 15.6     // per row, same target
	mergedPerCore       = 500_000.0
	rolledPerCore       = 230_000.0 // into minute rollups
)

// List prices of BigQuery in the multi-region US, in USD, as published in 2025;
// look them up for your region and contract.
const (
	usdStoredPerGiBMonth = 0.02  // active logical storage
	usdWrittenPerGiB     = 0.025 // Storage Write API, beyond 2 TiB a month
	freeWrittenGiB       = 2048.0
	usdReadPerTiB        = 6.25 // on demand, beyond 1 TiB a month
)

// usualText contains the usual length of text columns, in bytes. Text columns that are not listed are NULL
// in calls of our SDK without IDs.
var usualText = map[string]int{
	"kind": 4, "level": 3, "service_namespace": 4, "service": 9, "version": 5, "revision": 40, "environment": 10, "instance": 16, "host": 12,
	"host_type": 11, "cloud_provider": 3, "region": 12, "capacity_type": 4, "class": 20, "method": 8, "caller": 24, "tier": 3, "reason": 4,
	"weight_basis": 5, "cpu_state": 12, "price_source": 4, "batch_id": 38,
}

// usualNulls are columns of other types that are NULL in most rows.
var usualNulls = map[string]bool{
	"wall_sq": true, "cpu_sq": true, "wall_hist": true, "cpu_hist": true, "cores": true, "rss_bytes": true, "calls_total": true, "final": true, "sdk_stats": true,
	"activated": true,
}

// logicalBytes returns the bytes that BigQuery bills for the columns of a row: 8 for a number or date, 2 plus
// the length for a text or ID, 0 for NULL.
func logicalBytes(t *testing.T, of []columns.Column, ids bool) (bytes float64) {
	t.Helper()
	for _, c := range of {
		switch {
		case usualNulls[c.Name]:
		case c.Type == columns.String:
			if n := usualText[c.Name]; n > 0 {
				bytes += float64(2 + n)
			} else if c.Required {
				t.Errorf("no usual length of %s", c.Name)
			}
		case c.Type == columns.Bytes16:
			if ids {
				bytes += 18
			}
		case c.Type == columns.Bytes8:
			if ids {
				bytes += 10
			}
		default:
			bytes += 8
		}
	}
	return bytes
}

var (
	comment = regexp.MustCompile(`--.*`)
	bounds  = regexp.MustCompile(`SELECT \* REPLACE \(.*\) FROM method_calls`) // reads only the columns that the statement names
	only    = regexp.MustCompile(`AND (?:c\.)?service_namespace = @service_namespace AND (?:c\.)?service = @service AND (?:c\.)?environment = @environment`)
	name    = regexp.MustCompile(`\w+`)
)

// bytesRead returns the bytes per row that a statement reads, without --namespace, --service and
// --environment.
func bytesRead(t *testing.T, statement string) float64 {
	t.Helper()
	text, err := os.ReadFile("../regression/query/testdata/bigquery/" + statement + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	names := name.FindAllString(only.ReplaceAllString(bounds.ReplaceAllString(comment.ReplaceAllString(string(text), ""), "FROM method_calls"), ""), -1)
	return logicalBytes(t, slices.DeleteFunc(slices.Clone(columns.All), func(c columns.Column) bool { return !slices.Contains(names, c.Name) }), false)
}

// TestSizingPage_Computed computes the table of the resources for 10,000 records a second.
func TestSizingPage_Computed(t *testing.T) {
	const perSecond, days = 10_000.0, 30.0
	rows := perSecond * 86_400 // per day
	gib := func(bytes float64) float64 { return bytes / (1 << 30) }
	var b strings.Builder
	line := func(what, value, how string) { fmt.Fprintf(&b, "| %s | %s | %s |\n", what, value, how) }
	b.WriteString("| for 10,000 records a second | | measured or computed from |\n|---|---|---|\n")
	line("CPU of the collector", fmt.Sprintf("%.2f cores", perSecond/measurementsPerCore), fmt.Sprintf("one core handles %.0f a second (`make bench WHAT=soak`)", measurementsPerCore))
	line("CPU of merging and rolling up", fmt.Sprintf("%.2f cores", perSecond*(1/mergedPerCore+2/rolledPerCore)),
		fmt.Sprintf("%.0f rows a second and core merged once; %.0f rolled up twice: next to the rows, and in place of them (`make bench WHAT=warehouse`)", mergedPerCore, rolledPerCore))
	line("memory of the collector", fmt.Sprintf("%.0f MiB", residentMiB), "the peak at full load of one core (`make bench WHAT=soak`); the limiter's default is 512 MiB")
	line("disk a day, ids of all traces", fmt.Sprintf("%.0f GiB", gib(rows*bytesAllIDs)), fmt.Sprintf("%.1f bytes a row (`make bench WHAT=warehouse`)", bytesAllIDs))
	line("disk a day, ids of exemplars", fmt.Sprintf("%.0f GiB", gib(rows*bytesExemplarIDs)), fmt.Sprintf("%.1f bytes a row (`make bench WHAT=warehouse`)", bytesExemplarIDs))
	line("disk for the 7 days until rows are rolled up, ids of exemplars", fmt.Sprintf("%.0f GiB", 7*gib(rows*bytesExemplarIDs)), "the same, 7 times")
	for _, ids := range []bool{false, true} {
		size := logicalBytes(t, columns.All, ids)
		month := gib(days * rows * size)
		name := map[bool]string{false: "without ids", true: "with all ids"}[ids]
		line("BigQuery, a month's rows stored for a month, "+name, fmt.Sprintf("%.0f USD", month*usdStoredPerGiBMonth),
			fmt.Sprintf("%.0f logical bytes a row, %.2f USD per GiB and month", size, usdStoredPerGiBMonth))
		line("BigQuery, a month of the Storage Write API, "+name, fmt.Sprintf("%.0f USD", max(0, month-freeWrittenGiB)*usdWrittenPerGiB),
			fmt.Sprintf("%.3f USD per GiB beyond %.0f GiB; load jobs are free", usdWrittenPerGiB, freeWrittenGiB))
	}
	var once float64
	for _, statement := range []string{"extent", "bill", "pending", "cost_methods", "last_stats"} {
		once += bytesRead(t, statement)
	}
	week := bytesRead(t, "tails")
	line("BigQuery, `corehour cost` over one day", fmt.Sprintf("%.1f USD", rows*(once+7*week)/(1<<40)*usdReadPerTiB),
		fmt.Sprintf("five queries read %.0f bytes of each row of the day, the sixth %.0f of 7 days; %.2f USD per TiB; `--max-bytes-billed` is the limit", once, week, usdReadPerTiB))
	compareComputed(t, "docs/guides/sizing.md", "sizing", b.String())
}
