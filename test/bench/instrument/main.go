// Command instrument measures the cost of the probes that `corehour go build` compiles in.
//
//	instrument --corehour bin/corehour --sdk sdk --rounds 10
//
// It measures goldmark, which converts a document of 200 kB, and a recursive function similar to MooBench:
// without probes, and with probes that are off or on. The programs run in turn. It also measures how long the go
// command builds goldmark and caddy after a change. With --cold it measures builds from an empty build cache
// too, which takes minutes.
//
// It prints figures as JSON, for test/figures/show. The time of a run is the tenth percentile of its
// repetitions, which other work on the machine disturbs least. A ratio is the median over the rounds.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/corehour/corehour/test/bench/results"
)

// bench contains the directories and settings of the benchmark.
type bench struct {
	dir, corehour, sdk string
	here               string // environment variable with the address of a collector that discards its input
	document           string
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func main() {
	corehour := flag.String("corehour", "bin/corehour", "the `command`")
	sdk := flag.String("sdk", "sdk", "`directory` of the SDK")
	rounds := flag.Int("rounds", 10, "rounds")
	cold := flag.Bool("cold", false, "build from an empty build cache, too")
	flag.Parse()
	if err := measure(os.Stdout, *corehour, *sdk, *rounds, *cold); err != nil {
		fmt.Fprintln(os.Stderr, "instrument:", err)
		os.Exit(1)
	}
}

func measure(to io.Writer, corehour, sdk string, rounds int, cold bool) (err error) {
	b := &bench{}
	if b.corehour, err = filepath.Abs(corehour); err != nil {
		return err
	}
	if b.sdk, err = filepath.Abs(sdk); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "instrument-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusOK)
	}))
	defer collector.Close()
	b.here = "COREHOUR_ENDPOINTS=" + collector.URL

	fmt.Fprintln(os.Stderr, "fetching and building", goldmark)
	tree, err := b.fetchGoldmark("plain", startNothing)
	if err != nil {
		return err
	}
	b.document = filepath.Join(tree, "_benchmark", "cmark", "_data.md")
	builds, err := b.builds("goldmark", tree, "./cmd/convert", "parser/parser.go", cold, true)
	if err != nil {
		return err
	}
	figures, err := b.converts(rounds)
	if err != nil {
		return err
	}
	recursion, err := b.recursion(rounds)
	if err != nil {
		return err
	}
	figures = append(append(figures, recursion...), builds...)
	fmt.Fprintln(os.Stderr, "fetching and building", caddy)
	if tree, err = b.fetch("caddy", caddy); err != nil {
		return err
	}
	if builds, err = b.builds("caddy", tree, "./cmd/caddy", "modules/caddyhttp/reverseproxy/reverseproxy.go", cold, false); err != nil {
		return err
	}
	return results.Print(to, "instrument", append(figures, builds...))
}
