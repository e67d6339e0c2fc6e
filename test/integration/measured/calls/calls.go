// Package calls makes calls of one method, measured as the environment says.
package calls

import (
	"context"
	"log"
	"os"

	corehour "github.com/corehour/corehour/sdk"
)

var call = corehour.NewMethod("work.Call")

// Make makes n calls.
func Make(n int) {
	for range n {
		call.Begin().End()
	}
}

// Measured runs a program or tests with the SDK if there is a collector, and returns its exit code.
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
