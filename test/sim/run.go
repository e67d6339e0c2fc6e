package sim

import (
	"runtime"
	"sync"
)

// Count draws deployments and evaluates each with all kinds. It calls progress after each deployment, from one
// goroutine at a time.
func Count(p Plan, seed uint64, deployments int, kinds []Kind, progress func(done int)) []Score {
	results := make([][]Score, deployments)
	done := 0
	var mutex sync.Mutex
	parallel(deployments, func() func(int) {
		var memory *Deployment
		return func(run int) {
			memory = Draw(p, seed, uint64(run), memory)
			scores := make([]Score, len(kinds))
			for k, kind := range kinds {
				scores[k] = watch(kind, memory)
			}
			mutex.Lock()
			defer mutex.Unlock()
			results[run] = scores
			done++
			if progress != nil {
				progress(done)
			}
		}
	})
	total := make([]Score, len(kinds))
	for _, scores := range results {
		for k := range scores {
			total[k].merge(scores[k])
		}
	}
	return total
}

// parallel runs 0..n-1 on one worker per processor. Every worker has its own function, created by worker.
func parallel(n int, worker func() func(int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			work := worker()
			for i := range next {
				work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
