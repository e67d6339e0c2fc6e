package main

import (
	"context"
	"fmt"
	"io"

	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/regression/output"
)

// importDirectory adds the rows that a directory still holds to the bucket.
func (c *compactCall) importDirectory(ctx context.Context, stdout io.Writer) error {
	cache, err := bucket.DefaultCacheRoot()
	if err != nil {
		return err
	}
	b, err := bucket.Open(ctx, c.job.Root)
	if err != nil {
		return fmt.Errorf("--warehouse: %w", err)
	}
	defer b.Close()
	in, err := bucket.Import(ctx, b, c.directory, cache)
	if err != nil {
		return fmt.Errorf("--import: %w", err)
	}
	d := &output.Document{Data: in}
	address := output.Printable(in.Address)
	switch {
	case in.Already:
		d.Say("an earlier import copied all rows of the directory to " + address)
	case in.Items == 0 && in.Repeated == 0:
		d.Say("all rows of the directory are in " + address)
	default:
		d.Say(fmt.Sprintf("imported %d rows of %d items into %s; the collector that owns the prefix had stored %d other items", in.Rows, in.Items, address, in.Repeated))
	}
	d.Say("the directory can be deleted")
	return c.write(stdout, d)
}
