package warehouse

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"runtime/debug"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"
)

// guardedStorage guards the storage of a persistent queue against damage. The helper trusts what it reads, and
// the library of file_storage panics. Values carry a checksum, the queue's metadata is stored twice, and a
// panic becomes an error.
type guardedStorage struct {
	storage.Extension
	logger  *zap.Logger
	damaged func()
}

// queueMetadata is the key under which the helper stores the positions of the queue.
const (
	queueMetadata     = "qmv0"
	queueMetadataCopy = queueMetadata + "-copy"
)

// guardedHost is a host whose storage extension is guarded.
type guardedHost struct {
	component.Host
	id    component.ID
	guard *guardedStorage
}

func (h guardedHost) GetExtensions() map[component.ID]component.Component {
	extensions := maps.Clone(h.Host.GetExtensions())
	extensions[h.id] = h.guard
	return extensions
}

// guardQueue returns a host with a guarded storage of the queue.
func (w *warehouseExporter) guardQueue(host component.Host) component.Host {
	if w.cfg.Queue.StorageID == nil {
		return host
	}
	s, ok := host.GetExtensions()[*w.cfg.Queue.StorageID].(storage.Extension)
	if !ok {
		return host // the helper names the fault
	}
	return guardedHost{host, *w.cfg.Queue.StorageID, &guardedStorage{s, w.logger, w.telemetry.damaged}}
}

// GetClient opens a guarded storage.
func (q *guardedStorage) GetClient(ctx context.Context, kind component.Kind, id component.ID, name string) (storage.Client, error) {
	c := &guardedClient{queue: q, unwritten: map[string]bool{}}
	err := c.guard(func() (err error) {
		c.inner, err = q.Extension.GetClient(ctx, kind, id, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

var errPanic = errors.New("the stored queue is damaged")

// guardedClient adds a checksum to each value.
type guardedClient struct {
	queue *guardedStorage
	inner storage.Client

	mu        sync.Mutex
	unwritten map[string]bool // keys that the storage refused: the helper asks for them all the same
}

// guard turns a panic of do into an error, and so a fault of the memory that a truncated file is mapped to.
func (c *guardedClient) guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v", errPanic, fault)
		}
	}()
	return do()
}

// Get returns a value; nil if there is none or it is damaged.
func (c *guardedClient) Get(ctx context.Context, key string) ([]byte, error) {
	op := storage.GetOperation(key)
	err := c.Batch(ctx, op)
	return op.Value, err
}

// Set stores a value.
func (c *guardedClient) Set(ctx context.Context, key string, value []byte) error {
	return c.Batch(ctx, storage.SetOperation(key, value))
}

// Delete deletes a value.
func (c *guardedClient) Delete(ctx context.Context, key string) error {
	return c.Batch(ctx, storage.DeleteOperation(key))
}

// Close closes the storage.
func (c *guardedClient) Close(ctx context.Context) error {
	return c.guard(func() error { return c.inner.Close(ctx) })
}

// Batch does operations in one transaction.
func (c *guardedClient) Batch(ctx context.Context, ops ...*storage.Operation) error {
	inner := make([]*storage.Operation, 0, len(ops)+1)
	for _, op := range ops {
		switch op.Type {
		case storage.Set:
			inner = append(inner, storage.SetOperation(op.Key, withChecksum(op.Key, op.Value)))
			if op.Key == queueMetadata {
				inner = append(inner, storage.SetOperation(queueMetadataCopy, withChecksum(op.Key, op.Value)))
			}
		case storage.Get:
			inner = append(inner, storage.GetOperation(op.Key))
			if op.Key == queueMetadata {
				inner = append(inner, storage.GetOperation(queueMetadataCopy))
			}
		default:
			inner = append(inner, op)
		}
	}
	err := c.guard(func() error { return c.inner.Batch(ctx, inner...) })
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, op := range ops {
		got := inner[0]
		inner = inner[1:]
		var other *storage.Operation
		if op.Key == queueMetadata && op.Type != storage.Delete {
			other, inner = inner[0], inner[1:]
		}
		switch {
		case op.Type == storage.Set && err != nil:
			c.unwritten[op.Key] = true
		case op.Type == storage.Set:
			delete(c.unwritten, op.Key)
		case op.Type == storage.Get:
			op.Value = c.checked(op.Key, got, other, err)
		}
	}
	return err
}

// checked returns the value of an operation, or of its copy; nil if both are damaged or missing.
func (c *guardedClient) checked(key string, got, other *storage.Operation, failure error) []byte {
	value, ok := withoutChecksum(key, got.Value)
	if !ok && other != nil {
		value, ok = withoutChecksum(key, other.Value)
	}
	refused := c.unwritten[key]
	delete(c.unwritten, key)
	switch {
	case ok && failure == nil:
		return value
	case refused || got.Value == nil && failure == nil && !isRequest(key):
		return nil
	}
	c.queue.damaged()
	c.queue.logger.Error("A request of the stored queue is damaged or missing; its rows are lost.", zap.String("key", key), zap.Error(failure))
	return nil
}

// isRequest reports whether a key is the number of a request. The other keys are missing in a new queue.
func isRequest(key string) bool { return key != "" && strings.Trim(key, "0123456789") == "" }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// withChecksum returns a value with a checksum of it and its key, so that values can't change places.
func withChecksum(key string, value []byte) []byte {
	out := make([]byte, 0, len(value)+crc32.Size)
	return binary.LittleEndian.AppendUint32(append(out, value...), checksumOf(key, value))
}

func withoutChecksum(key string, stored []byte) (value []byte, ok bool) {
	n := len(stored) - crc32.Size
	if n < 0 {
		return nil, false
	}
	return stored[:n:n], binary.LittleEndian.Uint32(stored[n:]) == checksumOf(key, stored[:n])
}

func checksumOf(key string, value []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, value)
}
