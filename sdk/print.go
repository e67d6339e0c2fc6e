package corehour

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/export"
	"github.com/corehour/corehour/sdk/internal/messagelog"
)

// print writes a request as text, a line per span. A write that failed may have been written in
// part.
func (e *engine) print(r *request) (export.Outcome, error) {
	w := bufio.NewWriter(e.writer)
	for i := range r.records {
		printCall(w, &r.records[i], e.unix(r.records[i].start))
	}
	for _, c := range r.cells {
		fmt.Fprintf(w, "corehour aggregate %s method=%s caller=%s measured=%d errors=%d wall=%s max=%s cpu_measured=%d cpu=%s p=%g cpu_p=%g\n",
			clock(c.first), messagelog.Printable(c.method.owner.Name), callerText(c.caller), c.wall.n, c.errors,
			time.Duration(c.wall.total), time.Duration(c.wall.max), c.cpu.n, time.Duration(c.cpu.total), c.p, c.cpuP)
	}
	for _, iv := range r.intervals {
		for i, m := range iv.methods {
			fmt.Fprintf(w, "corehour counts %s method=%s calls=%d\n", clock(iv.end), messagelog.Printable(m.owner.Name), iv.calls[i])
		}
		fmt.Fprintf(w, "corehour process %s cpu=%s final=%t recorded=%d dropped=%d folded=%d\n",
			clock(iv.end), time.Duration(iv.cpu), iv.final, r.stats.Recorded, r.stats.Dropped, r.stats.Folded)
	}
	if err := w.Flush(); err != nil {
		return export.Unknown, err
	}
	return export.Accepted, nil
}

func printCall(w io.Writer, r *record, start int64) {
	fmt.Fprintf(w, "corehour call %s method=%s caller=%s wall=%s", clock(start), messagelog.Printable(r.plan.method.owner.Name), callerText(r.caller), time.Duration(r.wall))
	if r.state == cpuExact {
		fmt.Fprintf(w, " cpu=%s", time.Duration(r.cpu))
	} else {
		fmt.Fprintf(w, " cpu=%s", r.state)
	}
	fmt.Fprintf(w, " p=%g cpu_p=%g failed=%t tail=%t", r.p(), r.cpuP(), r.failed, r.tail)
	if r.extra != nil && r.extra.stack != "" {
		fmt.Fprintf(w, " stack=%s", messagelog.Printable(r.extra.stack))
	}
	fmt.Fprintln(w)
}

func callerText(caller *callers.Owner) string {
	if caller == nil {
		return "unknown"
	}
	return messagelog.Printable(caller.Name)
}

func clock(unix int64) string { return time.Unix(0, unix).UTC().Format(time.RFC3339Nano) }
