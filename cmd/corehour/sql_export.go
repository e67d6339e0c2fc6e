package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/sqlanswer"
)

// progressEvery is the interval between progress lines of a long query.
const progressEvery = 10 * time.Second

// reportProgress writes a progress line periodically until the returned function is called.
func reportProgress(w io.Writer) (stop func()) {
	done := make(chan struct{})
	var loop sync.WaitGroup
	begin := time.Now()
	loop.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Fprintf(w, "corehour sql: still running after %s\n", time.Since(begin).Round(time.Second))
			}
		}
	})
	return func() {
		close(done)
		loop.Wait()
	}
}

// exportTo writes the answer to a new file, which appears only once it is complete.
func exportTo(ctx context.Context, c *common, text, path string, stderr io.Writer) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("--output: %s exists already: choose another name or remove it", path)
	}
	// Unlike os.CreateTemp this creates the file with the usual mode of new files.
	tmp, err := os.OpenFile(filepath.Join(filepath.Dir(path), ".corehour-"+rand.Text()+".tmp"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	rows, err := export(ctx, c, text, tmp, stderr)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	fmt.Fprintf(stderr, "corehour sql: wrote %d rows to %s\n", rows, path)
	return nil
}

// export lets the engine write rows of files, and writes rows of BigQuery itself.
func export(ctx context.Context, c *common, text string, tmp *os.File, stderr io.Writer) (rows int64, err error) {
	w, err := c.open(ctx, c.window, query.ExportTo(tmp.Name()))
	if err != nil {
		return 0, err
	}
	defer w.Close()
	defer reportProgress(stderr)()
	if w.InFiles() {
		return w.Export(ctx, text)
	}
	file := &sqlanswer.ParquetFile{}
	err = w.UserRows(ctx, text, func(columns []query.UserColumn) error { return file.Begin(tmp, columns) }, file.AddRow)
	if err == nil {
		err = file.Close()
	}
	return file.Rows, err
}
