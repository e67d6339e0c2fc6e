package bigquery

import (
	"os"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/corehour/corehour/internal/methodspan"
)

// synced is how much of a file a crash of the machine leaves, by its path.
var synced sync.Map

// Tests do not wait for the disk; they note what would be on it.
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

// afterSync is called for every file that is on disk.
var afterSync func(*os.File)

// FillAfterIntent makes the disk full for the journal once the next intent is in it,
// until the function that it gives is called.
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

// FillDisk makes the disk full for the journal, until the function that it gives is
// called.
func (l *Loader) FillDisk() (mend func() error) {
	path := l.book.file.Name()
	_ = l.book.file.Close()
	return func() (err error) {
		l.book.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		return err
	}
}

// Compact does what a Write does now and then.
func (l *Loader) Compact() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.compact()
}

// Small makes the bounds of a writer small, for tests.
func (o *Options) Small(requestBytes int, answerWithin time.Duration) {
	o.requestBytes, o.answerWithin, o.firstPause = requestBytes, answerWithin, time.Microsecond
}

// Within bounds each request, and returns the bound before.
func (q *Querier) Within(d time.Duration) (before time.Duration) {
	before, q.rest.client.Timeout = q.rest.client.Timeout, d
	return before
}

// Abandon lets go of everything as a crash does: nothing is finished.
func (w *Writer) Abandon() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.release()
}

// NewEncoder is for the benchmark.
func NewEncoder() *encoder { return &encoder{} }

// AppendRow is for the benchmark.
func (e *encoder) AppendRow(dst []byte, r *methodspan.Row) []byte { return e.appendRow(dst, r) }

// Row is the fields of one row alone.
func (e *encoder) Row(r *methodspan.Row) []byte { return e.appendFields(nil, r) }

// Descriptor is the rows' descriptor with the names of nested types resolved.
func Descriptor() *descriptorpb.DescriptorProto {
	d := proto.CloneOf(descriptor())
	for _, f := range d.GetField() {
		if f.TypeName != nil {
			f.TypeName = proto.String("." + d.GetName() + "." + f.GetTypeName())
		}
	}
	return d
}

// ByHand leaves it to the test to make rounds; step is given what was just done.
func (o *LoadOptions) ByHand(step func(what string)) {
	o.byHand, o.step = true, step
	o.pollEvery, o.retryAfter = time.Millisecond, time.Millisecond
}

// FreeIs says in the place of the file system what it has left.
func (o *LoadOptions) FreeIs(free func() int64) {
	o.free = func(string) (int64, bool) { return free(), true }
}

// Quick makes the pauses short.
func (o *LoadOptions) Quick() { o.pollEvery, o.retryAfter = time.Millisecond, time.Millisecond }

// Abandon lets go of everything as a crash does. Of what was not made durable the
// journal loses all behind the first keep bytes.
func (l *Loader) Abandon(keep func(unsynced int64) int64) error {
	l.stop()
	l.running.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.book == nil || l.book.file == nil {
		return nil
	}
	path, durable := l.book.file.Name(), int64(0)
	if size, ok := synced.Load(path); ok {
		durable = min(size.(int64), l.book.size)
	}
	at := durable + keep(l.book.size-durable)
	if at < l.book.size {
		if err := l.book.file.Truncate(at); err != nil {
			return err
		}
	}
	synced.Store(path, at) // what is left is what the disk held
	return l.release()
}

// CloseAtOnce makes Close leave the spool as it is.
func (o *LoadOptions) CloseAtOnce() { o.closeWithin = time.Nanosecond }
