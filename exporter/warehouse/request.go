package warehouse

import (
	"context"
	"errors"
	"strconv"
	"unsafe"

	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// request is what the queue holds: items, counted in rows.
type request struct {
	items []methodspan.Item
	rows  int
}

func newRequest(items ...methodspan.Item) *request {
	r := &request{items: items}
	for i := range items {
		r.rows += len(items[i].Rows)
	}
	return r
}

func (r *request) ItemsCount() int { return r.rows }

// BytesSize returns the approximate memory of the rows without their strings, most of which are shared.
func (r *request) BytesSize() int { return r.rows * int(unsafe.Sizeof(methodspan.Row{})) }

// MergeSplit only merges. An item is stored and recognized as a whole, so it is never split once queued.
func (r *request) MergeSplit(_ context.Context, _ int, _ exporterhelper.RequestSizerType, other xexporterhelper.Request) ([]xexporterhelper.Request, error) {
	if other != nil {
		o, ok := other.(*request)
		if !ok {
			return nil, errors.New("can't merge requests of different exporters")
		}
		r.items = append(r.items, o.items...)
		r.rows += o.rows
	}
	return []xexporterhelper.Request{r}, nil
}

// partsPerQueue is how many of the largest requests fit into the queue.
const partsPerQueue = 8

// partSize returns the maximum number of rows of a request. It is a fraction of the queue's size, so that an
// item in several requests is accepted at least in part when the queue has little room.
func partSize(queueSize int64) int { return int(max(1, queueSize/partsPerQueue)) }

// split parts items into requests of at most size rows. An item that is larger
// is cut into items of its own, whose ids follow from its id and from size, so
// that they are the same if it is sent again.
func split(items []methodspan.Item, size int) []*request {
	var requests []*request
	current := &request{}
	for _, item := range items {
		for _, part := range cut(item, size) {
			if current.rows > 0 && current.rows+len(part.Rows) > size {
				requests = append(requests, current)
				current = &request{}
			}
			current.items = append(current.items, part)
			current.rows += len(part.Rows)
		}
	}
	if len(current.items) > 0 {
		requests = append(requests, current)
	}
	return requests
}

func cut(item methodspan.Item, size int) []methodspan.Item {
	if len(item.Rows) <= size {
		return []methodspan.Item{item}
	}
	var parts []methodspan.Item
	for rows := item.Rows; len(rows) > 0; {
		n := min(size, len(rows))
		part := methodspan.Item{ID: item.ID + "/" + strconv.Itoa(len(parts)), Rows: rows[:n:n]}
		for i := range part.Rows {
			part.Rows[i].BatchID = part.ID
		}
		parts = append(parts, part)
		rows = rows[n:]
	}
	return parts
}

// carrier carries a request through the helper, which accepts traces only.
type carrier struct{ request *request }

type carrierKey struct{}

func withRequest(ctx context.Context, r *request) context.Context {
	return context.WithValue(ctx, carrierKey{}, &carrier{r})
}

// takeRequest is the helper's converter. It empties the carrier, because the
// queue keeps the context for longer than the request.
func takeRequest(ctx context.Context, _ ptrace.Traces) (xexporterhelper.Request, error) {
	c, ok := ctx.Value(carrierKey{}).(*carrier)
	if !ok || c.request == nil {
		return nil, errors.New("no request in the context")
	}
	r := c.request
	c.request = nil
	return r, nil
}
