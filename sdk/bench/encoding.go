package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/corehour/corehour/sdk"
	"github.com/corehour/corehour/test/figures"
)

// discard is a transport that reads a request and accepts it. Then an export consists of dequeuing and
// encoding only.
type discard struct{}

func (discard) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, errors.Join(err, r.Body.Close())
}

// encoding measures the CPU per record of all threads but the calling one, in batches of
// half of the queue, without compression and network.
func encoding(report *figures.Run) error {
	const compression, batches = "OTEL_EXPORTER_OTLP_COMPRESSION", 15
	given, set := os.LookupEnv(compression)
	if err := os.Setenv(compression, "none"); err != nil {
		return err
	}
	shutdown, err := corehour.Start(context.Background(), corehour.WithService("bench", "1"),
		corehour.WithHTTPClient(&http.Client{Transport: discard{}}), corehour.WithFlush(time.Hour, waitingMost))
	if set {
		err = errors.Join(err, os.Setenv(compression, given))
	} else {
		err = errors.Join(err, os.Unsetenv(compression))
	}
	if err != nil {
		return err
	}
	var plain, full []float64
	for range batches {
		for _, one := range []struct {
			probed func(int) int
			us     *[]float64
		}{{wall, &plain}, {cpuCaller, &full}} {
			us, err := encodedBatch(one.probed)
			if err != nil {
				return err
			}
			*one.us = append(*one.us, us)
		}
	}
	report.Add("encoding of a record, wall", median(plain), "us CPU", figures.Lower, figures.Goal(0.5))
	report.Add("encoding of a record, wall, CPU and caller", median(full), "us CPU", figures.Lower, figures.Goal(0.5))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return shutdown(ctx)
}

func encodedBatch(probed func(int) int) (us float64, err error) {
	runtime.GC()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	goal := corehour.Stats().Sent + waitingMost
	process, own := processCPU(), threadCPU()
	loop(probed)(waitingMost)
	deadline := time.Now().Add(patience)
	for corehour.Stats().Sent < goal {
		if time.Now().After(deadline) {
			return 0, errors.New("a full batch is not sent")
		}
		time.Sleep(200 * time.Microsecond)
	}
	own, process = threadCPU()-own, processCPU()-process
	return float64(process.Nanoseconds()-own) / waitingMost / 1e3, nil
}
