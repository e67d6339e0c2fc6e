package configfile

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// Interval is how often a file is looked at. Its content is compared, not its
// time of change, which a copy may preserve and a quick second write may not
// alter.
const Interval = 5 * time.Second

// Live is what a file says, while the file changes.
type Live[T any] struct {
	source   Source[T]
	log      *zap.Logger
	reloaded func(applied bool)

	value atomic.Pointer[T]
	sum   [sha256.Size]byte // of the content that was last judged
	next  [sha256.Size]byte // of another content, seen once
	fault string            // why it could not be read, said once

	start, end sync.Once
	stop       chan struct{}
	done       sync.WaitGroup
}

// NewLive touches nothing. reloaded hears of every change: whether it was
// applied, or refused because of its faults.
func NewLive[T any](source Source[T], log *zap.Logger, reloaded func(applied bool)) *Live[T] {
	return &Live[T]{source: source, log: log, reloaded: reloaded, stop: make(chan struct{})}
}

// Start reads the file, logs its warnings and follows it from then on.
func (l *Live[T]) Start() error {
	var err error
	l.start.Do(func() { err = l.begin() })
	return err
}

func (l *Live[T]) begin() error {
	data, err := l.source.read()
	if err != nil {
		return err
	}
	value, warnings, err := l.source.parse(data)
	if err != nil {
		return err
	}
	Log(l.log, l.source.Path, warnings)
	l.sum = sha256.Sum256(data)
	l.value.Store(&value)
	l.done.Go(l.follow)
	return nil
}

// Shutdown stops following; what was read stays. It may come twice, or without
// a start.
func (l *Live[T]) Shutdown() {
	l.end.Do(func() { close(l.stop) })
	l.done.Wait()
}

// Get is what the file said last, nil before Start.
func (l *Live[T]) Get() *T { return l.value.Load() }

func (l *Live[T]) follow() {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
			l.reload()
		}
	}
}

// reload reads the file again. A change that is no good is said once and changes
// nothing.
func (l *Live[T]) reload() {
	data, err := l.source.read()
	if err != nil {
		if err.Error() != l.fault {
			l.fault = err.Error()
			l.refuse(err)
		}
		return
	}
	l.fault = ""
	sum := sha256.Sum256(data)
	if sum == l.sum {
		return
	}
	if sum != l.next { // perhaps still being written: wait until it stays the same
		l.next = sum
		return
	}
	l.sum = sum
	value, warnings, err := l.source.parse(data)
	if err != nil {
		l.refuse(err)
		return
	}
	Log(l.log, l.source.Path, warnings)
	l.value.Store(&value)
	l.log.Info("file reloaded", zap.String("file", l.source.Path), zap.Int("faults", len(warnings)))
	l.reloaded(true)
}

func (l *Live[T]) refuse(err error) {
	l.log.Error("file changed and is faulty: what it said before stays in force", zap.Error(err))
	l.reloaded(false)
}
