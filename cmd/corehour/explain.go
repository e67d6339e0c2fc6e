package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

const explainUsage = `Says why a method is sampled as it is: the rule that speaks of it, what it is taken
for, its traffic, how much its calls differ, the rate asked for and the rate of the
records that arrive, and what more records would buy. The sampler of a running
collector knows; its extension sampling_rates is asked. A method that nothing has
arrived from is answered too, with the rate it would have.

METHOD is a full name as the program spells it, shop/cart.(*Cart).Total, or as
reports do, shop/cart.Cart.Total. Of several versions and environments each is
explained.`

// explainCall is what the command was called with.
type explainCall struct {
	collector string
	target    rates.Target
	method    string
	out       output.Format
}

func runExplain(ctx context.Context, args []string, stdout, _ io.Writer) (int, error) {
	call, err := parseExplain(args, stdout)
	if err != nil {
		return exitFailed, err
	}
	answer, err := askExplanations(ctx, call)
	if err != nil {
		return exitFailed, err
	}
	if len(answer.Explanations) == 0 {
		return exitCannotTell, fmt.Errorf("%w: the sampler says nothing of %s of %s", query.ErrNoData, call.method, call.target.Service)
	}
	return exitNothing, explainDocument(answer).Write(stdout, call.out)
}

func parseExplain(args []string, stdout io.Writer) (*explainCall, error) {
	call := &explainCall{}
	f := newFlags("explain", " METHOD", explainUsage, stdout)
	format := f.String("format", "text", "text, json or markdown")
	f.StringVar(&call.collector, "collector", "http://localhost:4319", "`URL` of the collector's extension sampling_rates")
	f.StringVar(&call.target.Service, "service", "", "the service (`name`), must be given")
	f.StringVar(&call.target.Namespace, "namespace", "", "only this namespace (`name`)")
	f.StringVar(&call.target.Environment, "environment", "", "only this environment (`name`)")
	f.StringVar(&call.target.Version, "version", "", "only this version (`name`)")
	// The method may stand before the flags, between them or behind.
	var methods []string
	for rest := args; ; {
		if err := parseFlags(f, rest); err != nil {
			return nil, err
		}
		if f.NArg() == 0 {
			break
		}
		methods, rest = append(methods, f.Arg(0)), f.Args()[1:]
	}
	var faults []error
	switch {
	case len(methods) == 0 || methods[0] == "":
		faults = append(faults, errors.New("want the method to explain: corehour explain shop/cart.Cart.Total --service shop"))
	case len(methods) > 1:
		faults = append(faults, fmt.Errorf("want one method, found the further argument %q", methods[1]))
	default:
		call.method = methods[0]
	}
	if call.target.Service == "" {
		faults = append(faults, errors.New("--service: want the name of the service, found nothing"))
	}
	var err error
	if call.out, err = output.ParseFormat(*format); err != nil || call.out == output.CSV {
		faults = append(faults, fmt.Errorf("--format: want text, json or markdown, found %q", *format))
	}
	if _, err := explainURL(call); err != nil {
		faults = append(faults, err)
	}
	return call, errors.Join(faults...)
}
