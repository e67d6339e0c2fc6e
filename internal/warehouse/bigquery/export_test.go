package bigquery

import (
	"os"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/corehour/corehour/internal/methodspan"
)

// synced maps the path of a file to its size at its last sync, which a crash of the machine leaves.
var synced sync.Map

// Tests do not wait for the disk. They record the size of a file that would be on it.
func init() {
	syncFile = func(f *os.File) error {
		info, err := f.Stat()
		if err == nil {
			synced.Store(f.Name(), info.Size())
		}
		if afterSync != nil {
			afterSync(f)
		}
		return err
	}
}

// afterSync, if not nil, is called after each sync of a file.
var afterSync func(*os.File)

// FillAfterIntent makes writes to the journal fail after the next intent, until mend is called.
func (w *Writer) FillAfterIntent() (mend func() error) {
	afterSync = func(f *os.File) {
		if f == w.journal.file {
			afterSync = nil
			_ = f.Close()
		}
	}
	return func() (err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.journal.file, err = os.OpenFile(w.journal.file.Name(), os.O_WRONLY|os.O_APPEND, 0)
		return err
	}
}

// FillDisk makes writes to the journal fail until mend is called.
func (l *Loader) FillDisk() (mend func() error) {
	path := l.journal.file.Name()
	_ = l.journal.file.Close()
	return func() (err error) {
		l.journal.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		return err
	}
}

// Compact compacts the journal, as a Write sometimes does.
func (l *Loader) Compact() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.journal.compact()
}

// Small sets small bounds for tests.
func (o *Options) Small(requestBytes int, answerWithin time.Duration) {
	o.requestBytes, o.answerWithin, o.firstPause = requestBytes, answerWithin, time.Microsecond
}

// Within sets the time limit of a request and returns the earlier one.
func (q *Querier) Within(d time.Duration) (before time.Duration) {
	before, q.rest.client.Timeout = q.rest.client.Timeout, d
	return before
}

// Abandon releases everything without finishing it, like a crash.
func (w *Writer) Abandon() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.release()
}

// NewEncoder returns an encoder for the benchmark.
func NewEncoder() *encoder { return &encoder{} }

// AppendRow exposes appendRow to the benchmark.
func (e *encoder) AppendRow(dst []byte, r *methodspan.Row) []byte { return e.appendRow(dst, r) }

// Row returns the encoded fields of one row.
func (e *encoder) Row(r *methodspan.Row) []byte { return e.appendFields(nil, r) }

// Descriptor returns the descriptor of rows with the names of nested types resolved.
func Descriptor() *descriptorpb.DescriptorProto {
	d := proto.CloneOf(descriptor())
	for _, f := range d.GetField() {
		if f.TypeName != nil {
			f.TypeName = proto.String("." + d.GetName() + "." + f.GetTypeName())
		}
	}
	return d
}

// ByHand leaves rounds to the test. step is called after each step with its name.
func (o *LoadOptions) ByHand(step func(what string)) {
	o.byHand, o.step = true, step
	o.pollEvery, o.retryAfter = time.Millisecond, time.Millisecond
}

// FreeIs replaces the free space of the file system by free.
func (o *LoadOptions) FreeIs(free func() int64) {
	o.free = func(string) (int64, bool) { return free(), true }
}

// Quick shortens the pauses.
func (o *LoadOptions) Quick() { o.pollEvery, o.retryAfter = time.Millisecond, time.Millisecond }

// Abandon releases everything like a crash. The journal keeps its synced bytes and keep(n) of the n
// bytes behind them.
func (l *Loader) Abandon(keep func(unsynced int64) int64) error {
	l.stop()
	l.running.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.journal == nil || l.journal.file == nil {
		return nil
	}
	path, durable := l.journal.file.Name(), int64(0)
	if size, ok := synced.Load(path); ok {
		durable = min(size.(int64), l.journal.size)
	}
	at := durable + keep(l.journal.size-durable)
	if at < l.journal.size {
		if err := l.journal.file.Truncate(at); err != nil {
			return err
		}
	}
	synced.Store(path, at) // the rest is on disk now
	return l.release()
}

// CloseAtOnce makes Close leave the spool unchanged.
func (o *LoadOptions) CloseAtOnce() { o.closeWithin = time.Nanosecond }
