//go:build unix

// Command rates measures the cost of keeping SDKs informed of rates. 1,000 clients poll as the SDK does, over
// loopback, from the real extension in a separate process. It also measures the time until all clients know
// a change of rates.
//
//	rates --clients 1000 --methods 500 --rounds 7
//
// It prints figures as JSON, for test/figures/show. CPU and memory are those of the serving process, from
// the kernel's accounting. The clients share the machine, so times are upper bounds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/corehour/corehour/test/bench/results"
)

func main() {
	clients := flag.Int("clients", 1000, "clients that poll")
	methods := flag.Int("methods", 500, "methods that a table of rates names")
	rounds := flag.Int("rounds", 7, "changes of rates")
	serving := flag.Bool("serve", false, "be the server: what the other process is started with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *serving:
		err = serve(ctx, *methods, os.Stdin, os.Stdout)
	case *clients < 1 || *methods < 1 || *rounds < 1:
		err = fmt.Errorf("--clients, --methods and --rounds must be at least 1, found %d, %d and %d", *clients, *methods, *rounds)
	default:
		err = measure(ctx, os.Stdout, *clients, *methods, *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rates:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, to io.Writer, clients, methods, rounds int) (err error) {
	server, err := startServer(ctx, methods)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	alone, err := server.usage()
	if err != nil {
		return err
	}
	crowd := newCrowd(ctx, server.address, clients)
	defer crowd.leave()
	if err := crowd.awaitAll(ctx, 1); err != nil {
		return err
	}

	perAnswer, half, all, err := changes(ctx, server, crowd, rounds)
	if err != nil {
		return err
	}
	waiting, err := server.usage()
	if err != nil {
		return err
	}
	perPoll, err := polls(ctx, server, crowd)
	if err != nil {
		return err
	}
	const meanWait = 23.75 // seconds: 25 minus up to a tenth
	of := func(what string) string { return fmt.Sprintf(what, clients) }
	return results.Print(to, "rates", []results.Figure{
		results.Lower(of("until all of %d SDKs know a change"), median(all), "s", 2),
		results.Lower(of("until half of %d SDKs know a change"), median(half), "s"),
		results.Lower(fmt.Sprintf("CPU per answer of %d methods", methods), median(perAnswer), "us"),
		results.Lower("CPU per poll without news", perPoll, "us"),
		results.Lower(of("CPU of %d SDKs without news"), perPoll/1e6*float64(clients)/meanWait*100, "% of a core"),
		results.Lower("memory per waiting SDK", float64(waiting.rss-alone.rss)/float64(clients)/1024, "KiB"),
		results.Lower(fmt.Sprintf("answer of %d methods, compressed", methods), float64(crowd.bytes.Load()), "B"),
	})
}

// changes returns, per change, the CPU per answer in us, and the seconds until half and until all clients knew it.
func changes(ctx context.Context, server *server, crowd *crowd, rounds int) (perAnswer, half, all []float64, err error) {
	for round := range rounds {
		if err := crowd.awaitWaiting(ctx); err != nil {
			return nil, nil, nil, err
		}
		before, err := server.usage()
		if err != nil {
			return nil, nil, nil, err
		}
		changed, err := server.change()
		if err != nil {
			return nil, nil, nil, err
		}
		if err := crowd.awaitAll(ctx, round+2); err != nil {
			return nil, nil, nil, err
		}
		after, err := server.usage()
		if err != nil {
			return nil, nil, nil, err
		}
		known := crowd.known()
		for i := range known {
			known[i] -= changed
		}
		slices.Sort(known)
		seconds := func(ns int64) float64 { return float64(ns) / 1e9 }
		half = append(half, seconds(known[len(known)/2]))
		all = append(all, seconds(known[len(known)-1]))
		perAnswer = append(perAnswer, float64(after.cpu-before.cpu)/1e3/float64(len(known)))
		fmt.Fprintf(os.Stderr, "change %d of %d: half knew after %.3f s, all after %.3f s\n", round+1, rounds, half[round], all[round])
	}
	return perAnswer, half, all, nil
}

// polls returns the CPU in us of a poll that is answered immediately with no news. Waiting costs no CPU.
func polls(ctx context.Context, server *server, crowd *crowd) (float64, error) {
	before, err := server.usage()
	if err != nil {
		return 0, err
	}
	const each = 20
	if err := crowd.pollAtOnce(ctx, each); err != nil {
		return 0, err
	}
	after, err := server.usage()
	return float64(after.cpu-before.cpu) / 1e3 / float64(each*len(crowd.clients)), err
}

func median(values []float64) float64 {
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// settle is the time for clients to poll again after an answer.
const settle = 2 * time.Second
