package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/bucket"
	"github.com/corehour/corehour/regression/fixture"
)

// inBucket uploads warehouses as a collector each.
func inBucket(t *testing.T, roots map[string]string) (address string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	address = "file://" + t.TempDir()
	for prefix, root := range roots {
		if err := uploader(t, address, prefix, root).Close(); err != nil {
			t.Fatal(err)
		}
	}
	return address
}

func uploader(t *testing.T, address, prefix, root string) *bucket.Mirror {
	t.Helper()
	b, err := bucket.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	m, err := bucket.NewMirror(t.Context(), b, bucket.Options{Address: address, Prefix: prefix, Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWarehouseInABucket(t *testing.T) {
	clock(t, fixture.Start.Add(30*time.Hour))
	root := twoReleases(t, 0.5)
	address := inBucket(t, map[string]string{"host-1": root, "host-2": manyFiles(t)})

	for _, args := range [][]string{
		{"cost", "--service", "shop", "--since", "48h"}, {"regress", "--since", "48h"}, {"sql", "SELECT COUNT(*) FROM method_calls"},
	} {
		first := corehour(append(args[:1:1], append([]string{"--warehouse", address}, args[1:]...)...)...)
		if first.code == exitFailed || !strings.Contains(first.stderr, "fetching") && args[0] == "cost" {
			t.Errorf("%v: %+v", args, first)
		}
		again := corehour(append(args[:1:1], append([]string{"--warehouse", address}, args[1:]...)...)...)
		if again.stdout != first.stdout || strings.Contains(again.stderr, "fetching") {
			t.Errorf("%v: the second time %+v", args, again)
		}
	}
	alone := inBucket(t, map[string]string{"host": root})
	local, remote := corehour("cost", "--warehouse", root), corehour("cost", "--warehouse", alone)
	if local.stdout != remote.stdout || local.code != remote.code {
		t.Errorf("%+v, of the directory itself %+v", remote, local)
	}
	if r := corehour("check", "--warehouse", alone, "--deep"); r.code != exitNothing {
		t.Errorf("%+v", r)
	}

	for args, want := range map[string]string{
		"cost --warehouse " + address + " --cache-size 1kB":      "the cache is limited to 1000",
		"cost --warehouse " + address + " --cache-size much":     "want a number of bytes",
		"cost --warehouse " + root + " --cache-size 1GB":         "--cache-size has no effect here",
		"cost --warehouse file://" + t.TempDir():                 "no prefix of a collector",
		"cost --warehouse ftp://x":                               "there is no reader for ftp://",
		"cost --warehouse gs://user:secret@x":                    "credentials are those of the environment",
		"cost --warehouse " + address + " --to 2020-01-01":       "holds rows from",
		"compact --warehouse " + address + " --min-free-bytes 5": "--min-free-bytes has no effect on a bucket",
	} {
		if r := corehour(strings.Fields(args)...); r.code < exitFailed || !strings.Contains(r.stderr, want) || strings.Contains(r.stderr, "secret") {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

func TestSpoolIsNoWarehouse(t *testing.T) {
	address := inBucket(t, nil)
	root := manyFiles(t)
	b, err := bucket.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	m, err := bucket.NewMirror(t.Context(), b, bucket.Options{Address: address, Prefix: "host", Directory: root})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cost", "compact"} {
		if r := corehour(name, "--warehouse", root); r.code != exitFailed || !strings.Contains(r.stderr, "name the bucket") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestCompactInABucket(t *testing.T) {
	clock(t, fixture.Start.Add(30*time.Hour))
	address := inBucket(t, map[string]string{"gone": manyFiles(t)})
	running := uploader(t, address, "running", manyFiles(t))
	if err := running.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := totalCalls(t, address, "shop")
	r := corehour("compact", "--warehouse", address, "--max-files", "5")
	if r.code != exitNothing || !strings.Contains(r.stderr, "/gone") || !strings.Contains(r.stderr, "left alone") {
		t.Errorf("%+v", r)
	}
	if after := totalCalls(t, address, "shop"); after != before {
		t.Errorf("%s before, %s after", before, after)
	}
	merged, err := filepath.Glob(strings.TrimPrefix(address, "file://") + "/gone/date=*/merge-*.parquet")
	if err != nil || len(merged) != 1 {
		t.Errorf("%v %v", merged, err)
	}
	if leaves, _ := filepath.Glob(os.Getenv("XDG_CACHE_HOME") + "/corehour/compact-*"); len(leaves) > 0 {
		t.Errorf("left over: %v", leaves)
	}
	if r := corehour("compact", "--warehouse", address, "--delete-service", "shop", "--yes"); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	left := uploader(t, address, "other", manyFiles(t))
	defer left.Close()
	if r := corehour("compact", "--warehouse", "file://"+t.TempDir()); r.code != exitFailed {
		t.Errorf("%+v", r)
	}
}
