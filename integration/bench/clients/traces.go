package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/corehour/corehour/integration/harness"
	"github.com/corehour/corehour/integration/spangen"
	"github.com/corehour/corehour/test/figures"
)

const (
	tracesPerMinute = 1_000_000
	// tracesFor is long enough for the table to overflow twice.
	tracesFor = 30 * time.Second
	// mostTraces is the table's bound in docs/reference/bounds.md. TestTraces_Bounded measures it
	// in bytes.
	mostTraces = 2 * 131072
)

// traceTable holds figures of the receiver's table of traces.
type traceTable struct{ sent, most, left, forgotten float64 }

func (t *traceTable) addFigures(r *figures.Run) {
	r.Add("1 million traces a minute: traces remembered at most", t.most, "traces", figures.Lower, figures.Goal(mostTraces))
	r.Add("1 million traces a minute: neither remembered nor counted as forgotten", t.sent-t.left-t.forgotten, "traces", figures.Lower, figures.Goal(0))
}

// fillTraces sends a million traces a minute and watches the table.
func fillTraces(ctx context.Context, bin, dir string) (*traceTable, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	// Only the receiver's table matters, not the stored rows.
	c, err := harness.NewCollector(filepath.Join(bin, harness.CollectorBinary), dir, "", "processors: {adaptive_sampler: {default_rate: 0.001}}")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient(c.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	client := ptraceotlp.NewGRPCClient(connection)

	const perRequest = 1000
	r := rand.New(rand.NewPCG(22, 6))
	request := ptraceotlp.NewExportRequestFromTraces(spangen.Foreign(r, "many", perRequest, 1))
	table := new(traceTable)
	begin := time.Now()
	for n := 0; time.Since(begin) < tracesFor; n++ {
		due := begin.Add(time.Duration(n*perRequest) * time.Minute / tracesPerMinute)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Until(due)):
		}
		spangen.Redraw(request.Traces(), r, 1)
		if _, err := client.Export(ctx, request); err != nil {
			return nil, err
		}
		table.sent += perRequest
		if n%100 != 99 {
			continue
		}
		if err := table.read(ctx, c); err != nil {
			return nil, err
		}
	}
	if least := 0.95 * tracesPerMinute * tracesFor.Minutes(); table.sent < least {
		return nil, fmt.Errorf("sent were %.0f traces in %s, wanted are %.0f", table.sent, tracesFor, least)
	}
	return table, table.read(ctx, c)
}

// read reads the collector's own metrics.
func (t *traceTable) read(ctx context.Context, c *harness.Collector) error {
	m, err := c.Scrape(ctx)
	t.left = m.Sum("otelcol_receiver_method_spans_table_size", "table", "traces")
	t.forgotten = m.Sum("otelcol_receiver_method_spans_overflow", "table", "traces")
	t.most = max(t.most, t.left)
	return err
}
