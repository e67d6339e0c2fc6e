package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/fixture/remote"
)

// Commands print the same output for rows in BigQuery as for the same rows in files.
func TestBigQuery_EveryCommand(t *testing.T) {
	fixture.SkipLong(t)
	clock(t, evening)
	root := twoReleases(t, 0.5)
	_, address := remote.Serve(t, root)
	for _, args := range [][]string{
		{"regress"},
		{"cost", "--since", "24h"},
		{"sql", "SELECT class, SUM(calls) AS calls FROM method_calls GROUP BY class ORDER BY class"},
	} {
		where := func(warehouse string) result {
			return corehour(append([]string{args[0], "--warehouse", warehouse}, args[1:]...)...)
		}
		files, theirs := where(root), where(address)
		if files.code == exitFailed || theirs.code != files.code || theirs.stdout != files.stdout {
			t.Errorf("%v: from files\n%+v\nfrom BigQuery\n%+v", args, files, theirs)
		}
		if !strings.Contains(theirs.stderr, " reads up to 123 MB\n") {
			t.Errorf("%v: no estimate in %q", args, theirs.stderr)
		}
	}
	r := corehour("check", "--warehouse", address)
	if r.code == exitFailed || !strings.Contains(r.stdout, "balanced: ") || strings.Contains(r.stdout, "generation") ||
		!strings.Contains(r.stdout, "is not known\nfreshness: no load job since ") {
		t.Errorf("check: %+v", r)
	}
	const newest = "\nthe newest row ended at 2026-03-10 10:10:00 UTC, 50m0s ago\n"
	for _, warehouse := range []string{root, address, inBucket(t, map[string]string{"a": root})} {
		if r := corehour("check", "--warehouse", warehouse); !strings.Contains(r.stdout, newest) {
			t.Errorf("check of %s does not say %q: %+v", warehouse, newest, r)
		}
	}
	if r := corehour("check", "--warehouse", address, "--deep"); r.code != exitFailed || !strings.Contains(r.stderr, "leave it out") {
		t.Errorf("check --deep: %+v", r)
	}
}

