// Package calls makes calls of one method. The environment configures the SDK.
package calls

import (
	"context"
	"log"
	"os"
	"time"

	corehour "github.com/corehour/corehour/sdk"
)

var (
	call  = corehour.NewMethod("work.Call")
	works = corehour.NewMethod("work.Works")
	waits = corehour.NewMethod("work.Waits")
)

// Pauses is the number of pauses of a call that waits.
const Pauses = 4

// WorkAndWait makes n calls of either method. Both do the same work.
func WorkAndWait(n int) {
	for range n {
		work(works, 0)
		work(waits, 100*time.Microsecond)
	}
}

func work(m *corehour.Method, pause time.Duration) {
	defer m.Begin().End()
	for range Pauses {
		spin()
		if pause > 0 {
			time.Sleep(pause)
		}
	}
}

var seed = uint64(1)

// spin makes a call work for longer than the uncertainty of the cost of its waits, which is 1.6
// times their cost. Otherwise the method would have no figure.
//
//go:noinline
func spin() {
	for range 60_000 {
		seed = seed*6364136223846793005 + 1442695040888963407
	}
}

// Make makes n calls.
func Make(n int) {
	for range n {
		call.Begin().End()
	}
}

// Measured calls run, with the SDK if a collector is configured, and returns its exit code.
func Measured(run func() int) int {
	if os.Getenv("COREHOUR_ENDPOINTS") == "" {
		return run()
	}
	shutdown, err := corehour.Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	code := run()
	if err := shutdown(context.Background()); err != nil {
		log.Print(err)
	}
	return code
}
