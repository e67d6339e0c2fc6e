package corehour_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
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