func TestMaxBytes_OneWarehouse(t *testing.T) {
	clock(t, evening)
	_, address := remote.Serve(t, twoReleases(t, 0.5))
	r := corehour("cost", "--warehouse", address, "--max-bytes-billed", "200MB")
	if r.code != exitFailed || !strings.Contains(r.stderr, "the query would read more than allowed") {
		t.Errorf("%+v", r)
	}
	for args, want := range map[string]string{
		"--warehouse=" + address + " --max-bytes-billed=much":                      "want a number of bytes, one or more,",
		"--warehouse=" + address + " --max-bytes-billed=0.5":                       "want a number of bytes, one or more,",
		"--warehouse=" + address + "&max_bytes_billed=1000":                        "the query would read more than allowed",
		"--warehouse=" + address + "&max_bytes_billed=0":                           "max_bytes_billed must be a number of bytes above 0",
		"--warehouse=" + address + "&max_bytes_billed=1000 --max-bytes-billed=1TB": "the address of --warehouse has max_bytes_billed=1000 already: leave one of them out",
		"--warehouse=/x --max-bytes-billed=1GB":                                    "has no effect on files",
		"--warehouse=bigquery://P/d":                                               "the project must be the id",
	} {
		if r := corehour(append([]string{"cost"}, strings.Fields(args)...)...); r.code != exitFailed || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// --max-bytes-billed bounds all queries of an explain together: its own, those of regress and those of drift.
func TestMaxBytes_SeveralWarehouses(t *testing.T) {
	fixture.SkipLong(t)
	clock(t, evening)
	_, address := remote.Serve(t, twoReleases(t, 0.5))
	explain := []string{"explain", "shop/cart.Cart.Total", "--service", "shop", "--warehouse", address, "--max-bytes-billed"}
	r := corehour(append(explain, "900MB")...)
	if r.code != exitFailed || !strings.Contains(r.stderr, "extent reads 123 MB, after 864 MB of 900 MB") {
		t.Errorf("%+v", r)
	}
	if r := corehour(append(explain, "3GB")...); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
}

// With --every, --max-bytes-billed bounds each evaluation on its own, not their sum.
func TestMaxBytes_EachEvaluation(t *testing.T) {
	fixture.SkipRaced(t)
	clock(t, evening)
	_, address := remote.Serve(t, twoReleases(t, 0.5))
	ctx, cancel := context.WithCancel(t.Context())
	var stderr strings.Builder
	code := run(ctx, []string{"regress", "--warehouse", address, "--every", "1s", "--max-bytes-billed", "1400MB"}, io.Discard,
		writerFunc(func(p []byte) (int, error) {
			stderr.Write(p)
			if said := stderr.String(); strings.Count(said, "cells reads up to") == 2 || strings.Contains(said, "corehour regress: ") {
				cancel()
			}
			return len(p), nil
		}))
	if code != exitNothing || strings.Contains(stderr.String(), bigquery.ErrQueryTooLarge.Error()) {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestParseBytes_Units(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "5B": 5, "1kB": 1000, "1.5 GB": 1.5e9, "2TB": 2e12} {
		if n, err := parseBytes("--x", text); err != nil || n != want {
			t.Errorf("%s: %d %v", text, n, err)
		}
	}
	for _, text := range []string{"", "0", "0.5", "0.0001kB", "-1GB", "GB", "1PB", "NaN", "1e30"} {
		if n, err := parseBytes("--x", text); err == nil {
			t.Errorf("%q: %d", text, n)
		}
	}
}

// shops returns a warehouse with the given number of services, each in two versions.
func shops(t *testing.T, services int) string {
	t.Helper()
	var items []methodspan.Item
	for s := range services {
		for v := range 2 {
			shop := fixture.Shop{
				Seed: uint64(2*s + v), Version: fmt.Sprint(v + 1), Instances: []string{fmt.Sprint("i", s, v)},
				Start: fixture.Start.Add(time.Duration(v*30) * time.Minute), Minutes: 40, Requests: 5,
			}
			run, _ := shop.Run()
			for i := range run {
				run[i].ID = fmt.Sprintf("%s-%d", run[i].ID, s)
				for j := range run[i].Rows {
					row := &run[i].Rows[j]
					resource := *row.Resource
					resource.Service = fmt.Sprint("shop", s)
					row.Resource, row.BatchID = &resource, run[i].ID
				}
			}
			items = append(items, run...)
		}
	}
	return fixture.Write(t, items)
}

// BigQuery bills at least 10 MB per query, so the documentation lists the number of queries per command.
func TestBigQuery_NumberOfQueriesDocumented(t *testing.T) {
	fixture.SkipLong(t)
	clock(t, evening)
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "rules.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	prices := file("currency: USD\ndefault:\n  usd_per_core_hour: 0.05\n")
	owners := file(`{"version": 1, "owners": [{"service": "shop0", "owner": "store-team"}]}`)
	budgets := file(`{"version": 1, "budgets": [{"name": "shop", "service": "shop0", "usd_per_day": 1000}]}`)
	count := func(address, args string) int {
		r := corehour(append(strings.Fields(args), "--warehouse", address)...)
		if r.code >= exitFailed {
			t.Errorf("%s: %+v", args, r)
		}
		return strings.Count(r.stderr, " reads up to ")
	}
	for services := 1; services <= 3; services += 2 {
		_, address := remote.Serve(t, shops(t, services))
		for args, want := range map[string]int{
			"regress":                                      3 + 2*services + 1 + services, // last term: services with few processes
			"cost":                                         6,
			"cost --percentiles":                           6 + 1,
			"cost --prices " + prices:                      6 + 2,
			"cost --by owner --owners " + owners:           6 + 1,
			"cost --budgets " + budgets:                    6,
			"cost --by service --budgets " + budgets:       6 + 5,
			"explain shop/cart.Cart.Total --service shop0": 2 + 11 + 2,
			"report": 14 + 2*services + 1 + services,
		} {
			if n := count(address, args); n != want {
				t.Errorf("%s of %d services: %d queries, the documentation says %d", args, services, n, want)
			}
		}
	}
	_, address := remote.Serve(t, twoReleases(t, 0.5))
	clock(t, evening.AddDate(0, 0, 1))
	if n := count(address, "explain shop/cart.Cart.Total --service shop"); n != 2+13+2+4 { // it raises an alert, which takes more queries
		t.Errorf("explain the next day: %d queries, the documentation says 21", n)
	}
}
