// Command shop is a small shop that generates and serves its own requests at a steady rate until it receives a
// signal. It does not depend on corehour. Its own counters provide the truth to check corehour against.
//
//	corehour go --methods methods.json build -o ../../bin/corehour-shop .
//	OTEL_SERVICE_NAME=shop ../../bin/corehour-shop --release 1.1 --rate 100 --truth truth.json
//
// Release 1.1 has a longer tax table, which is read for every cart. The build adds probes to the methods in
// methods.json: the methods that have a counter here.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"shop/cart"
	"shop/payment"
	"shop/price"
	"shop/receipt"
	"shop/search"
	"shop/truth"
	"shop/web"
)

const (
	articles     = 4000
	cartSize     = 30
	receiptLines = 300
	bankDelay    = 2 * time.Millisecond
)

type settings struct {
	release  string
	rate     float64
	workers  int
	duration time.Duration
	truth    string
	profile  string
}

func main() {
	var s settings
	var calibrate bool
	flag.StringVar(&s.release, "release", "1.0", "release of the shop: 1.0, or 1.1 with the longer tax table")
	flag.Float64Var(&s.rate, "rate", 100, "requests per second")
	flag.IntVar(&s.workers, "workers", 2, "requests served at once, at most")
	flag.DurationVar(&s.duration, "duration", 0, "how long to serve; 0 = until a signal")
	flag.StringVar(&s.truth, "truth", "", "file for the shop's own counters, written at the end")
	flag.StringVar(&s.profile, "cpu-profile", "", "file for the runtime's own CPU profile of the serving")
	flag.BoolVar(&calibrate, "calibrate", false, "measure both tax tables against each other, print the change and end")
	flag.Parse()

	run := func() error { return serve(s) }
	if calibrate {
		run = func() error { return printChange(os.Stdout) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func (s settings) check() error {
	var faults []error
	if s.release != "1.0" && s.release != "1.1" {
		faults = append(faults, fmt.Errorf("--release must be 1.0 or 1.1, found %q", s.release))
	}
	if !(s.rate > 0) {
		faults = append(faults, fmt.Errorf("--rate must be above 0, found %v", s.rate))
	}
	if s.workers < 1 {
		faults = append(faults, fmt.Errorf("--workers must be at least 1, found %d", s.workers))
	}
	return errors.Join(faults...)
}

func serve(s settings) error {
	if err := s.check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	load, cancel := context.WithCancel(ctx)
	if s.duration > 0 {
		load, cancel = context.WithTimeout(ctx, s.duration)
	}
	defer cancel()
	endProfile, err := startProfile(s.profile)
	if err != nil {
		return err
	}
	requests := generate(load, s)
	endProfile()

	if s.truth == "" {
		return nil
	}
	return truth.Write(s.truth, truth.ProcessRecord{Version: s.release, Requests: requests})
}

// startProfile starts a CPU profile of the process, to check corehour's CPU times against.
func startProfile(path string) (end func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "shop: the profile:", err)
		}
	}, nil
}

// generate serves requests at the configured rate until the context ends, then waits for requests in flight.
func generate(ctx context.Context, s settings) int64 {
	shelf := price.NewBook(articles)
	index := search.NewIndex(articles)
	lines := make([]string, receiptLines)
	for i := range lines {
		lines[i] = strings.Repeat("-", 20) + price.Article(i)
	}

	taxRows := cart.TaxRows
	if s.release == "1.1" {
		taxRows = cart.TaxRows11
	}
	start := time.Now()
	var taken, served atomic.Int64
	var wg sync.WaitGroup
	for range s.workers {
		wg.Go(func() {
			handler := web.Handler{
				Index:   index,
				Printer: &receipt.Printer{},
				Bank:    &payment.Gateway{Delay: bankDelay},
			}
			basket := &cart.Cart{Articles: make([]string, cartSize), Book: shelf, TaxRows: taxRows}
			for {
				// Request n is due at start + n/rate, whichever goroutine serves it.
				n := taken.Add(1) - 1
				due := start.Add(time.Duration(float64(n) / s.rate * float64(time.Second)))
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Until(due)):
				}
				if n%5 < 3 {
					for i := range basket.Articles {
						basket.Articles[i] = price.Article(rand.IntN(articles))
					}
					// A checkout that has started is finished even on shutdown.
					_ = handler.Checkout(context.WithoutCancel(ctx), basket, lines)
				} else {
					handler.Browse([]byte("39"))
				}
				served.Add(1)
			}
		})
	}
	wg.Wait()
	return served.Load()
}

// change is the increase of the own cost of a call by the longer table, measured without corehour. It covers all work
// of Total itself except the probe and thirty additions.
type change struct {
	Method        string  `json:"method"`
	BaseVersion   string  `json:"base_version"`
	HeadVersion   string  `json:"head_version"`
	ChangePercent float64 `json:"change_percent"` // median of the rounds
	BaseNS        int64   `json:"base_ns"`
	HeadNS        int64   `json:"head_ns"`
}

func printChange(out *os.File) error {
	const rounds, calls = 41, 25
	sum := int64(0)
	timed := func(rows int) time.Duration {
		begin := time.Now()
		for range calls {
			sum = cart.Tax(sum, rows)
		}
		return time.Since(begin)
	}
	var base, head time.Duration
	ratios := make([]float64, rounds)
	for i := range ratios { // in turn, so that a slow moment affects both
		b, h := timed(cart.TaxRows), timed(cart.TaxRows11)
		base, head, ratios[i] = base+b, head+h, float64(h)/float64(b)
	}
	if sum < 0 {
		return fmt.Errorf("a tax of %d cents", sum)
	}
	slices.Sort(ratios)
	return json.NewEncoder(out).Encode(change{
		Method: "shop/cart.Cart.Total", BaseVersion: "1.0", HeadVersion: "1.1",
		ChangePercent: 100 * (ratios[rounds/2] - 1),
		BaseNS:        int64(base) / (rounds * calls), HeadNS: int64(head) / (rounds * calls),
	})
}
