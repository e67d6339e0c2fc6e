// Program threads makes calls that hold their threads, where it may have few of them,
// and prints what became of the CPU slots.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	corehour "github.com/corehour/corehour/sdk"
)

// ways are what the program may do; all calls have their CPU timed if that can be had.
var ways = map[string]func(){
	// A call ends on another goroutine than it began on, which lives on.
	"elsewhere": func() {
		strayed := corehour.NewMethod("strayed.Method")
		quit := make(chan struct{})
		var living sync.WaitGroup
		for range 400 {
			ended := make(chan struct{})
			living.Go(func() {
				call := strayed.Begin()
				go func() {
					call.End()
					close(ended)
				}()
				<-quit
			})
			<-ended
		}
		close(quit)
		living.Wait()
	},
	// Calls of many methods wait at the same time.
	"waiting": func() {
		var living sync.WaitGroup
		for i := range 8 {
			m := corehour.NewMethod("waiting.Method" + strconv.Itoa(i))
			for range 50 {
				living.Go(func() {
					defer m.Begin().End()
					time.Sleep(300 * time.Millisecond)
				})
			}
		}
		living.Wait()
	},
}

// main takes how many threads the program may have, and ways.
func main() {
	threads, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	debug.SetMaxThreads(threads)
	for _, way := range os.Args[2:] {
		shutdown, err := corehour.Start(context.Background(), corehour.WithSample(1), corehour.WithWriter(io.Discard))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		ways[way]()
		if err := shutdown(context.Background()); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		s := corehour.Stats()
		fmt.Printf("%s: held=%d lost=%d\n", way, s.CPUSlotsHeld, s.CPUSlotsLost)
	}
}
