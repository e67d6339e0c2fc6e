package configfile

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// Interval is the time between two reads of a file. The content is compared, not the time of
// change: a copy may preserve the time, and a quick second write may not alter it.
const Interval = 5 * time.Second

// Live holds the current value of a file that may change.
type Live[T any] struct {
	source   Source[T]
	log      *zap.Logger
	reloaded func(applied bool)

	value atomic.Pointer[T]
	sum   [sha256.Size]byte // of the content parsed last
	next  [sha256.Size]byte // of another content, read once
	fault string            // the last read error, which is logged once

	start, end sync.Once
	stop       chan struct{}
	done       sync.WaitGroup
}

// NewLive returns a Live without reading the file. It calls reloaded after every change, with
// whether the change was applied or refused because of its faults.
func NewLive[T any](source Source[T], log *zap.Logger, reloaded func(applied bool)) *Live[T] {
	return &Live[T]{source: source, log: log, reloaded: reloaded, stop: make(chan struct{})}
}

// Start reads the file, logs its warnings and begins to follow it.
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

// Shutdown stops following the file; Get still returns the last value. It may be called twice,
// or without Start.
func (l *Live[T]) Shutdown() {
	l.end.Do(func() { close(l.stop) })
	l.done.Wait()
}

// Get returns the current value, nil before Start.
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

// reload reads the file again. A faulty change is logged once and has no effect.
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
	if sum != l.next { // the file may still be being written: wait for two equal reads
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
	l.log.Error("file changed and is faulty: its previous content stays in force", zap.Error(err))
	l.reloaded(false)
}
