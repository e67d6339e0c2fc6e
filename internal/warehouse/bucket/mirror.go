package bucket

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Options of a Mirror.
type Options struct {
	// Address of the bucket, Prefix in it, Directory that is followed.
	Address   string
	Prefix    string
	Directory string
	// LocalBytes bounds the data files in the directory. Uploaded files are evicted, oldest first;
	// at the bound writes fail.
	LocalBytes int64
	// MinFree is the free space of the file system below which uploaded files are evicted.
	MinFree int64
	// Grace is how long objects stay after no commit references them.
	Grace time.Duration
	// Interval is the pause between two uploads.
	Interval time.Duration
	// Abandoned is how old the newest heartbeat of a prefix that was not released must be
	// before it may be taken over; 0 is the lease that the heartbeat names.
	Abandoned time.Duration
	// CloseWithin bounds the last upload.
	CloseWithin time.Duration
	// Scratch means that the directory is deleted afterwards.
	Scratch bool
	// Warn, if not nil, receives warnings of the store's client and warnings about missing objects.
	Warn func(string)
}

// Defaults of Options.
const (
	DefaultLocalBytes = 10 << 30
	DefaultInterval   = 30 * time.Second
	// renew is the time between two heartbeats, sent at the next interval or between two files of an
	// upload. It is shorter than the default interval.
	renew    = 20 * time.Second
	minLease = 2 * time.Minute
)

// lease returns how long the prefix stays ours without a heartbeat: at least two heartbeats can be missed.
func (o *Options) lease() time.Duration { return max(minLease, 4*o.Interval) }

func (o *Options) defaults() {
	o.LocalBytes = cmp.Or(o.LocalBytes, DefaultLocalBytes)
	o.Interval = cmp.Or(o.Interval, DefaultInterval)
	o.Grace = cmp.Or(o.Grace, table.DefaultGrace)
	o.CloseWithin = cmp.Or(o.CloseWithin, 10*time.Second)
}

// Mirror uploads a directory to a prefix and keeps the two in step.
type Mirror struct {
	opts  Options
	store *Store
	lock  *os.File
	loop  sync.WaitGroup
	stop  context.CancelFunc
	early error // the reason why the store could not be asked at the start
	// writer opens the directory's writer if it is not open. It is nil if there is no writer.
	writer func() (*table.Writer, error)

	mu      sync.Mutex // one step at a time
	session string
	marker  marker
	held    bool       // the prefix is ours
	handed  []takeover // from owners before
	// newest is our last commit, made at the time last. beat is held for heartbeats during an upload.
	newest *bucketCommit
	last   time.Time
	beat   sync.Mutex
	// known maps the objects of the prefix to their checksums. doomed maps unreferenced objects to the
	// time since when no commit references them.
	known  map[string]string
	doomed map[string]time.Time
	// committed are the data files that our last commit references.
	committed map[string]bool
	lacking   bool  // objects that the commit references were missing when the prefix became ours
	asOf      int64 // bytes written when the directory's tree was read
	reached   int64 // the newest generation seen in the directory

	pins  pins
	stats stats
	lost  atomic.Pointer[error] // set permanently when another collector has the prefix
}

// Stats are the statistics of a Mirror.
type Stats struct {
	UnsentBytes int64         // of data files that are not in the bucket yet
	Behind      time.Duration // since the oldest write that the bucket does not have
	LocalBytes  int64         // of data files in the directory
	Uploaded    int64         // bytes
	Downloaded  int64         // bytes
	Failures    int64
}

type stats struct {
	local, uploaded, downloaded, failures atomic.Int64
	behind                                atomic.Int64 // Unix ns, 0 if it is not
	written                               atomic.Int64 // bytes since the start
	waiting                               atomic.Pointer[waiting]
}

// waiting is what was not in the bucket when so much had been written.
type waiting struct{ bytes, written int64 }

// unsent returns an upper bound on the bytes that are not in the bucket.
func (s *stats) unsent() int64 {
	var counted waiting
	if w := s.waiting.Load(); w != nil {
		counted = *w
	}
	return counted.bytes + s.written.Load() - counted.written
}

