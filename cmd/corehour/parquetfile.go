package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// progressEvery is how often a long query reports that it still runs.
const progressEvery = 10 * time.Second

// reportProgress writes a line from time to time until the function it returns is
// called.
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

// exportTo writes the answer to a new file, which is there only once it is whole.
func exportTo(ctx context.Context, c *common, text, path string, stderr io.Writer) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("--output: %s exists already: choose another name or remove it", path)
	}
	// Unlike os.CreateTemp this gives the file the mode that new files have.
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

// export has the engine write the rows of files, and writes those of BigQuery itself.
func export(ctx context.Context, c *common, text string, tmp *os.File, stderr io.Writer) (rows int64, err error) {
	w, err := c.open(ctx, c.window, query.Into(tmp.Name()))
	if err != nil {
		return 0, err
	}
	defer w.Close()
	defer reportProgress(stderr)()
	if w.InFiles() {
		return w.Export(ctx, text)
	}
	file := &parquetFile{}
	err = w.UserRows(ctx, text, func(columns []query.UserColumn) error { return file.begin(tmp, columns) }, file.addRow)
	if err == nil {
		err = file.close()
	}
	return file.rows, err
}

// parquetFile is rows of BigQuery, of a shape that the query decides. The type of a row is made
// at run time, one field per column, because a struct keeps their order.
type parquetFile struct {
	writer *pq.GenericWriter[any]
	row    reflect.Value
	rows   int64
}

// rowsPerGroup are held in memory. It is what other writers take.
const rowsPerGroup = 122_880

var fieldTypes = map[string]reflect.Type{
	"INT64": reflect.TypeFor[*int64](), "FLOAT64": reflect.TypeFor[*float64](), "BOOL": reflect.TypeFor[*bool](),
	"BYTES": reflect.TypeFor[[]byte](), "DATE": reflect.TypeFor[*int32](),
	"NUMERIC": reflect.TypeFor[*float64](), "BIGNUMERIC": reflect.TypeFor[*float64](),
}

func (p *parquetFile) begin(w io.Writer, columns []query.UserColumn) error {
	names := make([]string, len(columns))
	for i, c := range columns {
		// A comma or a quote would end the name in the tag, a dash would leave the column out.
		names[i] = strings.NewReplacer(",", ";", `"`, "'", "\\", "/", "\n", " ").Replace(c.Name)
		if names[i] == "-" {
			names[i] = "_"
		}
	}
	fields := make([]reflect.StructField, len(columns))
	for i, name := range distinct(names) {
		kind, logical := fieldTypes[columns[i].Type], ""
		switch {
		case kind == nil: // times, lists and structs as text
			kind = reflect.TypeFor[*string]()
		case columns[i].Type == "DATE":
			logical = ",date"
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: kind, Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s,optional,zstd%s"`, name, logical))}
	}
	p.row = reflect.New(reflect.StructOf(fields)).Elem()
	p.writer = pq.NewGenericWriter[any](w, pq.SchemaOf(p.row.Addr().Interface()), pq.MaxRowsPerRowGroup(rowsPerGroup))
	return nil
}

// addRow writes a row.
func (p *parquetFile) addRow(values []any) error {
	for i, v := range values {
		field := p.row.Field(i)
		field.SetZero()
		if v == nil {
			continue
		}
		into := field
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			into = field.Elem()
		}
		value, err := fitting(v, into.Type())
		if err != nil {
			return err
		}
		into.Set(value)
	}
	p.rows++
	_, err := p.writer.Write([]any{p.row.Addr().Interface()})
	return err
}

func (p *parquetFile) close() error { return p.writer.Close() }

// fitting turns what an engine returned into a value of a field.
func fitting(v any, t reflect.Type) (reflect.Value, error) {
	value := reflect.ValueOf(v)
	switch t.Kind() {
	case reflect.String:
		switch v := v.(type) {
		case string:
		case time.Time:
			value = reflect.ValueOf(v.UTC().Format(time.RFC3339Nano))
		default:
			line, err := output.Line(jsonValue(v, time.UTC))
			if err != nil {
				return value, err
			}
			value = reflect.ValueOf(strings.TrimSpace(string(line)))
		}
	case reflect.Float64:
		if number, ok := v.(json.Number); ok {
			f, err := number.Float64()
			return reflect.ValueOf(f), err
		}
	case reflect.Int32:
		day, err := time.Parse(time.DateOnly, fmt.Sprint(v))
		return reflect.ValueOf(int32(day.Unix() / 86_400)), err
	}
	if !value.CanConvert(t) {
		return value, fmt.Errorf("a value of type %T can't be written as %s", v, t)
	}
	return value.Convert(t), nil
}
