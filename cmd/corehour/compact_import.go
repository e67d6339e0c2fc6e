package main

import (
	"context"
	"fmt"
	"io"

	"github.com/corehour/corehour/internal/bucket"
	"github.com/corehour/corehour/regression/output"
)

// importDirectory imports rows that a directory still holds into the bucket.
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
		d.Say("an earlier import has brought what the directory held to " + address)
	case in.Items == 0 && in.Repeated == 0:
		d.Say("all that the directory holds is in " + address)
	default:
		d.Say(fmt.Sprintf("%d rows of %d items are in %s; %d other items were stored by the collector that has the prefix now", in.Rows, in.Items, address, in.Repeated))
	}
	d.Say("the directory is not needed any more")
	return c.write(stdout, d)
}
