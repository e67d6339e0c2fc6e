package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/corehour/corehour/regression/alert"
)

// TestWatch: regress --every starts before the warehouse exists and finds the regression once it does. It prints
// the alert and writes it to the file once, and exits cleanly when cancelled.
func TestWatch(t *testing.T) {
	before := goleak.IgnoreCurrent()
	defer func() {
		if err := goroutinesEnd(before); err != nil {
			t.Error(err)
		}
	}()
	clock(t, evening)
	root := twoReleases(t, 1)
	hidden := root + ".later"
	if err := os.Rename(root, hidden); err != nil {
		t.Fatal(err)
	}
	alerts := filepath.Join(t.TempDir(), "alerts.jsonl")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"regress", "--warehouse", root, "--every", "1s", "--alerts", alerts, "--format", "json"}, outW, errW)
		outW.Close()
		errW.Close()
	}()
	stderr := bufio.NewReader(errR)
	complaint, err := stderr.ReadString('\n')
	if err != nil || !strings.Contains(complaint, "no warehouse there") {
		t.Fatal(complaint, err)
	}
	rest := make(chan string)
	go func() {
		all, _ := io.ReadAll(stderr)
		rest <- string(all)
	}()
	if err := os.Rename(hidden, root); err != nil {
		t.Fatal(err)
	}
	stdout := bufio.NewReader(outR)
	line, err := stdout.ReadString('\n')
	var alert alert.Alert
	if err != nil || json.Unmarshal([]byte(line), &alert) != nil || alert.Method != "Rate" {
		t.Fatal(line, err)
	}
	more := make(chan string)
	go func() {
		all, _ := io.ReadAll(stdout)
		more <- string(all)
	}()
	cancel()
	if c := <-code; c != exitNothing {
		t.Errorf("exit %d", c)
	}
	if s := <-more; s != "" {
		t.Errorf("said again: %s", s)
	}
	<-rest
	data, err := os.ReadFile(alerts)
	if err != nil || string(data) != line {
		t.Errorf("%v: the file holds %s, printed was %s", err, data, line)
	}
	// After a restart, regress finds the alert again but does not add it to the file twice.
	r := corehour("regress", "--warehouse", root, "--alerts", alerts)
	if again, _ := os.ReadFile(alerts); r.code != exitFound || !bytes.Equal(again, data) {
		t.Errorf("%+v: the file holds %s", r, again)
	}
}

// goroutinesEnd waits until only the goroutines of before are left. A goroutine that is about to end can wait for
// a processor longer than goleak does.
func goroutinesEnd(before goleak.Option) (err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if err = goleak.Find(before); err == nil {
			return nil
		}
	}
	return err
}