// Stats returns the current statistics. It is safe to call at any time.
func (m *Mirror) Stats() Stats {
	s := Stats{
		UnsentBytes: m.stats.unsent(), LocalBytes: m.stats.local.Load(),
		Uploaded: m.stats.uploaded.Load(), Downloaded: m.stats.downloaded.Load(), Failures: m.stats.failures.Load(),
	}
	if since := m.stats.behind.Load(); since != 0 {
		s.Behind = time.Since(time.Unix(0, since))
	}
	return s
}

// NewMirror brings the directory and the prefix to one state: it downloads the state of the prefix that the
// directory lacks. The directory must not be open for writing. It fails with an error of kind ErrTaken if
// another collector holds the prefix or the directory has rows that the prefix cannot accept, and with
// ErrRefused if the store refuses the requests.
func NewMirror(ctx context.Context, b *Bucket, o Options) (*Mirror, error) {
	return newMirror(ctx, b, o, nil)
}

// newMirror is NewMirror that also rebases rows that only the directory has onto the prefix's state after
// maintenance, by the directory's writer. If the store does not answer and the directory was used before, the
// Mirror tries again when it is started.
func newMirror(ctx context.Context, b *Bucket, o Options, writer func() (*table.Writer, error)) (*Mirror, error) {
	o.defaults()
	if err := CheckPrefix(o.Prefix); err != nil {
		return nil, fmt.Errorf("prefix %w", err)
	}
	if err := os.MkdirAll(filepath.Join(o.Directory, "_manifest"), 0o755); err != nil {
		return nil, &warehouse.Error{Op: "create directory", Path: o.Directory, Err: err, Hint: "the collector's user must be able to create it"}
	}
	lock, err := warehouse.LockFile(o.Directory, "LOCK.bucket", "one directory has one uploader")
	if err != nil {
		return nil, err
	}
	removeUnfinished(o.Directory)
	m := &Mirror{
		opts: o, store: b.Store(o.Prefix), lock: lock, session: rand.Text(), stop: func() {}, writer: writer,
		known: map[string]string{}, doomed: map[string]time.Time{}, committed: map[string]bool{},
	}
	err = m.acquire(ctx)
	if err != nil && !permanent(err) && m.marker.Number > 0 && writer != nil {
		m.early, err = err, m.checkComplete(err)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return m, nil
}

// checkComplete returns nil if the directory has everything its marker lists, so that it can be written to
// before the store answers. Otherwise the error contains cause, the reason why the store does not answer.
func (m *Mirror) checkComplete(cause error) error {
	found, err := readMarker(m.opts.Directory)
	if err != nil {
		return err
	}
	tree, err := m.tree()
	if err != nil {
		return err
	}
	if localGeneration(tree) < found.Generation || found.Imported {
		return cause
	}
	m.marker = *found
	return m.updateLocalStats()
}

// Start starts the uploads. It calls failed with the error when uploads fail, and with nil when they
// succeed again.
func (m *Mirror) Start(failed func(error)) {
	if m.early != nil {
		failed(m.early)
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	m.loop.Go(func() {
		ticker := time.NewTicker(m.opts.Interval)
		defer ticker.Stop()
		failing := m.early != nil
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			err := m.Push(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil || failing {
				failed(err)
			}
			failing = err != nil
		}
	})
}

// Lost returns an error if another collector has taken the prefix over, otherwise nil.
func (m *Mirror) Lost() error {
	if e := m.lost.Load(); e != nil {
		return *e
	}
	return nil
}

// Close uploads the remaining files and releases the prefix. Files that cannot be uploaded stay in
// the directory.
func (m *Mirror) Close() error {
	m.stop()
	m.loop.Wait()
	if m.lock == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.opts.CloseWithin)
	defer cancel()
	err := m.step(ctx, true)
	cerr := m.lock.Close()
	m.lock = nil
	if err != nil && !errors.Is(err, errReplaced) {
		return fmt.Errorf("%w; %d bytes of rows wait in %q for the next start", err, m.stats.unsent(), m.opts.Directory)
	}
	return errors.Join(err, cerr)
}

// Address returns the address of the prefix for messages.
func (m *Mirror) Address() string { return m.store.Address() }
