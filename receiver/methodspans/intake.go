package methodspans

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/shares"
)

// intake processes requests between the server and the pipeline: it drops duplicate batches
// and normalises the rest.
type intake struct {
	next       consumer.Traces
	batches    *batches
	normalizer *normalizer
	telemetry  *telemetry
	passes     sync.Pool // of *pass
}

func newIntake(config *Config, set component.TelemetrySettings, next consumer.Traces) (*intake, error) {
	batches := newBatches(config.Limits.MaxInstances, config.Limits.RememberedBatches)
	normalizer := newNormalizer(config, time.Now)
	telemetry, err := newTelemetry(set, normalizer, batches)
	if err != nil {
		return nil, err
	}
	return &intake{
		next:       next,
		batches:    batches,
		normalizer: normalizer,
		telemetry:  telemetry,
		passes:     sync.Pool{New: func() any { return newRequestPass() }},
	}, nil
}

// Capabilities reports that intake changes spans in place.
func (*intake) Capabilities() consumer.Capabilities { return consumer.Capabilities{MutatesData: true} }

// ConsumeTraces processes one request. It remembers the batch numbers when the pipeline has
// accepted the request. After a failure it forgets them, so that the sender's retry passes.
func (in *intake) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	p := in.passes.Get().(*requestPass)
	p.peer, p.sender = peerOf(ctx), shares.SenderOf(ctx)
	// Before claim: batches are identified by their resources.
	in.normalizer.repairResources(td, &p.requestCounts)
	nameProcesses(td)
	claim, err := in.batches.claim(ctx, td, p.sender, &p.requestCounts)
	if err != nil {
		in.release(p)
		return err // the sender's context ended; the sender retries
	}
	accepted := false
	defer func() { in.telemetry.evicted(ctx, in.batches.release(claim, accepted)) }()

	claim.removeDuplicates(td)
	in.normalizer.normalize(td, p)
	in.telemetry.record(ctx, &p.requestCounts)
	p.requestCounts.reportDropped(ctx)
	in.release(p)

	if td.ResourceSpans().Len() == 0 {
		accepted = true
		return nil
	}
	err = in.next.ConsumeTraces(ctx, td)
	accepted = err == nil
	return err
}

// release returns the scratch space before the pipeline runs, which can block.
func (in *intake) release(p *requestPass) {
	p.reset()
	in.passes.Put(p)
}

func (in *intake) shutdown() { in.telemetry.shutdown() }
