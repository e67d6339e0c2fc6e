package corehour_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"github.com/corehour/corehour/sdk"
)

var checkout = corehour.NewMethod("shop/cart.(*Cart).Checkout")

func pay(ctx context.Context, amount int) (err error) {
	defer checkout.BeginContext(ctx).EndError(&err)
	if amount <= 0 {
		return errors.New("nothing to pay")
	}
	return nil
}

func Example() {
	ctx := context.Background()
	shutdown, err := corehour.Start(ctx,
		corehour.WithService("shop", "1.4.2"),
		corehour.WithWriter(io.Discard)) // leave this out to send to a collector
	if err != nil {
		log.Fatal(err)
	}

	for amount := range 3 {
		pay(ctx, amount)
	}

	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := shutdown(ctx); err != nil {
		log.Print(err)
	}
	fmt.Println(checkout.Calls(), "calls")
	// Output: 3 calls
}

// Modes for kinds of methods.
func ExampleNewMethod() {
	entry := corehour.NewMethod("shop/web.(*Handler).Serve", corehour.Rate(1), corehour.CPURate(0.05))
	inner := corehour.NewMethod("shop/price.Round", corehour.Rate(0.001))                                        // called a lot
	every := corehour.NewMethod("shop/codec.Decode", corehour.WithMode(corehour.Aggregate), corehour.Rate(0.01)) // its distribution matters
	waits := corehour.NewMethod("shop/store.(*DB).Query", corehour.Blocking())                                   // waits for others
	spiky := corehour.NewMethod("shop/search.Rank", corehour.Tail())                                             // few calls are most of its cost

	shutdown, err := corehour.Start(context.Background(), corehour.WithWriter(io.Discard))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range []*corehour.Method{entry, inner, every, waits, spiky} {
		for range 1000 {
			m.Begin().End()
		}
		fmt.Println(m.Name(), m.Calls()) // exact, whatever was timed
	}
	if err := shutdown(context.Background()); err != nil {
		log.Print(err)
	}
	// Output:
	// shop/web.(*Handler).Serve 1000
	// shop/price.Round 1000
	// shop/codec.Decode 1000
	// shop/store.(*DB).Query 1000
	// shop/search.Rank 1000
}

var (
	serve = corehour.NewMethod("github.com/corehour/corehour/sdk_test.serveOne")
	total = corehour.NewMethod("github.com/corehour/corehour/sdk_test.totalOf", corehour.Rate(1), corehour.Stack())
)

func serveOne() {
	defer serve.Begin().End()
	totalOf()
}

func totalOf() { defer total.Begin().End() }

func ExampleStack() {
	var sent bytes.Buffer
	shutdown, err := corehour.Start(context.Background(), corehour.WithWriter(&sent))
	if err != nil {
		log.Fatal(err)
	}
	serveOne()
	if err := shutdown(context.Background()); err != nil {
		log.Print(err)
	}
	_, stack, _ := strings.Cut(sent.String(), "stack=")
	stack, _, _ = strings.Cut(stack, "\n")
	for _, name := range strings.Split(stack, ";") {
		fmt.Println(name)
	}
	// Output:
	// github.com/corehour/corehour/sdk_test.serveOne
	// github.com/corehour/corehour/sdk_test.totalOf
}
