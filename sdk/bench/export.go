package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/corehour/corehour/sdk"
	"github.com/corehour/corehour/test/figures"
)

// sink is a collector that reads and discards. Its own CPU is part of both figures.
type sink struct {
	*httptest.Server
	bytes atomic.Int64
}

func newSink() *sink {
	s := &sink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err == nil {
			s.bytes.Add(n)
		}
	}))
	return s
}

const (
	recordsPerBatch = 1024
	patience        = 3 * time.Minute
)

// export measures the CPU of the process per record, from the timed call to the
// collector's answer, compared with the batch processor and exporter of OpenTelemetry.
func export(report *figures.Run, s *sink, spans int) error {
	spans -= spans % recordsPerBatch // the rest of a batch would wait for its time
	mine, bytes, err := exportOurs(s, wall, spans)
	if err != nil {
		return err
	}
	cpuCost, _, err := exportOurs(s, cpu, spans)
	if err != nil {
		return err
	}
	fullCost, _, err := exportOurs(s, cpuCaller, spans)
	if err != nil {
		return err
	}
	theirs, theirBytes, err := exportTheirs(s, spans)
	if err != nil {
		return err
	}
	report.Add("export of a record, from call to answer", mine, "us CPU", figures.Lower, figures.Goal(3))
	report.Compare("export compared with otel", mine, "us CPU", "otel batch + OTLP/HTTP", theirs, figures.Lower, figures.Goal(0.5))
	report.Compare("the same with wall and CPU at rate 1", cpuCost, "us CPU", "otel always, to the answer", theirs, figures.Lower, figures.Goal(1))
	report.Compare("the same with wall, CPU and caller at rate 1", fullCost, "us CPU", "otel always, to the answer", theirs, figures.Lower, figures.Goal(1))
	report.Compare("bytes of a record, gzip", bytes, "B", "otel, no attributes", theirBytes, figures.Lower, nil)
	return nil
}

func exportOurs(s *sink, probed func(int) int, spans int) (us, bytes float64, err error) {
	deadline := time.Now().Add(patience)
	for corehour.Stats().QueueLength > 0 { // waits for the next flush
		if time.Now().After(deadline) {
			return 0, 0, errors.New("the queue does not become empty")
		}
		time.Sleep(time.Millisecond)
	}
	before, cpuBefore, bytesBefore := corehour.Stats(), processCPU(), s.bytes.Load()
	for done := 0; done < spans; done += recordsPerBatch {
		loop(probed)(recordsPerBatch)
		for corehour.Stats().QueueLength > 4*recordsPerBatch {
			time.Sleep(time.Millisecond)
		}
	}
	for corehour.Stats().Sent < before.Sent+int64(spans) {
		if time.Now().After(deadline) {
			return 0, 0, fmt.Errorf("%d of %d records sent", corehour.Stats().Sent-before.Sent, spans)
		}
		time.Sleep(time.Millisecond)
	}
	used := processCPU() - cpuBefore
	return used.Seconds() * 1e6 / float64(spans), float64(s.bytes.Load()-bytesBefore) / float64(spans), nil
}

func exportTheirs(s *sink, spans int) (us, bytes float64, err error) {
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(s.URL+"/v1/traces"), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	if err != nil {
		return 0, 0, err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter,
		sdktrace.WithMaxQueueSize(1<<16), sdktrace.WithMaxExportBatchSize(recordsPerBatch), sdktrace.WithBlocking()))
	tracer := provider.Tracer("bench")
	cpuBefore, bytesBefore := processCPU(), s.bytes.Load()
	loop(func(x int) int { return spanned(ctx, tracer, x) })(spans)
	if err := provider.ForceFlush(ctx); err != nil {
		return 0, 0, err
	}
	used := processCPU() - cpuBefore
	bytes = float64(s.bytes.Load()-bytesBefore) / float64(spans)
	return used.Seconds() * 1e6 / float64(spans), bytes, provider.Shutdown(ctx)
}
