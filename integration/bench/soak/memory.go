package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// memoryWatch records the resident memory of a process every second.
type memoryWatch struct {
	pid     int
	began   time.Time
	samples []float64 // MiB
	err     error
	stop    chan struct{}
	done    chan struct{}
}

// memory is in MiB. The quarters exclude the first tenth, in which buffers grow. Each quarter is
// represented by its mean: memory is higher while files are merged, about half of the time, so a
// median could fall into either half.
type memory struct{ first, last, peak float64 }

const reports = 10

func watchMemory(pid int) *memoryWatch {
	w := &memoryWatch{pid: pid, began: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	go w.sample()
	return w
}

func (w *memoryWatch) sample() {
	defer close(w.done)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
			bytes, err := harness.MemoryOf(w.pid)
			if err != nil {
				w.err = err
				return
			}
			w.samples = append(w.samples, float64(bytes)/(1<<20))
		}
	}
}

// end stops the watch and prints the memory over time.
func (w *memoryWatch) end() (memory, error) {
	close(w.stop)
	<-w.done
	if w.err != nil {
		return memory{}, w.err
	}
	if len(w.samples) < 2*reports {
		return memory{}, errors.New("there are too few samples of the memory")
	}
	for i := range reports {
		part := w.samples[i*len(w.samples)/reports : (i+1)*len(w.samples)/reports]
		fmt.Fprintf(os.Stderr, "after %3.0f%%: %4.0f MiB resident in the mean, %4.0f at the peak\n", 100*float64(i+1)/reports, mean(part), slices.MaxFunc(part, cmp.Compare))
	}
	warm := w.samples[len(w.samples)/10:]
	quarter := len(warm) / 4
	return memory{first: mean(warm[:quarter]), last: mean(warm[len(warm)-quarter:]), peak: slices.Max(w.samples)}, nil
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
