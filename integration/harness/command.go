package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Command runs corehour on a warehouse.
type Command struct {
	Binary    string
	Warehouse string
}

// Exit codes of the command (regress, drift, check).
const (
	ExitNothing    = 0
	ExitFound      = 1
	ExitFailed     = 2
	ExitCannotTell = 3
)

// Run runs a subcommand on the warehouse. A non-zero exit code is not an error.
func (c Command) Run(ctx context.Context, subcommand string, args ...string) (Output, error) {
	return runProgram(ctx, c.Binary, append([]string{subcommand, "--warehouse", c.Warehouse}, args...)...)
}

// Explain asks the sampling_rates extension at url for the reason of a method's rate, and returns
// JSON.
func (c Command) Explain(ctx context.Context, url, service, method string) (Output, error) {
	return runProgram(ctx, c.Binary, "explain", method, "--collector", url, "--service", service, "--format", "json")
}

// json runs a subcommand, decodes its standard output into into, and returns the output.
func (c Command) json(ctx context.Context, into any, subcommand string, args ...string) (Output, error) {
	all := []string{"--format", "json"}
	if !slices.Contains(args, "--from") {
		all = append(all, "--since", "2h")
	}
	o, err := c.Run(ctx, subcommand, append(all, args...)...)
	if err != nil {
		return o, fmt.Errorf("%s: %w", o, err)
	}
	if o.Code == ExitFailed {
		return o, errors.New(o.String())
	}
	if err := json.Unmarshal(o.Stdout, into); err != nil {
		return o, fmt.Errorf("%w: %s", err, o)
	}
	return o, nil
}

// SQL decodes the rows of a query into a slice of structs.
func (c Command) SQL(ctx context.Context, into any, query string) error {
	o, err := c.json(ctx, into, "sql", query)
	if err == nil && o.Code != 0 {
		err = errors.New(o.String())
	}
	return err
}
