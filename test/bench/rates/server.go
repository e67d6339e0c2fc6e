//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/corehour/corehour/extension/samplingrates"
	"github.com/corehour/corehour/internal/rates"
)

// source provides the same rates for all clients.
type source struct {
	methods int
	mu      sync.Mutex
	table   *rates.Table
	changed chan struct{}
}

func (s *source) Rates(rates.Target) (*rates.Table, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table, s.changed
}

func (*source) Explain(rates.Target, string) []rates.Explanation { return nil }

func (s *source) change(revision int) {
	table := &rates.Table{Revision: strconv.Itoa(revision), TTLSeconds: 300}
	for i := range s.methods {
		p := 1 / float64(revision+i+1)
		table.Methods = append(table.Methods, rates.Rate{
			Name: fmt.Sprintf("shop/unit%d.(*Worker).Step%d", i%10, i), Mode: "sample", P: &p, Reason: "as much as its spread is worth",
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table = table
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
}

// serve runs the server process: it reads commands line by line and answers each.
func serve(ctx context.Context, methods int, in io.Reader, out io.Writer) error {
	s := &source{methods: methods}
	revision := 1
	s.change(revision)
	address, err := freeAddress()
	if err != nil {
		return err
	}
	factory := samplingrates.NewFactory()
	config := factory.CreateDefaultConfig().(*samplingrates.Config)
	config.HTTP.NetAddr.Endpoint = address
	extension, err := factory.Create(ctx, extensiontest.NewNopSettings(factory.Type()), config)
	if err != nil {
		return err
	}
	if _, err := extension.(rates.Publisher).Publish("rates-bench", s); err != nil {
		return err
	}
	if err := extension.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	fmt.Fprintln(out, address)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		switch lines.Text() {
		case "change":
			revision++
			at := time.Now().UnixNano()
			s.change(revision)
			fmt.Fprintln(out, at)
		case "usage":
			u, err := usageNow()
			if err != nil {
				return err
			}
			fmt.Fprintln(out, u.cpu, u.rss)
		}
	}
	return errors.Join(lines.Err(), extension.Shutdown(ctx))
}
